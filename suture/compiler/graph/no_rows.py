"""What operations do where a size from data is 0: which of them nobody can tell from not running.

`x[idx]`, `layer(rows)` and `out.index_add_(0, idx, rows)` compute nothing, write nothing and do not
raise where `idx` is empty. Of an operation that `TAKING_EMPTY` does not name that is not known.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import torch
import torch.fx
from torch.fx.experimental.symbolic_shapes import statically_known_true

from suture.compiler.graph.fake_values import tree_leaves
from suture.compiler.graph.repeats import after, may_trap
from suture.op_effects import effects_of, operation_name
from suture.op_kinds import (
    GIVING_NUMBERS,
    RESHAPING,
    TAKING_EMPTY,
    WRITING_AT_INDEX,
    changes_tensor,
    plain_name,
)
from suture.torch_private import symbolic_shapes, tensor_parts


class NoRows:
    """The sizes that are 0 where one of them is, as symbols, and the masks of which nothing is true
    there: what is taken out by the same mask has the same number of rows."""

    def __init__(self, graph: torch.fx.Graph, size: Any) -> None:
        made = [
            (n, n.meta["unbacked_bindings"]) for n in graph.nodes if "unbacked_bindings" in n.meta
        ]
        masks = {_mask_of(node) for node, sizes in made if size in sizes} - {None}
        self.masks = {mask for mask in masks if mask is not None and _stays(mask)}
        equal = [sizes for node, sizes in made if _mask_of(node) in self.masks]
        self.zeros = {one: one - one for sizes in ([size], *equal) for one in sizes}

    def is_zero(self, number: Any) -> bool:
        """Whether a number is 0 where the sizes are."""
        if not isinstance(number, torch.SymInt):
            return type(number) is int and number == 0
        return bool(number.node.expr.xreplace(self.zeros) == 0)

    def empties(self, value: Any) -> bool:
        """Whether a tensor, or the one that a node gives, has no elements then."""
        if isinstance(value, torch.fx.Node):
            value = value.meta.get("example_value")
        return isinstance(value, torch.Tensor) and any(map(self.is_zero, value.shape))

    def finds_nothing(self, index: Any) -> bool:
        """Whether an index is of no place then."""
        if not isinstance(index, torch.fx.Node):
            return False
        return index in self.masks or (self.empties(index) and _is_integer(index))


def _mask_of(node: torch.fx.Node) -> torch.fx.Node | None:
    """The tensor whose elements that are not zero say how many rows a node gives."""
    name = plain_name(node)
    if name in ("nonzero", "where") and len(node.args) == 1:
        given = node.args[0]
    elif name == "getitem" and len(node.args) == 2:
        key = node.args[1]
        parts = key if isinstance(key, (tuple, list)) else (key,)
        tensors = [part for part in parts if isinstance(part, torch.fx.Node)]
        given = tensors[0] if len(tensors) == 1 and _dtype(tensors[0]) is torch.bool else None
    else:
        given = None
    return given if isinstance(given, torch.fx.Node) else None


def _stays(mask: torch.fx.Node) -> bool:
    """Whether nobody has written to a mask."""
    value = mask.meta.get("example_value")
    plain = isinstance(value, torch.Tensor) and not value.is_inference()
    return plain and not tensor_parts.version_of(value)


def does_nothing_after(last: torch.fx.Node, none: NoRows) -> bool:
    """Whether all operations behind `last` do nothing where there are no rows: what they give
    aside, and its history in autograd, which shows whether they ran."""
    return all(does_nothing(node, none) for node in after(last))


def leaves_history_after(last: torch.fx.Node) -> bool:
    """Whether an operation behind `last` gives something with a history in autograd."""
    return torch.is_grad_enabled() and any(
        value.requires_grad for node in after(last) for value in _tensors(node)
    )


def sizes_made_after(last: torch.fx.Node) -> dict[Any, torch.fx.Node]:
    """The sizes that data decided behind `last`, as symbols; each with a tensor that has so many
    rows."""
    made = {size for node in after(last) for size in node.meta.get("unbacked_bindings", ())}
    return rows_of(made, after(last))


def rows_of(sizes: Collection[Any], nodes: Iterable[torch.fx.Node]) -> dict[Any, torch.fx.Node]:
    """For sizes, as symbols, the first of some nodes that gives a tensor with so many rows."""
    found: dict[Any, torch.fx.Node] = {}
    for node in nodes:
        value = node.meta.get("example_value")
        if isinstance(value, torch.Tensor) and value.dim():
            rows = value.shape[0]
            if symbolic_shapes.is_symbolic(rows) and rows.node.expr in sizes:
                found.setdefault(rows.node.expr, node)
    return found


def updates_of(
    new: torch.fx.Node, old: torch.fx.Node, last: torch.fx.Node, none: NoRows
) -> dict[torch.fx.Node, torch.fx.Node] | None:
    """The operations behind `last` by which one tensor becomes another, each with the tensor it is
    given, if where there are no rows each gives a copy; None if it is not so."""
    found: dict[torch.fx.Node, torch.fx.Node] = {}
    made = set(after(last))
    while new is not old:
        name = operation_name(new)
        given = new.args[0] if new.args else None
        if new not in made or name not in WRITING_AT_INDEX or not isinstance(given, torch.fx.Node):
            return None
        if not any(map(none.finds_nothing, _indices(new, name))):
            return None
        found[new] = given
        new = given
    return found


def is_like(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors that nobody has written to differ in nothing but their numbers."""
    if one.is_inference() or other.is_inference():
        return False
    same = (one.dtype, one.device, one.layout) == (other.dtype, other.device, other.layout)
    if not same or tensor_parts.version_of(one) or tensor_parts.version_of(other):
        return False
    ours, others = [*one.shape, *one.stride()], [*other.shape, *other.stride()]
    return len(ours) == len(others) and all(
        statically_known_true(a == b) for a, b in zip(ours, others)
    )


def shows_memory(graph: torch.fx.Graph, node: torch.fx.Node) -> bool:
    """Whether another node gives a tensor with the memory of what this one gives."""
    memory = {tensor_parts.storage_key(value) for value in _tensors(node)}
    others = (value for one in graph.nodes if one is not node for value in _tensors(one))
    return any(tensor_parts.storage_key(value) in memory for value in others)


def does_nothing(node: torch.fx.Node, none: NoRows) -> bool:
    """The same for one operation."""
    if node.op in ("placeholder", "get_attr"):
        return True
    name = plain_name(node)
    if node.op not in ("call_function", "call_method") or name not in TAKING_EMPTY:
        return False
    made = _tensors(node)
    if not made and name not in GIVING_NUMBERS:
        return False
    effects = effects_of(node)
    if effects.draws or _raises(node, name, none):
        return False
    written = list(_nodes(effects.writes))
    if written and (changes_tensor(node) or _touches_inputs(node.graph, written)):
        return False  # a tensor counts how often it was written to
    at_index = name in WRITING_AT_INDEX and any(map(none.finds_nothing, _indices(node, name)))
    return at_index or all(map(none.empties, written))


def _raises(node: torch.fx.Node, name: str, none: NoRows) -> bool:
    """Whether an operation that takes dimensions of no elements may raise, or worse, for how it is
    called."""
    if may_trap(node) and not any(map(none.finds_nothing, _indices(node, name))):
        return True
    first = node.args[0] if node.args else None
    value = first.meta.get("example_value") if isinstance(first, torch.fx.Node) else None
    if name in RESHAPING and not _says_all_sizes(node, none):
        return True
    if not isinstance(value, torch.Tensor):
        return False
    if name in _ALONG:
        dim = node.kwargs.get("dim", _ALONG[name])
        dim = node.args[_ALONG_AT[name]] if len(node.args) > _ALONG_AT[name] else dim
        return type(dim) is not int or none.is_zero(value.shape[dim])
    return name in ("getitem", "setitem") and _picks_one(value, node.args[1], none)


# Take parts of a dimension: the one they take where none is given, and where it stands.
_ALONG = {
    "select": None,
    "narrow": None,
    "split": 0,
    "split_with_sizes": 0,
    "chunk": 0,
    "unbind": 0,
}
_ALONG_AT = {"select": 1, "narrow": 1, "split": 2, "split_with_sizes": 2, "chunk": 2, "unbind": 1}


def _picks_one(value: torch.Tensor, key: Any, none: NoRows) -> bool:
    """Whether a key asks, by its number, for an element of a dimension that has none."""
    parts = [p for p in (key if isinstance(key, (tuple, list)) else (key,)) if p is not None]
    if not any(map(none.is_zero, value.shape)) or not any(type(p) is int for p in parts):
        return False
    if any(isinstance(p, torch.fx.Node) or p is Ellipsis for p in parts):
        return True  # it is not plain which dimension is meant
    sizes = zip(parts, value.shape)
    return any(type(part) is int and none.is_zero(size) for part, size in sizes)


def _indices(node: torch.fx.Node, name: str) -> list[Any]:
    """What says where an operation reads or writes."""
    if name == "embedding":
        return list(node.args[:1])
    return list(_nodes((node.args[1:], dict(node.kwargs))))


def _touches_inputs(graph: torch.fx.Graph, written: list[torch.fx.Node]) -> bool:
    """Whether tensors share memory with what is handed to the graph."""
    memory = {tensor_parts.storage_key(v) for node in written for v in _tensors(node)}
    given = (v for node in graph.nodes if node.op == "placeholder" for v in _tensors(node))
    return any(tensor_parts.storage_key(v) in memory for v in given)


def _tensors(node: torch.fx.Node) -> list[torch.Tensor]:
    leaves = tree_leaves(node.meta.get("example_value", node.meta.get("val")))
    return [v for v in leaves if isinstance(v, torch.Tensor)]


def _nodes(values: Any) -> Iterator[torch.fx.Node]:
    found: list[torch.fx.Node] = []
    torch.fx.map_arg(values, found.append)
    yield from found


def _dtype(node: torch.fx.Node) -> torch.dtype | None:
    return getattr(node.meta.get("example_value"), "dtype", None)


def _is_integer(node: torch.fx.Node) -> bool:
    return _dtype(node) in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def _says_all_sizes(node: torch.fx.Node, none: NoRows) -> bool:
    """Whether the sizes that an operation is given tell what it makes of no elements: one that it
    is to find out (-1) it cannot, where another one is 0."""
    given = tree_leaves((node.args[1:], dict(node.kwargs)))
    values = [v.meta.get("example_value") if isinstance(v, torch.fx.Node) else v for v in given]
    return -1 not in values or not any(map(none.is_zero, values))
