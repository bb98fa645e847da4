"""Records as arguments of nodes: named tuples, and dataclasses that nobody can change."""

from __future__ import annotations

import dataclasses
from typing import Any

from torch.fx.node import Argument

from suture.compiler import abstract
from suture.compiler.core import Trace
from suture.compiler.objects import Object, Tuple


def record_proxy(trace: Trace, variable: Object) -> Argument:
    """What stands for a record in the arguments of a node; None if the object is no record."""
    cls: Any = variable.cls
    if isinstance(variable.storage, Tuple) and hasattr(cls, "_fields"):
        items = [abstract.proxy(trace, i) for i in variable.storage.unpacked(trace)]
        record: Argument = tuple.__new__(cls, items)
        return record
    params = getattr(cls, "__dataclass_params__", None)
    if variable.storage is not None or params is None or not params.frozen:
        return None
    names = [field.name for field in dataclasses.fields(cls)]
    if not set(variable.attrs) <= set(names):
        return None
    given = tuple(abstract.proxy(trace, abstract.getattr(trace, variable, name)) for name in names)
    node, _ = trace.graph.call("call_function", _Remake(cls, names), given, {})
    return node


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
