"""collections.OrderedDict: a dict that can also have attributes, as a module's state_dict does."""

from __future__ import annotations

import collections
from typing import Any

from suture.breaks import Break, objects
from suture.compiler.abstract import declared
from suture.compiler.core import Lazy, Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects.dict_ import Dict
from suture.runtime.sources import Source


class OrderedDict(Dict):
    """An OrderedDict itself; the builtin part of an object whose class derives from it is a Dict,
    because such an object has its attributes itself."""

    __slots__ = ("attrs", "value")

    def __init__(
        self,
        entries: dict[Any, tuple[Any, Any]] | None = None,
        source: Source | None = None,
        backing: Any = None,
    ) -> None:
        super().__init__(entries, source, collections.OrderedDict, backing)
        self.value = backing  # the real one; None if the region makes it
        self.attrs: dict[str, Value | Lazy] = {}  # what the region has set

    def made_like(self, entries: dict[Any, tuple[Any, Any]]) -> Dict:
        return OrderedDict(entries)  # attributes are not copied

    def as_constant(self, trace: Trace) -> Any:
        if self.attrs or (self.value is not None and self.value.__dict__):
            return super(Dict, self).as_constant(trace)
        return collections.OrderedDict(self.constant_pairs(trace))

    def getattr(self, trace: Trace, name: str) -> Value:
        if name == "__dict__":
            raise Break(objects.UNKNOWN_ATTRIBUTE, object=self.describe(), attribute=name)
        return ordered_dict_attribute(trace, self, name)

    def setattr(self, trace: Trace, name: str, value: Value) -> None:
        if not takes_attribute(trace, self, name):
            super().setattr(trace, name, value)
        self.change(trace)  # which knows all entries: they are written back together
        self.attrs[name] = value

    def rebuild(self, emit: Emitter) -> str:
        name = super().rebuild(emit)
        self._write_attributes(emit, name)
        return name

    def write_back(self, emit: Emitter, name: str) -> None:
        super().write_back(emit, name)
        self._write_attributes(emit, name)

    def _write_attributes(self, emit: Emitter, name: str) -> None:
        put = emit.constant(setattr, "put_attribute")
        for attribute, value in self.attrs.items():
            emit.line(f"{put}({name}, {attribute!r}, {emit.value(value)})")


# ---- declared here, as in `abstract`: other rooms have the bodies


@declared
def ordered_dict_attribute(trace: Trace, obj: OrderedDict, name: str) -> Value:
    """`obj.name`: what was set on the object, then what the type has."""


@declared
def takes_attribute(trace: Trace, obj: OrderedDict, name: str) -> bool:
    """Whether setting `obj.name` hides no method of the type, and only `obj` shows it."""
