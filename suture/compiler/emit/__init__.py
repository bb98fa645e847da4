"""From a capture to a variant: a small Python function in source form."""

from suture.compiler.emit.emitter import Emitted, emit, variant_name

__all__ = ["Emitted", "emit", "variant_name"]
