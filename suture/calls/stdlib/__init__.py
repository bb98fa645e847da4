"""Callables of Python's library that the tracer answers for itself."""
