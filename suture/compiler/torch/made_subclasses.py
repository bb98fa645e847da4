"""Tensors of subclasses that the program makes itself."""

from __future__ import annotations

import types
from typing import Any

import torch

from suture.breaks import Break, subclasses
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.language.classes import call_init
from suture.compiler.models import handles
from suture.compiler.objects import Class, Constant, Tensor
from suture.compiler.objects.tensor import known_tensor
from suture.compiler.torch.subclasses import is_subclass, seen_as
from suture.compiler.torch.wrappers import is_wrapper_class, make_wrapper
from suture.torch_private import tensor_parts


@implements(abstract.make_tensor_instance)
def make_tensor_instance(
    trace: Trace, cls: Class, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    real = cls.value
    if is_wrapper_class(real):
        return make_wrapper(trace, cls, args, kwargs)
    new = abstract.type_lookup(trace, real, "__new__")
    new = new.__func__ if isinstance(new, staticmethod) else new
    if isinstance(new, types.FunctionType):
        made = abstract.call(trace, abstract.wrap(trace, new, None), [cls, *args], kwargs)
    else:
        made = _new(trace, [cls, *args], kwargs)
    if not isinstance(made, Tensor) or not issubclass(made.cls, real):
        return made
    init = abstract.type_lookup(trace, made.cls, "__init__")
    if not isinstance(init, types.FunctionType):
        return made
    return call_init(trace, made, abstract.wrap(trace, init, None), args, kwargs)


def _refuse(kind: Any, args: list[Value]) -> Break:
    name = kind.value.__name__ if isinstance(kind, Class) else kind.describe()
    given = ", ".join(a.describe() for a in args)
    return Break(subclasses.SUBCLASS_CONSTRUCTOR, subclass=name, arguments=given)


@handles(tensor_parts.TensorBase.__new__)
def _new(trace: Trace, args: Any, kwargs: Any) -> Value:
    """torch.Tensor.__new__(cls, tensor): the same tensor, seen as the class."""
    kind, *rest = args
    one = len(rest) == 1 and isinstance(rest[0], Tensor) and not kwargs
    if not one or not isinstance(kind, Class) or not is_subclass(kind.value):
        raise _refuse(kind, rest)
    return seen_as(trace, rest[0], kind.value)


@handles(tensor_parts.make_subclass)
def _make_subclass(trace: Trace, args: Any, kwargs: Any) -> Value:
    """torch.Tensor._make_subclass(cls, data, require_grad=False)"""
    kind, data = args[0], args[1] if len(args) > 1 else kwargs.get("data")
    wants = args[2] if len(args) > 2 else kwargs.get("require_grad", Constant(False))
    fits = isinstance(kind, Class) and (kind.value is torch.Tensor or is_subclass(kind.value))
    known = fits and isinstance(data, Tensor)
    if (
        not known
        or len(args) > 3
        or set(kwargs) - {"data", "require_grad"}
        or abstract.truth(trace, wants)
    ):
        raise _refuse(kind, list(args[1:]))
    made = known_tensor(
        abstract.with_functions(
            trace, False, lambda: abstract.add_node(trace, "call_method", "detach", [data], {})
        )
    )
    made.cls = kind.value
    abstract.meet_subclass(trace, kind.value)
    return made
