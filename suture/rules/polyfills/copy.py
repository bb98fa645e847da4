"""Polyfills of copy."""
