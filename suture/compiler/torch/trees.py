"""Nested containers of tensors, seen as their structure and a flat list of what is in the graph."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from suture.breaks import Break, calls, tensors
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.objects import Constant, Dict, GraphValue, List, Object, Size, Tensor, Tuple
from suture.compiler.objects.ordered_dict import OrderedDict
from suture.compiler.objects.sequence import is_list_or_tuple
from suture.compiler.torch.subclasses import is_subclass


@dataclass(frozen=True, slots=True)
class Leaf:
    """Where the graph value number `index` is in a structure; the class of a tensor that the graph
    does not know."""

    index: int
    cls: type | None = None


@dataclass(frozen=True, slots=True, eq=False)
class NotInGraph:
    """A value that is none of the graph: a constant, a function, an object."""

    variable: Value


def flatten(trace: Trace, variable: Value, leaves: list[Any]) -> Any:
    """The structure of a value, as Python containers of Leaf and NotInGraph. Its graph values are
    appended to `leaves`."""
    if isinstance(variable, GraphValue):
        leaves.append(variable)
        return Leaf(len(leaves) - 1, _carried_class(variable))
    if isinstance(variable, Object) and isinstance(variable.storage, Tuple):
        items = [flatten(trace, i, leaves) for i in variable.storage.unpacked(trace)]
        if hasattr(variable.cls, "_fields"):
            return variable.cls(*items)
        return tuple(items)
    if is_list_or_tuple(variable) or isinstance(variable, Size):
        items = [flatten(trace, i, leaves) for i in variable.unpacked(trace)]
        return items if isinstance(variable, List) else tuple(items)
    if type(variable) in (Dict, OrderedDict):
        return {
            abstract.constant_value(trace, k): flatten(trace, v, leaves)
            for k, v in abstract.dict_pairs(trace, variable)
        }
    return NotInGraph(variable)


def _carried_class(variable: Any) -> type | None:
    """The class of a tensor of a subclass, which passes functions outside the graph; its
    own attributes do not."""
    if not isinstance(variable, Tensor) or not is_subclass(variable.cls):
        return None
    if variable.attrs or (variable.example is not None and variable.example.__dict__):
        kind = variable.cls.__name__
        raise Break(tensors.SUBCLASS, tensor=variable.describe(), subclass=kind)
    return variable.cls


def build(trace: Trace, structure: Any, leaves: list[Any]) -> Value:
    """The value with this structure and these graph values."""
    if isinstance(structure, Leaf):
        leaf: Value = leaves[structure.index]
        if structure.cls is not None and isinstance(leaf, Tensor) and leaf.cls is torch.Tensor:
            abstract.meet_subclass(trace, structure.cls)
            leaf.cls = structure.cls
        return leaf
    if isinstance(structure, NotInGraph):
        return structure.variable
    if isinstance(structure, list):
        return List([build(trace, i, leaves) for i in structure])
    if isinstance(structure, dict):
        return Dict({k: (Constant(k), build(trace, v, leaves)) for k, v in structure.items()})
    items = [build(trace, i, leaves) for i in structure]
    if type(structure) is not tuple:
        return abstract.call(trace, abstract.wrap(trace, type(structure), None), items, {})
    return Tuple(items)


def plain(trace: Trace, structure: object) -> Any:
    """The structure with constants in place of NotInGraph values; Break if one is no constant."""
    if isinstance(structure, NotInGraph):
        variable = structure.variable
        if not variable.is_constant():
            raise Break(
                calls.ARGUMENT_OUTSIDE_GRAPH, function="a function", argument=variable.describe()
            )
        return variable.constant()
    return _map(structure, lambda s: plain(trace, s))


def fill(structure: Any, values: Any) -> Any:
    """A structure made plain, with real values for its leaves."""
    if isinstance(structure, Leaf):
        return values[structure.index]
    return _map(structure, lambda s: fill(s, values))


def _map(structure: object, fn: Callable[[Any], Any]) -> Any:
    if isinstance(structure, list):
        return [fn(s) for s in structure]
    if isinstance(structure, dict):
        return {k: fn(v) for k, v in structure.items()}
    if isinstance(structure, tuple):
        items = [fn(s) for s in structure]
        return tuple(items) if type(structure) is tuple else type(structure)(*items)
    return structure
