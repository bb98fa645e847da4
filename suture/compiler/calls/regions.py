"""Functions that the program marks for torch's compiler: regions, and functions not looked into."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suture.breaks import Break, higher_order
from suture.compiler import abstract
from suture.compiler.core import Pending, Trace, Value
from suture.compiler.language.conversions import wrap_known
from suture.compiler.models import handles
from suture.compiler.objects import Function, Object, Tensor


@handles("compile_region")
def _region(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """A region that may be compiled once and used often: traced with the rest, and outlined from
    the finished graph where that is sound."""
    made = abstract.tail_call(trace, args[0], args[1:], kwargs)
    if isinstance(made, Pending) and made.frame.span is not None:
        made.frame.span.marked = True
    return made


@handles("higher_order.invoke_subgraph")
def _invoke_subgraph(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    raise Break(higher_order.INVOKE_SUBGRAPH)


@handles("mark_nonstrict")
def _mark_nonstrict(
    trace: Trace, target: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """A function made and marked while tracing is traced: nothing of it is outside."""
    given = args[0] if args else next(iter(kwargs.values()))
    if isinstance(given, Function):
        abstract.fix(trace, given.known_source, given.fn)
        return abstract.wrap(trace, target(given.fn), None)
    return given


def assumed_constant(trace: Trace, real: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The result of a function of which the program says that it never changes: called now, with
    the objects and tensors that are there now."""
    values = [_now(trace, a) for a in args]
    named = {k: _now(trace, v) for k, v in kwargs.items()}
    held: list[Any] = []
    abstract.folded(trace, lambda: held.append(real(*values, **named)))
    if isinstance(held[0], (list, dict, set, tuple)):
        return wrap_known(trace, held[0])
    return abstract.wrap(trace, held[0], None)  # the program says that it is this one in all calls


def _now(trace: Trace, value: Value) -> Any:
    """The real object that a value stands for."""
    if isinstance(value, Tensor) and value.example is not None:
        return value.example
    changed = getattr(value, "changed", False) or getattr(value, "attrs", None)
    if isinstance(value, Object) and value.value is not None and not changed:
        return value.value
    return abstract.constant_value(trace, value)


@handles("compile")
def _compile(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """What is compiled inside a compiled function is traced with the rest of it."""
    given = args[0] if args else kwargs.get("model")
    if given is None or (given.is_constant() and given.constant() is None):
        return abstract.wrap(trace, _given, None)
    return given


def _given(model: Any) -> Any:
    """`torch.compile(...)` without a model, as a decorator."""
    return model


@handles(_given)
def _decorate(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return args[0]


@handles("nonstrict_trace")
def _nonstrict(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """One node that calls the function."""
    return abstract.call_torch(trace, target, args, kwargs)
