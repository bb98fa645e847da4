"""Slots of object and of the builtin containers, called by name or through super()."""

from __future__ import annotations

import collections
from typing import Any

from suture.breaks import Break, calls, objects, python
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.language.attribute_writes import (
    plain_delete_attribute,
    plain_set_attribute,
)
from suture.compiler.language.attributes import (
    MISSING,
    no_attribute,
    tail_getattr,
)
from suture.compiler.language.classes import new_storage, storage_init
from suture.compiler.language.instance_fields import instance_value
from suture.compiler.language.super_lookup import make_super
from suture.compiler.models import handles
from suture.compiler.objects import (
    Class,
    Constant,
    List,
    Object,
    Raise,
)
from suture.compiler.outside.namespaces import frame_cell, load_cell
from suture.runtime.predicates import SameOrder


@handles(object.__setattr__)
def _object_setattr(trace: Trace, args: Any, kwargs: dict[str, Value]) -> Value:
    plain_set_attribute(trace, args[0], abstract.constant_value(trace, args[1]), args[2])
    return Constant(None)


@handles(object.__delattr__)
def _object_delattr(trace: Trace, args: Any, kwargs: dict[str, Value]) -> Value:
    plain_delete_attribute(trace, args[0], abstract.constant_value(trace, args[1]))
    return Constant(None)


@handles(object.__getattribute__)
def _object_getattribute(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    obj, name = args[0], abstract.constant_value(trace, args[1])
    if not isinstance(obj, Object):
        return tail_getattr(trace, obj, name)
    cls = obj.python_type()
    raw = abstract.type_lookup(trace, cls, name)
    found = instance_value(trace, obj, name)
    if raw is not MISSING and (found is None or hasattr(type(raw), "__set__")):
        return abstract.bind(trace, raw, obj, cls, name)
    if found is None:
        return no_attribute(trace, obj, name)
    return found


@handles(object.__init__)
def _object_init(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if len(args) > 1 or kwargs:  # Python says whether the class takes more
        cls, extra = args[0].python_type(), [None] * (len(args) + len(kwargs) - 1)
        if abstract.type_lookup(trace, cls, "__new__") is object.__new__:
            abstract.folded(trace, lambda: object.__init__(object.__new__(cls), *extra))
        elif abstract.type_lookup(trace, cls, "__init__") is not object.__init__:
            text = "object.__init__() takes exactly one argument (the instance to initialize)"
            abstract.raise_(trace, TypeError, text)
    return Constant(None)


@handles(object.__init_subclass__)
def _object_init_subclass(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Constant(None)


@handles(type.__subclasses__)
def _subclasses(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A list of the classes below one from outside, as long as there are no others."""
    if len(args) != 1 or kwargs or type(args[0]) is not Class:
        raise Break(calls.C_FUNCTION, function="type.__subclasses__")
    below = type.__subclasses__(args[0].value)
    at = abstract.pinned(trace, args[0].value).call(type.__subclasses__)
    trace.guards.add(at, "truth", SameOrder(below))
    return List([abstract.wrap(trace, one, abstract.pinned(trace, one)) for one in below])


@handles(object.__new__)
def _object_new(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    cls = args[0].real()
    if len(args) > 1 or kwargs:  # Python says whether the class takes more
        extra = [None] * (len(args) + len(kwargs) - 1)
        abstract.folded(trace, lambda: object.__new__(cls, *extra) is None)
    heap, is_abstract = cls.__flags__ & (1 << 9), cls.__flags__ & (1 << 20)
    if cls is not object and (not heap or is_abstract):
        return abstract.folded(trace, lambda: object.__new__(cls))  # raises, in Python's words
    return Object(None, cls)


def _storage_new(base: Any) -> Any:
    def handler(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        cls = args[0].real()
        derived = isinstance(cls, type) and issubclass(cls, base)
        if not derived or (cls is bool and base is int):
            return abstract.folded(trace, lambda: base.__new__(cls))  # refuses, in Python's words
        if cls in _STORAGES:
            return abstract.call(trace, args[0], args[1:], kwargs)
        storage = new_storage(trace, cls, args[1:])
        if storage is None:
            raise Break(calls.C_FUNCTION, function=f"{base.__name__}.__new__")
        return Object(None, cls, None, storage)

    return handler


_STORAGES = (tuple, str, int, bool, float, list, dict, set, frozenset)
for _base in _STORAGES:
    handles(_base.__new__)(_storage_new(_base))


@handles(dict.__init__, list.__init__, set.__init__, collections.OrderedDict.__init__)
def _storage_init(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    storage_init(trace, args[0], None, args[1:], kwargs)
    return Constant(None)


@handles(*{BaseException.__init__, Exception.__init__})  # from 3.14 on they are one
def _exception_init(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if not isinstance(args[0], Raise):
        raise Break(objects.UNKNOWN_OBJECT, operation="set up", object=args[0].describe())
    args[0].args = list(args[1:])
    args[0].bare = False
    return Constant(None)


@handles(super)
def _super(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if args:
        return make_super(trace, None, args[0], args[1] if len(args) == 2 else None)
    try:
        return make_super(trace, None, *_implicit_super(trace))
    except Break:  # only the frame itself can say which class and object are meant
        raise Break(python.LOCALS_CALL, call="super()") from None


def _implicit_super(trace: Trace) -> tuple[Any, Any]:
    """The class and the first argument of the frame that calls super()."""
    frame = trace.frames[-1]
    code = frame.code.code
    if not code.co_argcount:
        return abstract.raise_(trace, RuntimeError, "super(): no arguments")
    owner = frame.locals[0]
    if code.co_varnames[0] in code.co_cellvars:
        owner = load_cell(trace, frame_cell(trace, frame, 0)) if owner is not None else None
    else:
        owner = abstract.realize_local(trace, owner)
    if owner is None:
        return abstract.raise_(trace, RuntimeError, "super(): arg[0] deleted")
    if "__class__" not in code.co_freevars:
        return abstract.raise_(trace, RuntimeError, "super(): __class__ cell not found")
    cls = load_cell(trace, frame_cell(trace, frame, frame.code.localsplus.index("__class__")))
    if cls is None:
        return abstract.raise_(trace, RuntimeError, "super(): empty __class__ cell")
    return cls, owner
