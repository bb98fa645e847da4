"""Polyfills of statistics."""
