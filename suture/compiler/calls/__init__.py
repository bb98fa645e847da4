"""Calling: arguments, verdicts, functions that are inlined."""
