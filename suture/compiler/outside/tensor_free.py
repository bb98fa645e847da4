"""Calls that can meet no tensor.

A break inside a function that gets no tensor and names nothing of torch cuts a program into pieces
that hold nothing for a graph: drawing random indices, choosing a size, planning which blocks look
at which. Python runs such a call as a whole, at one break.

What a call can reach is what its abstract values hold, and what `real_reach` reads off code and
real objects. The answer decides where a region is cut, never what is computed, so it may be wrong
either way; what is not understood counts as something that can meet a tensor.
"""

from __future__ import annotations

from typing import Any

import torch

from suture._core import UNBOUND
from suture.compiler.core import Trace
from suture.compiler.objects import (
    DELETED,
    NULL,
    Builtin,
    Cell,
    Class,
    Constant,
    Dict,
    Enumerate,
    Function,
    GrowingDeque,
    GrowingList,
    GrowingTuple,
    Lazy,
    List,
    ListIterator,
    MadeFunction,
    Method,
    Module,
    Object,
    OfType,
    RangeIterator,
    SequenceIterator,
    Set,
    Slice,
    Symbol,
    Tuple,
    Zip,
)
from suture.compiler.objects.array import Array
from suture.compiler.objects.real_iterators import Real
from suture.compiler.outside.real_reach import Reach
from suture.rules.substitutes import breaks_as_a_whole

_ANYTHING = Lazy(torch, None)


def whole_substitute(trace: Trace, depth: int) -> tuple[int, bool] | None:
    """The outermost of the frames below `depth` that run a substitute which Python replaces by
    what it stands for, as `tensor_free_frame` gives it."""
    for index in range(1, depth):
        frame = trace.frames[index]
        if frame.call is not None and breaks_as_a_whole(frame.code.code):
            return index, True
    return None


def tensor_free_frame(trace: Trace, depth: int) -> tuple[int, bool] | None:
    """The outermost of the frames below `depth` that can meet no tensor, as its place in the
    list of frames, and whether that goes for its whole call or for the rest of it only."""
    for index in range(1, depth):
        frame = trace.frames[index]
        if frame.call is not None and _can_meet_none(trace, [frame.fn, *frame.call[1]]):
            return index, True
        if _can_meet_none(trace, _rest(trace, index, depth)):
            return index, False
    return None


def _can_meet_none(trace: Trace, parts: list[Any]) -> bool:
    """Arrays that come in from Python behind a break were made by NumPy; those that the
    compiled function itself got are the program's data."""
    return is_tensor_free(parts, arrays=trace.region.chain[0].index > 0)


def _rest(trace: Trace, index: int, depth: int) -> list[Any]:
    """What a frame still holds before the instruction that runs now."""
    frame, slots = trace.frames[index], ()
    at = frame.ip
    if index + 1 < depth:
        inner = trace.frames[index + 1]
        if inner.call is None:
            return [_ANYTHING]
        at, slots = at - 1, inner.call[1]
    if frame.generator is not None or frame.resumed:
        return [_ANYTHING]
    live = [frame.locals[i] for i in frame.code.live(at)]
    return [frame.fn, *live, *frame.stack, *slots]


def is_tensor_free(parts: list[Any], arrays: bool = True) -> bool:
    """Whether code that gets hold of these values, a function among them, can meet no tensor.
    `arrays`: those that exist are none."""
    held = _AbstractReach(arrays)
    given = (v for v in parts if v is not None and v is not NULL)
    return all(held.argument(v) for v in given) and held.reach.finish()


def state_is_tensor_free(state: tuple[Any, ...]) -> bool:
    """The same for a function and its arguments as they really are."""
    return is_tensor_free([Lazy(v, None) for v in state if v is not UNBOUND])


class _AbstractReach:
    """What a call can reach from abstract values. Each method gives False once that may be a
    tensor."""

    def __init__(self, arrays: bool) -> None:
        self.arrays = arrays
        self.reach = Reach(arrays)

    def argument(self, value: Any) -> bool:
        """A value that the code holds itself; a module is asked only for what the code names."""
        real = value.value if type(value) in (Lazy, Object) else None
        if issubclass(type(real), torch.nn.Module) and self.reach.is_new(real):
            changed = _values(value.attrs) if type(value) is Object else []
            return self.reach.object(real) and all(self.variable(v) for v in changed)
        return self.variable(value)

    def variable(self, value: Any) -> bool:
        kind = type(value)
        if kind is Lazy:
            return self.reach.value(value.value)
        if kind is OfType:
            return True
        if kind in (Constant, Symbol, RangeIterator, Builtin, Class, Module, Real):
            return kind in (Symbol, RangeIterator) or self.reach.value(value.value)
        if not self.reach.is_new(value):
            return True
        look = _VARIABLES.get(kind)
        if look is not None:
            return all(self.variable(v) for v in look(value) if v is not None)
        if kind is Function:
            return self.reach.value(value.fn)
        if kind is MadeFunction:
            return self._made_function(value)
        if kind is Object:
            return self._object_variable(value)
        if kind is not Array:
            return False
        return self.arrays if value.source is not None else _made_of_constants(value.tensor.node)

    def _made_function(self, fn: MadeFunction) -> bool:
        parts = [*fn.closure, *fn.default_values, *fn.kwdefaults.values()]
        return self.reach.code(fn.code, fn.globals) and all(self.variable(v) for v in parts)

    def _object_variable(self, obj: Object) -> bool:
        if obj.storage is not None or any(not self.variable(v) for v in _values(obj.attrs)):
            return False
        return self.reach.value(obj.value if obj.value is not None else obj.cls)


_VARIABLES: dict[type, Any] = {
    GrowingDeque: lambda v: v.items if v.loaded() else v.added,
    GrowingList: lambda v: (
        v.items if v.loaded() else [*v.added, *(n for _, _, n in v.put.values())]
    ),
    GrowingTuple: lambda v: v.items if v.loaded() else v.added,
    List: lambda v: v.items,
    Tuple: lambda v: v.items,
    Dict: lambda v: [Lazy(v.backing, None), *(value for _, value in v.entries.values())],
    Set: lambda v: v.entries.values(),
    Slice: lambda v: v.parts,
    Cell: lambda v: (v.contents,),
    Method: lambda v: (v.fn, v.owner),
    SequenceIterator: lambda v: (v.of,),
    ListIterator: lambda v: v.items,
    Enumerate: lambda v: (v.part,),
    Zip: lambda v: v.parts,
}


def _values(attrs: dict[str, Any]) -> list[Any]:
    return [v for v in attrs.values() if v is not DELETED]


def _made_of_constants(node: torch.fx.Node) -> bool:
    """Whether an array is computed from numbers alone."""
    left, seen = [node], set()
    while left:
        at = left.pop()
        if at.op in ("placeholder", "get_attr"):
            return False
        fresh = [n for n in at.all_input_nodes if n not in seen]
        seen.update(fresh)
        left += fresh
    return True
