"""Polyfills of builtins."""
