"""What a body that is traced into a graph of its own changes outside of itself.

An operator that may run its body later, again, or never, can have none of that. Where it runs the
body exactly once, at the call, the changes are made when the region ends, like all others: except
that no tensor of the body's own graph may leave it that way.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from suture.breaks import Break, autograd, higher_order
from suture.compiler import abstract
from suture.compiler.core import Frame, Mutable, Trace, Value
from suture.compiler.effects import Effects
from suture.compiler.language.instance_fields import instance_value
from suture.compiler.objects import (
    Cell,
    Constant,
    Dict,
    GraphValue,
    Object,
    Sequence,
)
from suture.compiler.objects import Iterator as IteratorValue
from suture.compiler.objects.instance import DELETED


class Outside:
    """The objects that the frames of the region can reach when a body begins, by id, and what the
    dicts among them hold that the region has made."""

    def __init__(self, trace: Trace) -> None:
        self.objects = _reachable(trace.frames)
        self.entries = {
            i: dict(of.entries)
            for i, of in self.objects.items()
            if isinstance(of, Dict) and of.source is None
        }

    def has(self, variable: Value) -> bool:
        return variable.source is not None or id(variable) in self.objects

    def refuse_changes(self, trace: Trace, name: str, saved: Effects) -> None:
        """Break where the body, whose effects were kept apart, has changed any of them, or
        anything else that outlives it."""
        self.refuse_touched(trace, name, trace.effects.touched)
        if trace.effects.calls:
            raise _refused(name, "what is printed")
        if trace.effects.globals != saved.globals:
            raise _refused(name, "a global variable")

    def refuse_touched(self, trace: Trace, name: str, touched: dict[int, Any]) -> None:
        for at, variable in touched.items():
            before = self.entries.get(at, getattr(variable, "original", None))
            if _as_before(trace, variable, before):
                continue
            _refuse_escaping_context(variable, name)
            if self.has(variable):
                raise _refused(name, variable.describe())


class _Watched(Effects):
    """The effects of a region, shared, while it is noted what is changed: `seen`."""

    __slots__ = ("seen",)

    def __init__(self, of: Effects) -> None:
        for slot in Effects.__slots__:
            setattr(self, slot, getattr(of, slot))
        self.seen: dict[int, Any] = {}

    def touch(self, variable: Any) -> None:
        self.seen.setdefault(id(variable), variable)
        super().touch(variable)


@contextlib.contextmanager
def changes_refused(trace: Trace, name: str) -> Iterator[None]:
    """Around a call of the function of an operator that will run it again."""
    saved, outside = trace.effects, Outside(trace)
    calls, stored = len(saved.calls), dict(saved.globals)
    trace.effects = watched = _Watched(saved)
    try:
        yield
    finally:
        trace.effects = saved
        saved.changes, saved.indexed = watched.changes, watched.indexed
    outside.refuse_touched(trace, name, watched.seen)
    if len(saved.calls) > calls:
        raise _refused(name, "what is printed")
    if saved.globals != stored:
        raise _refused(name, "a global variable")


_KEPT = "to hold a tensor of its own"


def refuse_leaks(
    trace: Trace, name: str, outside: Outside, saved: Effects, graph: torch.fx.Graph
) -> None:
    """Break where a value of the body's own `graph` is reachable from what the body has changed."""
    effects = trace.effects
    for variable in effects.touched.values():
        _refuse_escaping_context(variable, name)
        if outside.has(variable) and _holds_values_of(graph, [variable]):
            raise _refused(name, f"{variable.describe()}, {_KEPT}")
    if _holds_values_of(graph, [(args, kwargs) for _, args, kwargs in effects.calls]):
        raise _refused(name, f"what is printed, {_KEPT}")
    before = saved.globals
    stored = [entry[1] for key, entry in effects.globals.items() if before.get(key) is not entry]
    if _holds_values_of(graph, stored):
        raise _refused(name, f"a global variable, {_KEPT}")
    if effects.unfinished or _holds_values_of(graph, [p[:1] for p in effects.passed]):
        raise _refused(name, "what is under way")


def _refused(operator: str, what: str) -> Break:
    return Break(higher_order.BODY_SIDE_EFFECT, operator=operator, object=what)


def _refuse_escaping_context(variable: Value, name: str) -> None:
    if any(getattr(item, "stays_inside", False) for item in getattr(variable, "items", ())):
        raise Break(autograd.CONTEXT_ESCAPES, function=name)


def _holds_values_of(graph: torch.fx.Graph, roots: Iterable[Any]) -> bool:
    """Whether anything that hangs together with the roots is computed in `graph`. All slots of all
    values are looked through, so that no kind of container can be forgotten."""
    seen: set[int] = set()
    work = list(roots)
    while work:
        at = work.pop()
        if id(at) in seen:
            continue
        seen.add(id(at))
        if isinstance(at, GraphValue) and getattr(at.node, "graph", None) is graph:
            return True
        if isinstance(at, (list, tuple, set, frozenset)):
            work += at
        elif isinstance(at, dict):
            work += [*at.keys(), *at.values()]
        elif isinstance(at, (Value, Frame)):
            work += _slots(at)
    return False


def _slots(of: Value | Frame) -> list[Any]:
    names = [n for cls in type(of).__mro__ for n in getattr(cls, "__slots__", ())]
    held = [getattr(of, name) for name in names if hasattr(of, name)]
    return [*held, *getattr(of, "__dict__", {}).values()]


def _as_before(trace: Trace, variable: Value, before: dict[Any, Any] | None) -> bool:
    """Whether what was changed holds again exactly what it held at first: a dict, `before`."""
    if isinstance(variable, Object):
        settled = variable.value is not None and not getattr(variable.storage, "changed", False)
        return settled and all(_is_restored(trace, variable, name) for name in variable.attrs)
    if not isinstance(variable, Dict) or before is None:
        return False
    now = variable.entries
    return list(before) == list(now) and all(
        abstract.realize(trace, now[k][1]) is abstract.realize(trace, before[k][1]) for k in now
    )


def _is_restored(trace: Trace, variable: Object, name: str) -> bool:
    """Whether an attribute that was set has the value again that the real object has."""
    now = variable.attrs
    variable.attrs = {k: v for k, v in now.items() if k != name}
    before, after = instance_value(trace, variable, name), now[name]
    variable.attrs = now
    if before is None or after is DELETED:
        return False
    before, after = abstract.realize(trace, before), abstract.realize(trace, after)
    if before is after:
        return True
    if not isinstance(before, Constant) or not isinstance(after, Constant):
        return False
    return type(before.value) is type(after.value) and before.value == after.value


def _reachable(frames: list[Any]) -> dict[int, Any]:
    """The objects that the frames of the region can reach, by id."""
    seen: dict[int, Any] = {}
    work: list[Any] = []
    for frame in frames:
        work += [*frame.locals, *frame.stack, frame.fn]
    while work:
        at = work.pop()
        if at is None or id(at) in seen:
            continue
        seen[id(at)] = at
        if isinstance(at, Sequence):
            work += at.items
        elif isinstance(at, Dict):
            work += [
                part for pair in (getattr(at, "entries", None) or {}).values() for part in pair
            ]
        elif isinstance(at, Object):
            work += [*at.attrs.values(), at.storage]
        elif isinstance(at, Cell):
            work.append(at.contents)
        elif isinstance(at, IteratorValue):
            work += [getattr(at, "part", None), *(getattr(at, "parts", None) or ())]
        elif isinstance(at, Mutable) or hasattr(at, "closure"):
            work += [*(getattr(at, "closure", None) or ()), *(getattr(at, "args", None) or ())]
        elif hasattr(at, "owner"):
            work += [at.owner, getattr(at, "fn", None)]
    return seen
