"""Polyfills of functools."""
