"""Named results of torch such as `torch.return_types.max`."""

from __future__ import annotations

import inspect
from typing import Any

from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects.instance import Object
from suture.compiler.objects.methods import method, run_method
from suture.compiler.objects.tuple_ import Tuple


class StructTuple(Object):
    """A named result of torch such as `torch.return_types.max`."""

    __slots__ = ()

    def __init__(self, cls: type, items: list[Any]) -> None:
        super().__init__(None, cls, None, Tuple(items))

    def getattr(self, trace: Trace, name: str) -> Value:
        fields = getattr(self.cls, "_fields", None) or _struct_fields(self.cls)
        if name in fields:
            item: Value = self.storage.at(trace, fields.index(name))
            return item
        return super().getattr(trace, name)

    def rebuild(self, emit: Emitter) -> str:
        return f"{emit.constant(self.cls, self.cls.__name__)}({self.storage.rebuild(emit)})"


@method(StructTuple, "__getitem__")
def struct_tuple_getitem(self: StructTuple, trace: Trace, key: Value) -> Value:
    return run_method(trace, self.storage, "__getitem__", key)


@method(StructTuple, "__iter__")
def struct_tuple_iter(self: StructTuple, trace: Trace) -> Value:
    return run_method(trace, self.storage, "__iter__")


@method(StructTuple, "__len__")
def struct_tuple_len(self: StructTuple, trace: Trace) -> Value:
    return run_method(trace, self.storage, "__len__")


def _struct_fields(cls: type) -> list[str]:
    """The field names of a C struct sequence, in order."""
    members = inspect.getmembers_static(cls, lambda m: inspect.ismemberdescriptor(m))
    probe = cls(range(cls.n_fields))  # type: ignore[attr-defined]
    named = {getattr(probe, name): name for name, _ in members if not name.startswith("n_")}
    return [named[i] for i in sorted(k for k in named if isinstance(k, int))]
