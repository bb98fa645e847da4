"""The number of the break at a call that only Python can make: who is called, and on what."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import torch

from suture.breaks import (
    Break,
    arrays,
    autograd,
    calls,
    contexts,
    control_flow,
    distributed,
    objects,
    python,
    tensors,
)
from suture.compiler.core import Value
from suture.compiler.language.operators import BINARY, COMPARE, UNARY
from suture.rules import Origin, Verdict
from suture.torch_private import autograd_parts

Reason = Callable[[Any, list[Any]], Break]

_OPERATORS = {
    **{method: name for name, methods in BINARY.items() for method in methods},
    **{f"__i{name.strip('_')}__": name for name in BINARY},
    **{method: symbol for symbol, (_, *methods) in COMPARE.items() for method in methods},
    **{method: name for name, method in UNARY.items()},
}
_CHANGES = {
    "__setitem__": "setting an item",
    "__delitem__": "deleting an item",
    "__setattr__": "setting an attribute",
    "__delattr__": "deleting an attribute",
}
_QUESTIONS = {
    "__iter__": "iterating",
    "__reversed__": "iterating backwards",
    "__len__": "len()",
    "__contains__": "`in`",
    "__hash__": "hash()",
    "__index__": "using as an index",
    "__int__": "int()",
    "__float__": "float()",
    "__bool__": "truth",
    "__format__": "format()",
}


def reason(real: Any, verdict: Verdict, args: list[Value]) -> Break:
    """Why Python makes the call `real(*args)`."""
    found = _BY_IDENTITY.get(id(real))
    if found is not None:
        return found[1](real, args)
    if verdict.origin is Origin.DISABLED:
        return Break(calls.DISABLED, function=name_of(real), reason=verdict.reason)
    if verdict.origin is Origin.FORBIDDEN:
        return Break(calls.FORBIDDEN, function=name_of(real))
    if isinstance(real, types.FunctionType):
        return _python_function(real, verdict)
    owner = getattr(real, "__objclass__", None)
    if owner is not None and args:
        return _method(real.__name__, owner, args)
    return Break(calls.C_FUNCTION, function=name_of(real))


def _python_function(real: types.FunctionType, verdict: Verdict) -> Break:
    module = real.__module__ or "?"
    if module == "unittest.case":
        return Break(calls.UNITTEST_METHOD, method=real.__name__)
    return Break(
        calls.PYTHON_FUNCTION_RUN, module=module, qualname=name_of(real), reason=verdict.reason
    )


def _method(name: str, owner: type, args: list[Value]) -> Break:
    """A method in C of an object that has no model."""
    obj = args[0].describe()
    if owner.__module__ == "numpy" and owner.__name__ == "ndarray":
        return Break(arrays.ARRAY_METHOD, method=name)
    for kind, made in _BY_OWNER:
        if issubclass(owner, kind):
            return made(name, args)
    if name == "__call__":
        given = ", ".join(a.describe() for a in args[1:])
        return Break(calls.UNSUPPORTED_CALLABLE, callable=obj, arguments=given)
    if name == "__getitem__" and len(args) > 1:
        return Break(objects.UNKNOWN_SUBSCRIPT, object=obj, key=args[1].describe())
    if name in ("__getattribute__", "__getattr__") and len(args) > 1:
        return Break(objects.UNKNOWN_ATTRIBUTE, object=obj, attribute=args[1].describe())
    if name in _CHANGES:
        return Break(objects.MUTATION_OF_UNKNOWN, operation=_CHANGES[name], object=obj)
    if name in _OPERATORS:
        operands = " and ".join(a.describe() for a in args)
        return Break(objects.UNKNOWN_OPERATOR, operator=_OPERATORS[name], operands=operands)
    if name == "__next__":
        return Break(control_flow.UNKNOWN_ITERATOR, iterator=obj)
    if name in ("__enter__", "__exit__"):
        return Break(contexts.UNKNOWN_MANAGER, manager=obj)
    if name in _QUESTIONS:
        return Break(objects.UNKNOWN_OBJECT, operation=_QUESTIONS[name], object=obj)
    if name.startswith("__"):
        return Break(calls.C_FUNCTION, function=f"{owner.__name__}.{name}")
    return Break(objects.UNKNOWN_METHOD, object=obj, method=name)


def name_of(real: object) -> str:
    return str(getattr(real, "__qualname__", None) or getattr(real, "__name__", None) or real)


# ---- single functions and single types


def _frames(real: Any, args: list[Value]) -> Break:
    return Break(python.FRAME_ACCESS, call=f"{real.__module__}.{real.__name__}()")


def _backward(real: Any, args: list[Value]) -> Break:
    return Break(tensors.BACKWARD_CALL, call=f"torch.autograd.{real.__name__}()")


def _engine(name: str, args: list[Value]) -> Break:
    return Break(autograd.ENGINE_METHOD, method=name)


def _event(name: str, args: list[Value]) -> Break:
    return Break(distributed.EVENT_METHOD, method=name)


def _anomaly(real: object, args: list[Value]) -> Break:
    return Break(contexts.MODE_UNSUPPORTED, mode="anomaly detection")


def _python_methods(cls: type) -> tuple[Any, ...]:
    return tuple(
        value
        for name, value in vars(cls).items()
        if isinstance(value, types.FunctionType) and not name.startswith("_")
    )


_FUNCTIONS: tuple[tuple[tuple[Any, ...], Reason], ...] = (
    ((sys._getframe, sys._current_frames), _frames),
    ((torch.autograd.backward,), _backward),
    (_python_methods(torch.cuda.Event), lambda real, args: _event(real.__name__, args)),
    (
        tuple(
            part
            for kind in (torch.autograd.detect_anomaly, torch.autograd.set_detect_anomaly)
            for part in (kind, kind.__enter__, kind.__exit__)
        ),
        _anomaly,
    ),
)
_BY_IDENTITY: dict[int, tuple[Any, Reason]] = {
    id(real): (real, made) for reals, made in _FUNCTIONS for real in reals
}
_BY_OWNER: tuple[tuple[type, Callable[[str, list[Any]], Break]], ...] = (
    (type(autograd_parts.engine), _engine),
    (torch.Event, _event),
)
