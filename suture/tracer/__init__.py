"""The symbolic interpreter."""

from suture.tracer.tracer import Restart, Tracer

__all__ = ["Restart", "Tracer"]
