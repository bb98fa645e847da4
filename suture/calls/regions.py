"""Functions that the program marks for torch's compiler: regions, and functions not looked into."""

from __future__ import annotations

from typing import Any

from suture.breaks import Break, higher_order
from suture.calls.table import handles, special
from suture.variables import Function, Object, Tensor


@special("compile_region")
def _region(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    """A region that may be compiled once and used often: traced with the rest."""
    return tx.tail_call(args[0], args[1:], kwargs)


@special("higher_order.invoke_subgraph")
def _invoke_subgraph(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    raise Break(higher_order.INVOKE_SUBGRAPH)


@special("mark_nonstrict")
def _mark_nonstrict(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    """A function made and marked while tracing is traced: nothing of it is outside."""
    given = args[0] if args else next(iter(kwargs.values()))
    if isinstance(given, Function):
        tx.fix(given.source, given.fn)
        return tx.wrap(target(given.fn), None)
    return given


def assumed_constant(tx: Any, real: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """The result of a function of which the program says that it never changes: called now, with
    the objects and tensors that are there now."""
    values = [_now(tx, a) for a in args]
    named = {k: _now(tx, v) for k, v in kwargs.items()}
    held: list[Any] = []
    tx.folded(lambda: held.append(real(*values, **named)))
    if isinstance(held[0], (list, dict, set, tuple)):
        return tx.wrap_known(held[0])
    return tx.wrap(held[0], None)  # the program says that it is this one in all calls


def _now(tx: Any, value: Any) -> Any:
    if isinstance(value, Tensor) and value.example is not None:
        return value.example
    changed = getattr(value, "changed", False) or getattr(value, "attrs", None)
    if isinstance(value, Object) and value.value is not None and not changed:
        return value.value
    return tx.constant_value(value)


@special("compile")
def _compile(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    """What is compiled inside a compiled function is traced with the rest of it."""
    given = args[0] if args else kwargs.get("model")
    if given is None or (given.is_constant() and given.constant() is None):
        return tx.wrap(_given, None)
    return given


def _given(model: Any) -> Any:
    """`torch.compile(...)` without a model, as a decorator."""
    return model


@handles(_given)
def _decorate(tx: Any, args: Any, kwargs: Any) -> Any:
    return args[0]


@special("nonstrict_trace")
def _nonstrict(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    """One node that calls the function."""
    return tx.call_torch(target, args, kwargs)
