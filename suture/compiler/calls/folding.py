"""Calls of what is known, made while tracing."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import torch

from suture.breaks import Break, contexts
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.calls.warnings_in_folds import without_warnings
from suture.compiler.core import Trace, Value
from suture.compiler.language import templates
from suture.compiler.language.exceptions import native_exception
from suture.compiler.objects import CalledIterator, Raised, constant
from suture.compiler.objects.foldable_calls import is_finite_iterator, refuse_callbacks
from suture.compiler.outside.hashes_read import call_is_made


@implements(constant.constant_method)
def constant_method(
    trace: Trace, owner: Value, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    value = owner.constant()
    if name in ("__enter__", "__exit__"):
        if isinstance(value, torch.device):
            return abstract.device_block(trace, owner, name)
        raise Break(contexts.UNKNOWN_MANAGER, manager=owner.describe())
    if name == "__iter__" and not args and not kwargs:
        return abstract.iterate(trace, owner)
    if name == "join" and len(args) == 1 and type(value) in (str, bytes):
        items = abstract.unpack(trace, args[0])
        made = templates.joined_by(trace, value, items) if type(value) is str else None
        if made is not None:
            return made
        parts = [abstract.constant_value(trace, p) for p in items]
        return folded(trace, lambda: value.join(parts))
    if name == "format" and type(value) is str:
        made = templates.formatted(trace, value, args, kwargs)
        if made is not None:
            return made
    method = getattr(value, name)
    return fold_call(trace, method, args, kwargs)


@implements(abstract.fold)
def fold_call(trace: Trace, real: object, args: list[Value], kwargs: dict[str, Value]) -> Value:
    made = abstract.computed_number(trace, real, args) if not kwargs else None
    if made is not None:
        return made
    values = [abstract.constant_value(trace, a) for a in args]
    named = {k: abstract.constant_value(trace, v) for k, v in kwargs.items()}
    return call_now(trace, real, values, named)


@implements(abstract.call_now)
def call_now(trace: Trace, real: Any, values: list[Any], named: dict[str, Any]) -> Value:
    refuse_callbacks(real, [*values, *named.values()])
    call_is_made(trace, real, [*values, *named.values()])
    if is_finite_iterator(real) and not named:
        held: list[Any] = []
        folded(trace, lambda: held.extend(real(*values)))
        kind = type(real(*values))
        return CalledIterator([abstract.known(trace, v) for v in held], kind, real, values)
    if isinstance(real, types.FunctionType):
        return folded(trace, lambda: without_warnings(real, values, named))
    return folded(trace, lambda: real(*values, **named))


@implements(abstract.folded)
def folded(trace: Trace, thunk: Callable[[], Any]) -> Value:
    try:
        value = thunk()
    except (KeyboardInterrupt, SystemExit, Break, Raised):
        raise
    except BaseException as error:
        raise Raised(native_exception(trace, error)) from None
    return abstract.known(trace, value)
