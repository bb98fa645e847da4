"""Which objects are the same at every call, and which may be others of their kind.

An object whose identity is guarded is *fixed*, and so is what hangs below it. A module that is an
argument is *general*: what is read of it is guarded, and which one it is, is not, so that all
layers of one class share a variant.
"""

from __future__ import annotations

from typing import Any

import torch

from suture.calls.part import Part
from suture.sources import Source

# Accessors below an object guarded by identity that keep the place just as fixed.
_FIXED = frozenset(
    {"dict", "item", "attr", "cell", "closure", "default", "kwdefault", "mro_attr", "index", "key"}
)


class Identity(Part):
    """The part of the tracer that decides whose identity is guarded."""

    guards: Any
    history: Any
    _fixed: set[int]
    _loose: set[int]
    general: dict[int, Source]  # arguments that are modules

    def is_fixed(self, source: Source) -> bool:
        """Whether the place hangs below an object whose identity is guarded."""
        if id(source) in self._fixed:
            return True
        if source.base is None or source.kind not in _FIXED or id(source) in self._loose:
            return False
        if self.is_fixed(source.base):
            self._fixed.add(id(source))
            return True
        return False

    def stays(self, source: Source, value: Any) -> bool:
        """Whether the object at a fixed place has been the same at every call. If not, what hangs
        below it is not fixed either."""
        if self.history.same_object(source.path(), value):
            return True
        self._loose.add(id(source))
        self._fixed.discard(id(source))
        return False

    def is_general(self, source: Source, value: Any) -> bool:
        """Whether another module may be at this place at the next call: it is an argument, or
        hangs below one, and not the module that was compiled. What is read of it is guarded then,
        and not which one it is."""
        if not isinstance(value, torch.nn.Module):
            return False
        if source.kind == "slot":
            if self.history.is_for(value):
                return False
            self.general[id(source)] = source
            return True
        return self.owner(source) is not None

    def owner(self, source: Source) -> Source | None:
        """The argument that is a module and that the place belongs to."""
        at: Source | None = source
        while at is not None and id(at) not in self.general:
            at = at.base if at.kind in _FIXED else None
        return at

    def fix(self, source: Source, value: Any) -> None:
        """Guard the identity of the object at `source`."""
        root = source.base is None or not self.is_fixed(source.base) or source.base.kind == "const"
        kind = "weak" if isinstance(value, torch.nn.Module) and root else "is"
        self.guards.add(source, kind, value)
        self._fixed.add(id(source))

    def owner_of_parameter(self, source: Source) -> Source | None:
        """The argument in whose modules the place is a parameter or a buffer."""
        table = source.base
        if table is None or table.kind != "item" or table.arg not in ("_parameters", "_buffers"):
            return None
        return self.owner(source)
