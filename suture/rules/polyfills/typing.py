"""Polyfills of typing."""
