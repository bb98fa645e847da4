"""Python versions of C functions of the standard library, one file per module."""
