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
    """Whether torch calls the `__torch_function__` of that class before it does an operation."""
    found = getattr(kind, "__torch_function__", DISABLED)
    return kind not in PLAIN and found is not DISABLED


class _Recorder(torch.Tensor):
    """A tensor that records the last call of its `__torch_function__`."""

    recorded: Any = None

    @classmethod
    def __torch_function__(
        cls, func: object, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        _Recorder.recorded = (func, args, kwargs is None)
        return None


class _Duck:
    """An object that is no tensor and records the last call of its `__torch_function__`."""

    __torch_function__ = _Recorder.__torch_function__


def kind_mark(value: object) -> str:
    """A letter for what an operator sees of an operand: a plain tensor (t), one whose
    class may override (o), another object that may (d), anything else (n)."""
    if isinstance(value, Tensor):
        return "o" if value.cls not in PLAIN and is_overloaded(value.cls) else "t"
    return "d" if isinstance(value, Object) else "n"


_MAKERS: dict[str, Callable[[], Any]] = {
    "o": lambda: torch.zeros(()).as_subclass(_Recorder),
    "t": lambda: torch.zeros(()),
    "d": _Duck,
    "n": lambda: 2,
}


@functools.cache
def function_asked(name: str, marks: str) -> Any:
    """(function, order of the operands, whether C calls) for an operator on operands of these
    kinds; None if it calls none."""
    with tensor_parts.DisableTorchFunctionSubclass():
        operands = [_MAKERS[mark]() for mark in marks]
    _Recorder.recorded = None
    try:
        with tensor_parts.EnableTorchFunction():
            operator_function(name)(*operands)
    except TypeError:
        return None
    finally:
        recorded, _Recorder.recorded = _Recorder.recorded, None
    if recorded is None:
        return None
    func, args, plain = recorded
    order = [next((i for i, o in enumerate(operands) if o is a), -1) for a in args]
    return (func, order, plain) if -1 not in order else None


def operator_function(name: str) -> Any:
    """The function that does the operator `name`; `.name` is a slot of tensors."""
    if name.startswith("."):
        return getattr(tensor_parts.TensorBase, name[1:])
    return divmod if name == "divmod" else getattr(operator, name)
