"""Handles of hooks. Each has a number of its own, which the process counts: a hook that is set and
removed in one region needs none of them."""

from __future__ import annotations

import weakref
from typing import Any

import torch
from torch.utils.hooks import RemovableHandle

from suture.breaks import Break, calls
from suture.calls.part import Part
from suture.calls.table import handles
from suture.variables import Function, Object
from suture.variables.serials import Serial


class HookHandles(Part):
    """The part of the tracer that sets hooks. `setting` is the place (code, index) of the last call
    of a function that sets one."""

    setting: Any = None


def _register(fn: Any) -> None:
    """A function of torch that sets a hook: Python runs it where its handle leaves the region."""

    def handler(tx: Any, args: Any, kwargs: Any) -> Any:
        tx.setting = place = _here(tx)
        if place in tx.plan.by_python:
            raise _moving(fn)
        return tx.inline(_function(tx, fn), args, kwargs)

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
def _init(tx: Any, args: Any, kwargs: Any) -> Any:
    place = tx.setting if tx.frames[-1].code.code in _SETTERS and tx.setting else _here(tx)
    if place in tx.plan.by_python:
        return tx.inline(_function(tx, RemovableHandle.__init__), args, kwargs)
    return tx.inline(_function(tx, _fill), [args[0], Serial(place), *args[1:]], kwargs)


@handles(RemovableHandle.remove)
def _remove(tx: Any, args: Any, kwargs: Any) -> Any:
    """A handle that is another one in each call is removed by Python: where its hook stands in the
    table, its number says, and a guard on that would never hold again."""
    handle = args[0]
    real = handle.value if isinstance(handle, Object) and handle.source is not None else None
    if isinstance(real, RemovableHandle):
        path = f"{handle.source.path()}.id"
        if tx.history.dynamic_number(tx.plan, path, real.id, fixed=True):
            raise _moving(RemovableHandle.remove)
    return tx.inline(_function(tx, RemovableHandle.remove), args, kwargs)


def _fill(handle: Any, number: int, hooks_dict: Any, *, extra_dict: Any = None) -> None:
    """What RemovableHandle.__init__ does, with the number given. It is traced."""
    handle.hooks_dict_ref = weakref.ref(hooks_dict)
    handle.id = number
    handle.extra_dict_ref = ()
    if isinstance(extra_dict, dict):
        handle.extra_dict_ref = (weakref.ref(extra_dict),)
    elif isinstance(extra_dict, list):
        handle.extra_dict_ref = tuple([weakref.ref(d) for d in extra_dict])


def _function(tx: Any, fn: Any) -> Function:
    return Function(fn, tx.pinned(fn))


def _here(tx: Any) -> Any:
    frame = tx.frames[-1]
    return (frame.code.code, frame.ip)


def _moving(fn: Any) -> Break:
    return Break(
        calls.PYTHON_FUNCTION_RUN,
        module=fn.__module__,
        qualname=fn.__qualname__,
        reason="a hook has another number in each call",
    )
