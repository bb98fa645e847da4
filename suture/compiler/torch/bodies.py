"""Tracing a function into a graph of its own, for an operator that takes functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from suture.breaks import Break, autograd, higher_order
from suture.compiler import abstract
from suture.compiler.core import Mutable, Trace, Value
from suture.compiler.effects import Effects
from suture.compiler.graph import OpFailed
from suture.compiler.language.attributes import MISSING, instance_value
from suture.compiler.objects import (
    Cell,
    Constant,
    Dict,
    Iterator,
    Object,
    Raised,
    Sequence,
    Symbol,
    Tensor,
)
from suture.compiler.objects.instance import DELETED
from suture.compiler.torch import trees
from suture.compiler.torch.tensors import op_failure


@dataclass(slots=True, eq=False)
class Body:
    """A traced function. `module` takes the flat arguments, then `lifted` (nodes of the graph
    around it that it uses) and gives a tuple; `result` is the structure of what it returns, and
    `outputs` are the graph values in it, as they are inside."""

    module: torch.fx.GraphModule
    lifted: list[torch.fx.Node]
    result: Any
    values: list[Any]  # the fake values of the tuple
    constants: bool  # whether the result holds something else than graph values
    outputs: list[Any]


_OF_BODIES = (
    higher_order.BODY_BREAKS,
    higher_order.BODY_SIDE_EFFECT,
    autograd.CONTEXT_ESCAPES,
)


def trace_body(
    trace: Trace,
    name: str,
    fn: Any,
    structure: Any,
    leaves: list[Any],
    fakes: list[Any],
    kwargs: Any = None,
) -> Body:
    """Trace `fn(*structure)` with fresh graph values in place of `leaves`, whose fake values
    are `fakes`. A body that breaks, or that changes something outside, is refused."""
    level = trace.graph.levels.push()
    saved, trace.effects = trace.effects, Effects()
    trace.effects.globals.update(saved.globals)
    outside = _reachable(trace.frames)
    held = {i: dict(of.entries) for i, of in outside.items() if _is_made(of)}
    try:
        formal = [
            _formal(trace, level, i, old, fake) for i, (old, fake) in enumerate(zip(leaves, fakes))
        ]
        args = [trees.build(trace, s, formal) for s in structure]
        result = abstract.call(trace, fn, args, dict(kwargs or {}))
        _refuse_effects(trace, name, outside, held, saved)
        outputs: list[Any] = []
        shape = trees.flatten(trace, result, outputs)
        nodes = [trace.graph.levels.lift(v.node) for v in outputs]
    except Raised as raised:
        kind = raised.exception.python_type().__name__
        raise Break(higher_order.BODY_BREAKS, operator=name, reason=f"it raises {kind}") from None
    except Break as reason:
        if reason.type in _OF_BODIES:
            raise
        text = f"{reason.type.number}, {reason.message()}"
        raise Break(higher_order.BODY_BREAKS, operator=name, reason=text) from None
    finally:
        trace.graph.levels.pop()
        trace.effects = saved
        trace.effects.note_change()  # nodes of the body may be in the graph
    lifted = list(level.lifted)
    values = [v.value for v in outputs]
    return Body(level.module(nodes), lifted, shape, values, _holds_others(shape), outputs)


def call_held(trace: Trace, module: object, name: str, nodes: list[Any], given: Any = ()) -> Value:
    """A node that calls a module kept in the graph. Of `given`, what comes back as it was is
    the same object."""
    target = trace.graph.hold(module, name)
    lifted = tuple(trace.graph.levels.lift(n) for n in nodes)
    try:
        node, value = trace.graph.call("call_module", target, lifted, {})
    except OpFailed as failed:
        raise op_failure(trace, failed, name) from failed.cause
    return abstract.from_value(trace, node, value, given)


def _formal(trace: Trace, level: Any, i: int, old: Value, fake: Any) -> Value:
    node = level.placeholder(f"arg{i}", fake)
    level.formal.append(node)
    if isinstance(fake, torch.Tensor):
        return Tensor(node, fake, None, torch.Tensor)
    return Symbol(node, fake)


def _is_made(value: object) -> bool:
    """Whether a value is a dict that the program has made in this region."""
    return isinstance(value, Dict) and value.source is None


def _refuse_effects(
    trace: Trace, name: str, outside: dict[int, Any], held: dict[int, Any], saved: Effects
) -> None:
    """`held`: the entries that dicts of the region had before the body."""
    for at, variable in trace.effects.touched.items():
        before = held[at] if at in held else getattr(variable, "original", None)
        if _as_before(trace, variable, before):
            continue
        if any(getattr(item, "stays_inside", False) for item in getattr(variable, "items", ())):
            raise Break(autograd.CONTEXT_ESCAPES, function=name)
        if variable.source is not None or id(variable) in outside:
            raise Break(higher_order.BODY_SIDE_EFFECT, operator=name, object=variable.describe())
    if trace.effects.calls:
        raise Break(higher_order.BODY_SIDE_EFFECT, operator=name, object="what is printed")
    if trace.effects.globals != saved.globals:
        raise Break(higher_order.BODY_SIDE_EFFECT, operator=name, object="a global variable")


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
    if before is MISSING or after is DELETED:
        return False
    before, after = abstract.realize(trace, before), abstract.realize(trace, after)
    if before is after:
        return True
    if not isinstance(before, Constant) or not isinstance(after, Constant):
        return False
    return type(before.value) is type(after.value) and before.value == after.value


def _holds_others(structure: object) -> bool:
    if isinstance(structure, trees.NotInGraph):
        return True
    if isinstance(structure, dict):
        return any(_holds_others(s) for s in structure.values())
    if isinstance(structure, (list, tuple)):
        return any(_holds_others(s) for s in structure)
    return False


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
        elif isinstance(at, Iterator):
            work += [getattr(at, "part", None), *(getattr(at, "parts", None) or ())]
        elif isinstance(at, Mutable) or hasattr(at, "closure"):
            work += [*(getattr(at, "closure", None) or ()), *(getattr(at, "args", None) or ())]
        elif hasattr(at, "owner"):
            work += [at.owner, getattr(at, "fn", None)]
    return seen
