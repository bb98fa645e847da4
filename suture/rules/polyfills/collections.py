"""Polyfills of collections."""
