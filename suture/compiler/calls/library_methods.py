"""Callables of Python's library that need to know what the trace knows."""

from __future__ import annotations

import _thread
import _warnings
import collections
import functools
import os
import sys
import traceback
import types
import warnings
from collections.abc import Sequence
from typing import Any

from suture.breaks import Break, calls
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.language.attributes import has_attr, tail_getattr
from suture.compiler.language.classes import instance_of, make_instance
from suture.compiler.language.exceptions import NoTraceback, handled_now, type_of
from suture.compiler.models import handles
from suture.compiler.objects import (
    Builtin,
    CallIterator,
    Class,
    Constant,
    Dict,
    Method,
    Object,
    Opaque,
    Raise,
    Tuple,
    Volatile,
)
from suture.compiler.objects.lookup import find_in_mro
from suture.compiler.objects.methods import run_method
from suture.compiler.objects.ordered_dict import OrderedDict
from suture.compiler.outside.identity import is_same
from suture.runtime.predicates import SameAnswer, is_literal
from suture.runtime.sources import Source

# ---- types and objects


@handles(types.MethodType)
def _method(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if len(args) != 2 or kwargs:
        return abstract.raise_(trace, TypeError, f"method expected 2 arguments, got {len(args)}")
    return Method(args[0], args[1])


@handles(types.CodeType.replace)
def _replace_code(trace: Trace, args: Any, kwargs: dict[str, Value]) -> Value:
    """The new code object is a constant of the variant, so that all calls share it. A program that
    compares by `is` could tell, but Python promises nothing about the identity of a value that
    cannot change."""
    code = args[0].real() if len(args) == 1 and isinstance(args[0], Builtin) else None
    if not isinstance(code, types.CodeType) or not set(kwargs) <= _NAMES_OF_CODE:
        raise Break(calls.C_FUNCTION, function="code.replace")
    named = {key: abstract.constant_value(trace, value) for key, value in kwargs.items()}
    if not all(type(value) is str for value in named.values()):
        raise Break(calls.C_FUNCTION, function="code.replace")
    return Builtin(code.replace(**named))


_NAMES_OF_CODE = frozenset({"co_name", "co_qualname", "co_filename"})


@handles(type.__call__)
def _type_call(trace: Trace, args: Any, kwargs: Any) -> Value:
    return make_instance(trace, args[0], args[1:], kwargs)


@handles(object.__eq__)
def _object_eq(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Constant(True if is_same(trace, args[0], args[1]) else NotImplemented)


@handles(object.__ne__)
def _object_ne(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    equal = abstract.call_type_method(trace, args[0], "__eq__", [args[1]], {})
    equal = abstract.finish(trace, equal)
    if equal.is_constant() and equal.constant() is NotImplemented:
        return equal
    return abstract.negate(trace, equal)


@handles(object.__lt__, object.__le__, object.__gt__, object.__ge__)  # type: ignore[operator]
def _object_order(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Constant(NotImplemented)


@handles(object.__getstate__)
def _getstate(trace: Trace, args: Any, kwargs: Any) -> Any:
    obj = args[0]
    plain = isinstance(obj, Object) and not any("__slots__" in b.__dict__ for b in obj.cls.__mro__)
    if not plain or obj.storage is not None:
        raise Break(calls.C_FUNCTION, function="object.__getstate__")
    held = abstract.instance_dict(trace, obj)
    return held if held.truth(trace) else Constant(None)


@handles(sys.exc_info)
def _exc_info(trace: Trace, args: Sequence[Value], kwargs: Any) -> Value:
    exc = _handled(trace, "sys.exc_info")
    if exc is None:
        return Tuple([Constant(None)] * 3)
    return Tuple([type_of(trace, exc), exc, abstract.traceback_of(trace, exc)])


def _handled(trace: Trace, name: str) -> Value | None:
    """The exception being handled, None if there is none; Break if only Python knows."""
    exc = handled_now(trace)
    if exc is None or isinstance(exc, Constant):
        return None
    if isinstance(exc, Opaque):
        raise Break(calls.C_FUNCTION, function=name)
    return exc


if hasattr(sys, "exception"):

    @handles(sys.exception)
    def _exception(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        exc = _handled(trace, "sys.exception")
        return Constant(None) if exc is None else exc


@handles(vars)
def _vars(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if not args:
        return abstract.call(trace, abstract.wrap(trace, locals, None), [], {})
    if not has_attr(trace, args[0], "__dict__"):
        return abstract.raise_(trace, TypeError, "vars() argument must have __dict__ attribute")
    return tail_getattr(trace, args[0], "__dict__")


@handles(types.GetSetDescriptorType.__get__, types.MemberDescriptorType.__get__, property.__get__)
def _field_get(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    field, obj = args[0], args[1]
    if obj.is_constant() and obj.constant() is None:
        return field
    if isinstance(field, Builtin):
        name = field.value.__name__
        if isinstance(obj, Class) and find_in_mro(type(obj.value), name) is not field.value:
            # the class of the class says something else by that name
            raise Break(calls.C_FUNCTION, function=f"type.__dict__[{name!r}].__get__")
        if abstract.is_tensor(trace, obj) or isinstance(obj, Class):
            return tail_getattr(trace, obj, name)
        return abstract.bind(trace, field.value, obj, obj.python_type(), field.value.__name__)
    raw = field.real()
    return abstract.bind(trace, raw, obj, obj.python_type(), getattr(raw.fget, "__name__", "?"))


@handles(os.fspath)
def _fspath(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if isinstance(args[0], Object):
        return abstract.call_type_method(trace, args[0], "__fspath__", [], {})
    return abstract.fold(trace, os.fspath, args, kwargs)


def _filters_changed() -> None:
    """Tell the interpreter that the filters of warnings changed; from 3.14 on under its lock."""
    module: Any = _warnings
    if hasattr(module, "_filters_mutated"):
        module._filters_mutated()
        return
    module._acquire_lock()
    try:
        module._filters_mutated_lock_held()
    finally:
        module._release_lock()


def _told_of_filters(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    calls_ = trace.effects.calls
    if not calls_ or calls_[-1][0] is not _filters_changed:
        trace.effects.call(_filters_changed, [], {})
    return Constant(None)


def _lock_of_filters(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The filters are really changed when the region ends, and the lock is taken there."""
    return Constant(None)


for _name, _handler in (
    ("_filters_mutated", _told_of_filters),
    ("_filters_mutated_lock_held", _told_of_filters),
    ("_acquire_lock", _lock_of_filters),
    ("_release_lock", _lock_of_filters),
):
    if hasattr(_warnings, _name):
        handles(getattr(_warnings, _name))(_handler)


@handles(warnings.catch_warnings)
def _catch_warnings(trace: Trace, args: Any, kwargs: Any) -> Value:
    """The filters are a list in a module, changed and put back as the program says. What is
    recorded must be there while the operations run, so Python does that, unless nobody can read
    the record."""
    recorded = kwargs.get("record")
    if recorded is not None and abstract.truth(trace, recorded) and not _is_entered_unnamed(trace):
        raise Break(calls.C_FUNCTION, function="warnings.catch_warnings")
    return instance_of(trace, warnings.catch_warnings, args, kwargs)


def _is_entered_unnamed(trace: Trace) -> bool:
    """Whether what is called now is entered at once, by a `with` that gives it no name."""
    frame = trace.frames[-1]
    behind = frame.code.instructions[frame.ip + 1 : frame.ip + 3]
    return [inst.op for inst in behind] == ["BEFORE_WITH", "POP_TOP"]


@handles(types.FunctionType.__get__)
def _function_get(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    fn, owner = args[0], args[1]
    if owner.is_constant() and owner.constant() is None:
        return fn
    return Method(fn, owner)


@handles(traceback.clear_frames)
def _clear_frames(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """What an exception passed while tracing are no frames that hold anything."""
    if not (args[0].is_constant() or isinstance(args[0], NoTraceback)):
        raise Break(calls.C_FUNCTION, function="traceback.clear_frames")
    return Constant(None)


@handles(sys.getrecursionlimit)
def _recursion_limit(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return fold_with_guard(
        trace, abstract.pinned(trace, sys.getrecursionlimit), sys.getrecursionlimit, [], {}
    )


@handles(sys.intern)
def _intern(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return abstract.fold(trace, sys.intern, args, kwargs)


@handles(collections.namedtuple)
def _namedtuple(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A class of the given names: one for all calls of the function."""
    named = {"module": Constant(trace.frames[-1].fn.globals.get("__name__", "__main__")), **kwargs}
    return abstract.fold(trace, collections.namedtuple, args, named)


@handles(_thread.get_ident)
def _get_ident(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Volatile(_thread.get_ident, [])


@handles("builtin_type")
def _builtin_type(trace: Trace, target: Any, args: Any, kwargs: Any) -> Value:
    return instance_of(trace, target, args, kwargs)


# ---- iter(callable, sentinel)


def call_iterator(trace: Trace, fn: Value, sentinel: Value) -> Value:
    return CallIterator(fn, sentinel)


# ---- functools


def fold_with_guard(
    trace: Trace, source: Source | None, real: Any, values: list[Any], named: dict[str, Any]
) -> Value:
    """The result of calling `real` now; a guard requires that it gives the same next time."""
    held: list[Any] = []

    def call() -> Any:
        held.append(real(*values, **named))
        return None

    abstract.folded(trace, call)
    result = held[0]
    trace.guards.add(source, "truth", SameAnswer(values, named, result))
    if is_literal(result):
        return Constant(result)
    return abstract.wrap(trace, result, abstract.pinned(trace, result))


@functools.singledispatch
def _generic(value: object) -> None: ...


@handles(_generic.dispatch.__code__)
def _dispatch(trace: Trace, fn: Any, args: Any, kwargs: dict[str, Value]) -> Value:
    """Which implementation a generic function has for a class."""
    if fn.source is None or not isinstance(args[0], Class) or abstract.has_visible_effects(trace):
        raise Break(calls.C_FUNCTION, function="singledispatch")
    return fold_with_guard(trace, fn.source, fn.fn, [args[0].value], {})


# ---- class methods of builtin types


_FOLDED_OWNERS = (int, bool, float, str, bytes, complex)
_FOLDED = (str.maketrans, bytes.maketrans)


def class_method(
    trace: Trace, real: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    """A C class method, called with its class first; None if it has no model."""
    owner = args[0] if args else None
    if not isinstance(owner, Class):
        return None
    name = real.__name__
    if name == "fromkeys" and "value" in kwargs and owner.value is collections.OrderedDict:
        args, kwargs = [*args, kwargs["value"]], {}
    if name == "fromkeys" and issubclass(owner.value, dict) and len(args) in (2, 3) and not kwargs:
        if owner.value in (dict, collections.OrderedDict):
            empty = Dict() if owner.value is dict else OrderedDict()
            return run_method(trace, empty, "fromkeys", *args[1:])
        made = abstract.call(trace, owner, [], {})
        for key in abstract.unpack(trace, args[1]):
            abstract.set_item(trace, made, key, args[2] if len(args) == 3 else Constant(None))
        return made
    if owner.value in _FOLDED_OWNERS:
        return abstract.fold(trace, getattr(owner.value, name), args[1:], kwargs)
    return None


def static_method(
    trace: Trace, real: object, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    """A C static method of an immutable type, such as str.maketrans; None if it is not that."""
    if type(real) is not types.BuiltinFunctionType:
        return None
    owner = real.__self__
    if real.__name__ == "__new__" and isinstance(owner, type) and issubclass(owner, BaseException):
        made = Raise(args[0].real(), list(args[1:]))
        made.bare = True
        return made
    if real.__self__ in _FOLDED_OWNERS or real in _FOLDED:
        return abstract.fold(trace, real, args, kwargs)
    return None
