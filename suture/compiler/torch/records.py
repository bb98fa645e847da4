"""Records as arguments of nodes: named tuples, and dataclasses that nobody can change."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

import torch.fx
from torch.fx.node import Argument

from suture.compiler import abstract
from suture.compiler.core import Trace
from suture.compiler.objects import Object, Tuple


def record_proxy(trace: Trace, variable: Object) -> Argument:
    """What stands for a record in the arguments of a node; None if the object is no record."""
    cls: Any = variable.cls
    if isinstance(variable.storage, Tuple) and hasattr(cls, "_fields"):
        items = [abstract.proxy(trace, i) for i in variable.storage.unpacked(trace)]
        if all(map(_is_spelled, items)):
            record: Argument = tuple.__new__(cls, items)
            return record
        node, _ = trace.graph.call("call_function", _RemakeTuple(cls), tuple(items), {})
        return node
    params = getattr(cls, "__dataclass_params__", None)
    if variable.storage is not None or params is None or not params.frozen:
        return None
    names = [field.name for field in dataclasses.fields(cls)]
    if not set(variable.attrs) <= set(names):
        return None
    given = tuple(abstract.proxy(trace, abstract.getattr(trace, variable, name)) for name in names)
    node, _ = trace.graph.call("call_function", _Remake(cls, names), given, {})
    return node


def _is_spelled(item: object) -> bool:
    """Whether the code of a graph has a text for an item of a named tuple: it takes its repr."""
    if type(item) in (tuple, list):
        return all(map(_is_spelled, item))  # type: ignore[call-overload]
    return isinstance(item, _SPELLED) and not isinstance(item, enum.Enum)


_SPELLED = (
    torch.fx.Node, type(None), bool, int, float, complex, str, bytes,
    torch.dtype, torch.device, torch.layout, torch.memory_format,
)  # fmt: skip


class _RemakeTuple:
    """Makes a named tuple of its items, without its `__new__`. A node of graphs."""

    def __init__(self, cls: type) -> None:
        self.cls = cls
        self.__name__ = self.__qualname__ = f"make_{cls.__name__}"
        self.__module__ = __name__

    def __call__(self, *items: Any) -> Any:
        return tuple.__new__(self.cls, items)


class _Remake:
    """Makes a dataclass of its fields, without its `__init__`. A node of graphs."""

    def __init__(self, cls: type, names: list[str]) -> None:
        self.cls = cls
        self.names = names
        self.__name__ = self.__qualname__ = f"make_{cls.__name__}"
        self.__module__ = __name__

    def __call__(self, *values: Any) -> Any:
        made: Any = object.__new__(self.cls)
        for name, value in zip(self.names, values):
            object.__setattr__(made, name, value)
        return made
