"""Tensors of subclasses that the program makes itself."""

from __future__ import annotations

import types
from typing import Any

import torch

from suture.breaks import Break, subclasses
from suture.calls.part import Part
from suture.calls.table import handles
from suture.calls.tensor_classes.subclasses import is_subclass
from suture.calls.tensor_classes.wrappers import is_wrapper_class
from suture.torch_private import tensor_parts
from suture.variables import Class, Constant, Tensor


class MadeSubclasses(Part):
    """The part of the tracer that calls classes of tensors."""

    def make_tensor_instance(self, cls: Class, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """What calling a class of tensors does: __new__, then __init__."""
        real = cls.value
        if is_wrapper_class(real):
            return self.make_wrapper(cls, args, kwargs)
        new = self.type_lookup(real, "__new__")
        new = new.__func__ if isinstance(new, staticmethod) else new
        if isinstance(new, types.FunctionType):
            made = self.call(self.wrap(new, None), [cls, *args], kwargs)
        else:
            made = _new(self, [cls, *args], kwargs)
        if not isinstance(made, Tensor) or not issubclass(made.cls, real):
            return made
        init = self.type_lookup(made.cls, "__init__")
        if not isinstance(init, types.FunctionType):
            return made
        return self.call_init(made, self.wrap(init, None), args, kwargs)


def _refuse(kind: Any, args: list[Any]) -> Break:
    name = kind.value.__name__ if isinstance(kind, Class) else kind.describe()
    given = ", ".join(a.describe() for a in args)
    return Break(subclasses.SUBCLASS_CONSTRUCTOR, subclass=name, arguments=given)


@handles(tensor_parts.TensorBase.__new__)
def _new(tx: Any, args: Any, kwargs: Any) -> Any:
    """torch.Tensor.__new__(cls, tensor): the same tensor, seen as the class."""
    kind, *rest = args
    one = len(rest) == 1 and isinstance(rest[0], Tensor) and not kwargs
    if not one or not isinstance(kind, Class) or not is_subclass(kind.value):
        raise _refuse(kind, rest)
    return tx.seen_as(rest[0], kind.value)


@handles(tensor_parts.make_subclass)
def _make_subclass(tx: Any, args: Any, kwargs: Any) -> Any:
    """torch.Tensor._make_subclass(cls, data, require_grad=False)"""
    kind, data = args[0], args[1] if len(args) > 1 else kwargs.get("data")
    wants = args[2] if len(args) > 2 else kwargs.get("require_grad", Constant(False))
    fits = isinstance(kind, Class) and (kind.value is torch.Tensor or is_subclass(kind.value))
    known = fits and isinstance(data, Tensor)
    if not known or len(args) > 3 or set(kwargs) - {"data", "require_grad"} or tx.truth(wants):
        raise _refuse(kind, list(args[1:]))
    made = tx.with_functions(False, lambda: tx.add_node("call_method", "detach", [data], {}))
    made.cls = kind.value
    tx.meet_subclass(kind.value)
    return made
