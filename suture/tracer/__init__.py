"""The symbolic interpreter."""

from suture.tracer.tracer import Tracer

__all__ = ["Tracer"]
