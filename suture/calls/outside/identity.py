"""Which objects are the same at every call, and which may be others of their kind.

An object whose identity is guarded is *fixed*, and so is what hangs below it. A module that is an
argument is *general*: what is read of it is guarded, and which one it is, is not, so that all
layers of one class share a variant.
"""

from __future__ import annotations

from typing import Any

import torch

from suture.calls.objects.weakrefs import MadeReference
from suture.calls.part import Part
from suture.sources import Source
from suture.variables import Method, Mutable, Opaque, Raise, Symbol
from suture.variables.weakrefs import WeakReference

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

    def same(self, left: Any, right: Any) -> bool:
        """`left is right`."""
        if left is right:
            return True
        if isinstance(left, (Method, Raise)) or isinstance(right, (Method, Raise)):
            return False
        if isinstance(left, Opaque) or isinstance(right, Opaque):
            return self._same_opaque(left, right)
        for one, other in ((left, right), (right, left)):
            if isinstance(one, WeakReference) and isinstance(other, MadeReference):
                return self._same_reference(one, other)
        if isinstance(left, Symbol) or isinstance(right, Symbol):
            if left.python_type() is right.python_type() is bool:  # there are only two of them
                return bool(self.truth(left) is self.truth(right))
        one = bool(left.identity() == right.identity())
        if not one and isinstance(left, Mutable) and isinstance(right, Mutable):
            self._stay_apart(left, right)
        return one

    def _same_reference(self, real: WeakReference, made: MadeReference) -> bool:
        """An object has one weak reference without a callback, which is given out again."""
        plain = _has_no_callback(real.value)
        self.guards.add(real.source, "truth", _has_no_callback if plain else _has_callback)
        return plain and self.same(real.call(self, [], {}), made.to)

    def _stay_apart(self, left: Any, right: Any) -> None:
        """Two objects from outside were asked whether they are one: they must stay two."""
        if left.source is None or right.source is None or type(left) is not type(right):
            return
        if not (self.is_fixed(left.source) and self.is_fixed(right.source)):
            self.guards.add(None, "distinct", (left.source, right.source))

    def _same_opaque(self, left: Any, right: Any) -> bool:
        for one, other in ((left, right), (right, left)):
            if isinstance(one, Opaque) and other.is_constant():
                if one.source is not None and other.constant() is None:
                    self.guards.add(one.source, "truth", _not_none)
                    return False
        if left.source is None or right.source is None:
            return False
        try:
            one = left.real() is right.real()
        except LookupError:
            return False
        if one and left.source is not right.source:
            self.guards.add(left.source, "same", right.source)
        elif not one:
            self.guards.add(None, "distinct", (left.source, right.source))
        return one

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
        if not issubclass(type(value), torch.nn.Module):
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
        kind = "weak" if issubclass(type(value), torch.nn.Module) and root else "is"
        self.guards.add(source, kind, value)
        self._fixed.add(id(source))

    def owner_of_parameter(self, source: Source) -> Source | None:
        """The argument in whose modules the place is a parameter or a buffer."""
        table = source.base
        if table is None or table.kind != "item" or table.arg not in ("_parameters", "_buffers"):
            return None
        return self.owner(source)


def _has_no_callback(reference: Any) -> bool:
    return reference.__callback__ is None


def _has_callback(reference: Any) -> bool:
    return reference.__callback__ is not None


def _not_none(value: Any) -> bool:
    return value is not None
