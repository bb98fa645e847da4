"""Polyfills of bisect."""
