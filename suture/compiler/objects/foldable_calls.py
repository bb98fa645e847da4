"""Calls that are made while tracing: what they may be given, and which results may be kept.

A variant holds the result of such a call for all its calls, where the program would make it anew in
each. Nobody can tell if the object never changes. Lists, dicts and sets are therefore made again by
the variant (`wrap_known`); anything else must be of a type that is here. And the call is made
once, where the program makes it in each call: it must not run code of the program.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import functools
import inspect
import operator
import re
import struct
import sys
import types
import typing
from typing import Any

import torch
import torch.overrides

from suture.breaks import Break, calls
from suture.compiler.objects.frozen import is_form
from suture.runtime.predicates import LITERALS, TORCH_LITERALS
from suture.torch_private.operators import HigherOrderOperator, OpOverload, OpOverloadPacket

# Types whose objects never change.
_UNCHANGING: frozenset[type] = frozenset(
    {
        re.Pattern, re.Match, struct.Struct, inspect.Signature, inspect.Parameter, types.CodeType,
        decimal.Decimal, fractions.Fraction, operator.itemgetter, operator.attrgetter,
        datetime.date, datetime.time, datetime.datetime, datetime.timedelta, datetime.timezone,
        slice,
    }
)  # fmt: skip
# What a program or a library defines once and shares.
_SHARED: tuple[type, ...] = (
    type,
    types.FunctionType,
    types.ModuleType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.ClassMethodDescriptorType,
    OpOverload,
    OpOverloadPacket,
    HigherOrderOperator,
)
try:
    import numpy
except ImportError:  # torch works without it, and so does suture
    pass
else:
    _UNCHANGING |= {numpy.ufunc, numpy.finfo, numpy.iinfo}
    _SHARED += (numpy.generic, numpy.dtype)


def may_keep(value: Any) -> bool:
    """Whether one object can stand for what the program makes in each call."""
    kind = type(value)
    if kind in _UNCHANGING or isinstance(value, _SHARED) or is_form(value):
        return True
    if kind in (types.BuiltinFunctionType, types.MethodWrapperType):
        owner = value.__self__  # a method of something that may change is that something
        return owner is None or isinstance(owner, types.ModuleType) or may_keep(owner)
    if kind is types.MappingProxyType:
        return all(may_keep(v) for pair in value.items() for v in pair)
    if kind in (tuple, frozenset):
        return all(may_keep(v) for v in value)
    if kind in LITERALS or kind in TORCH_LITERALS or issubclass(kind, enum.Enum):
        return True
    # Facts of a machine and of a build: torch makes them in C and lets nobody set a field.
    return (
        kind.__module__.startswith("torch")
        and not hasattr(value, "__dict__")
        and (not isinstance(value, torch.Tensor) and not hasattr(kind, "__next__"))
    )


def refuse_changing(value: object) -> None:
    """A result that can change, and that no variant knows how to make: Python makes the call."""
    if not may_keep(value):
        name = f"what gives a {type(value).__qualname__}"
        raise Break(calls.C_FUNCTION, function=name)


# They look at a function or a class and call neither.
_LOOKS_ONLY = (
    typing.get_type_hints,
    typing.get_origin,
    typing.get_args,
    torch.overrides.resolve_name,
    torch.overrides.is_tensor_method_or_property,
)


def refuse_callbacks(real: object, values: list[Any]) -> None:
    """Arguments by which a call in C comes back to code of the program: Python makes the call."""
    if real in _LOOKS_ONLY:
        return
    if any(runs_program(v) for v in values):
        name = getattr(real, "__qualname__", None) or type(real).__qualname__
        raise Break(calls.C_FUNCTION, function=f"{name}, which would call the program,")


def is_finite_iterator(real: Any) -> bool:
    """Whether a function gives an iterator that runs no code and comes to its end."""
    if real is re.finditer or real is struct.iter_unpack:
        return True
    owner = getattr(real, "__self__", None)
    return isinstance(owner, re.Pattern) and real.__name__ == "finditer"


def runs_program(value: Any) -> bool:
    """Whether what C does with a value can run code that a program wrote: the value is a function
    in Python, or of a class that defines operators or conversions in Python."""
    kind = type(value)
    if kind in (tuple, list, set, frozenset):
        return any(runs_program(v) for v in value)
    if kind is dict:
        return any(runs_program(v) for pair in value.items() for v in pair)
    if kind in LITERALS or kind in TORCH_LITERALS or kind in _UNCHANGING:
        return False
    if isinstance(value, (types.FunctionType, types.MethodType, functools.partial)):
        return True
    return any(_defines_operators(base) for base in kind.__mro__[:-1])


_ASKED = frozenset(
    {
        "__index__", "__int__", "__float__", "__complex__", "__bool__", "__len__", "__iter__",
        "__next__", "__getitem__", "__contains__", "__str__", "__repr__", "__format__",
        "__bytes__", "__hash__", "__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__",
        "__add__", "__radd__", "__mul__", "__rmul__", "__mod__", "__rmod__", "__call__",
        "__fspath__", "__floor__", "__ceil__", "__trunc__", "__round__", "__reversed__",
        "__length_hint__", "__missing__",
    }
)  # fmt: skip


def _defines_operators(base: type, asked: frozenset[str] = _ASKED) -> bool:
    found = (base.__dict__.get(name) for name in asked)
    return any(isinstance(fn, types.FunctionType) and not _of_a_library(fn) for fn in found)


# What Python asks of a constant at many places, without looking for a method first.
_ASKED_OF_CONSTANTS = frozenset(
    {
        "__bool__", "__len__", "__iter__", "__getitem__", "__reversed__", "__index__", "__hash__",
        "__eq__",
    }
)  # fmt: skip


def acts_for_itself(kind: type) -> bool:
    """Whether a program has written what objects of a class do where constants are taken for what
    they are: such a member of an enum is an object like others."""
    return any(_defines_operators(base, _ASKED_OF_CONSTANTS) for base in kind.__mro__[:-1])


def _of_a_library(fn: types.FunctionType) -> bool:
    top = (fn.__module__ or "").partition(".")[0]
    return top in sys.stdlib_module_names or top in ("numpy", "torch")
