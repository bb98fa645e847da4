"""What is shown of it all: reports, the static check, the site, the command line."""
