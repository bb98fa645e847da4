"""What comes from outside the region: arguments, globals, cells, and what hangs below them, with
the guards that make it true at the next call."""
