"""Methods in C bound to an object, as the program hands them around."""

from __future__ import annotations

import types
from typing import Any

from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.objects import Builtin, ConstantMethod, Method, Object, Opaque
from suture.compiler.objects.bound_method import BoundMethod
from suture.runtime.predicates import BoundOf
from suture.runtime.reads import unbound
from suture.runtime.sources import Source


def is_bound(value: Any) -> bool:
    """Whether a C function is a method bound to an object, and made anew at each access."""
    owner = value.__self__  # pybind11's functions have a record there that they are no method of
    if owner is None or isinstance(owner, (type, types.ModuleType)):
        return False
    return hasattr(type(owner), value.__name__)


def bound_builtin(trace: Trace, value: Any, source: Source) -> Value:
    """The method of an object: the guards ask for the same method of an object of its kind."""
    trace.guards.add(source, "type", type(value))
    trace.guards.add(source.attr("__name__"), "equals", value.__name__)
    owner = abstract.wrap(trace, value.__self__, source.attr("__self__"))
    if isinstance(owner, Object):
        raw = unbound(value)
        if raw is None:
            return Opaque(value, source)
        if sum(value.__name__ in base.__dict__ for base in owner.cls.__mro__) > 1:
            trace.guards.add(source, "truth", BoundOf(raw))  # of those of this name it is this one
        return Method(Builtin(raw, abstract.pinned(trace, raw)), owner, source)
    made = abstract.getattr(trace, owner, value.__name__)
    if isinstance(made, (BoundMethod, ConstantMethod)):
        made.source = source  # each access makes another: this one is the object given
    return made


BOUND = (types.BuiltinFunctionType, types.MethodWrapperType)
