"""Polyfills of math."""
