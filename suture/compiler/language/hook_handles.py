"""Handles of hooks. Each has a number of its own, which the process counts: a hook that is set and
removed in one region needs none of them."""

from __future__ import annotations

import weakref
from typing import Any

import torch
from torch.utils.hooks import RemovableHandle

from suture.breaks import Break, calls
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles
from suture.compiler.objects import Function, Object
from suture.compiler.objects.serials import Serial


def _register(fn: object) -> None:
    """A function of torch that sets a hook: Python runs it where its handle leaves the region."""

    def handler(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        trace.outside.setting = position = _here(trace)
        if position in trace.region.plan.by_python:
            raise _moving(fn)
        return abstract.inline(trace, _function(trace, fn), args, kwargs)

    handles(fn)(handler)


for _name in (
    "register_forward_hook",
    "register_forward_pre_hook",
    "register_full_backward_hook",
    "register_full_backward_pre_hook",
):
    _register(getattr(torch.nn.Module, _name))
_SETTERS = frozenset(
    getattr(torch.nn.Module, name).__code__
    for name in dir(torch.nn.Module)
    if name.startswith("register_") and name.endswith("_hook")
)


@handles(RemovableHandle.__init__)
def _init(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    position = (
        trace.outside.setting
        if trace.frames[-1].code.code in _SETTERS and trace.outside.setting
        else _here(trace)
    )
    if position in trace.region.plan.by_python:
        return abstract.inline(trace, _function(trace, RemovableHandle.__init__), args, kwargs)
    return abstract.inline(
        trace, _function(trace, _fill), [args[0], Serial(position), *args[1:]], kwargs
    )


@handles(RemovableHandle.remove)
def _remove(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A handle that is another one in each call is removed by Python: where its hook is in the
    table, its number says, and a guard on that would never hold again."""
    handle = args[0]
    real = handle.value if isinstance(handle, Object) and handle.source is not None else None
    if isinstance(real, RemovableHandle):
        path = f"{handle.known_source.path()}.id"
        if trace.region.history.dynamic_number(trace.region.plan, path, real.id, fixed=True):
            raise _moving(RemovableHandle.remove)
    return abstract.inline(trace, _function(trace, RemovableHandle.remove), args, kwargs)


def _fill(handle: Any, number: int, hooks_dict: Any, *, extra_dict: Any = None) -> None:
    """What RemovableHandle.__init__ does, with the number given. It is traced."""
    handle.hooks_dict_ref = weakref.ref(hooks_dict)
    handle.id = number
    handle.extra_dict_ref = ()
    if isinstance(extra_dict, dict):
        handle.extra_dict_ref = (weakref.ref(extra_dict),)
    elif isinstance(extra_dict, list):
        handle.extra_dict_ref = tuple([weakref.ref(d) for d in extra_dict])


def _function(trace: Trace, fn: Any) -> Function:
    return Function(fn, abstract.pinned(trace, fn))


def _here(trace: Trace) -> Any:
    frame = trace.frames[-1]
    return (frame.code.code, frame.ip)


def _moving(fn: Any) -> Break:
    return Break(
        calls.PYTHON_FUNCTION_RUN,
        module=fn.__module__,
        qualname=fn.__qualname__,
        reason="a hook has another number in each call",
    )
