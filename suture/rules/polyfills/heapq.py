"""Polyfills of heapq."""
