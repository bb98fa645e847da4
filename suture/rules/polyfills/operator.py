"""Polyfills of operator."""
