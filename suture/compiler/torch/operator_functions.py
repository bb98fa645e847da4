"""Which function of torch a Python operator passes to __torch_function__."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.overrides

from suture.compiler.objects import (
    Object,
    Tensor,
)
from suture.compiler.torch.subclasses import DISABLED, PLAIN
from suture.torch_private import tensor_parts


def is_overloaded(kind: type) -> bool:
    """Whether torch asks objects of that class before it does an operation."""
    found = getattr(kind, "__torch_function__", DISABLED)
    return kind not in PLAIN and found is not DISABLED


class _Listener(torch.Tensor):
    """A tensor that keeps what it was asked last."""

    heard: Any = None

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        _Listener.heard = (func, args, kwargs is None)
        return None


class _Duck:
    """An object that is no tensor and keeps what it was asked last."""

    __torch_function__ = _Listener.__torch_function__


def kind_mark(value: object) -> str:
    """A letter for what an operator sees of an operand: a plain tensor (t), one whose class is
    asked (o), another object that is asked (d), anything else (n)."""
    if isinstance(value, Tensor):
        return "o" if value.cls not in PLAIN and is_overloaded(value.cls) else "t"
    return "d" if isinstance(value, Object) else "n"


_MAKERS: dict[str, Callable[[], Any]] = {
    "o": lambda: torch.zeros(()).as_subclass(_Listener),
    "t": lambda: torch.zeros(()),
    "d": _Duck,
    "n": lambda: 2,
}


@functools.cache
def function_asked(name: str, marks: str) -> Any:
    """(function, order of the operands, whether C asks) for an operator on operands of these
    kinds; None if it asks nobody."""
    with tensor_parts.DisableTorchFunctionSubclass():
        operands = [_MAKERS[mark]() for mark in marks]
    _Listener.heard = None
    try:
        with tensor_parts.EnableTorchFunction():
            operator_function(name)(*operands)
    except TypeError:
        return None
    finally:
        heard, _Listener.heard = _Listener.heard, None
    if heard is None:
        return None
    func, args, plain = heard
    order = [next((i for i, o in enumerate(operands) if o is a), -1) for a in args]
    return (func, order, plain) if -1 not in order else None


def operator_function(name: str) -> Any:
    """The function that does the operator `name`; `.name` is a slot of tensors."""
    if name.startswith("."):
        return getattr(tensor_parts.TensorBase, name[1:])
    return divmod if name == "divmod" else getattr(operator, name)
