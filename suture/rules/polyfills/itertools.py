"""Polyfills of itertools."""
