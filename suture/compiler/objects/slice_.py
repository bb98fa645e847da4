"""slice."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects.methods import method
from suture.runtime.sources import Source

_SLICES_HASH = vars(slice).get("__hash__") is not None  # from Python 3.12 on


class Slice(Value):
    """A slice whose ends need not be constants."""

    __slots__ = ("parts",)

    def __init__(
        self, start: Value, stop: Value, step: Value, source: Source | None = None
    ) -> None:
        super().__init__(source)
        self.parts = (start, stop, step)

    def as_constant(self, trace: Trace) -> Any:
        return slice(*(abstract.constant_value(trace, p) for p in self.parts))

    def python_type(self) -> type:
        return slice

    def is_constant(self) -> bool:
        return all(p.is_constant() for p in self.parts)

    def constant(self) -> Any:
        return slice(*(p.constant() for p in self.parts))

    def as_proxy(self) -> Any:
        return slice(*(p.as_proxy() for p in self.parts))

    def getattr(self, trace: Trace, name: str) -> Value:
        if name in ("start", "stop", "step"):
            return self.parts[("start", "stop", "step").index(name)]
        return abstract.container_attribute(trace, self, name)

    def hash_key(self, trace: Trace) -> Hashable:
        if not _SLICES_HASH:
            return abstract.raise_(trace, TypeError, "unhashable type: 'slice'")
        return (slice, *(p.hash_key(trace) for p in self.parts))

    def rebuild(self, emit: Emitter) -> str:
        return "slice({}, {}, {})".format(*(emit.value(p) for p in self.parts))


@method(Slice, "indices")
def slice_indices(self: Slice, trace: Trace, length: Value) -> Value:
    real, size = abstract.constant_value(trace, self), abstract.integer(trace, length)
    return abstract.folded(trace, lambda: real.indices(size))
