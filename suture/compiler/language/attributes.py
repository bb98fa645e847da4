"""Attribute access, as CPython does it: type, instance, descriptors, __getattr__."""

from __future__ import annotations

import collections
import functools
import threading
import types
from typing import Any

from suture._core import type_name
from suture.breaks import Break, objects
from suture.bytecode import CLASSMETHOD_ASKS
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Mutable, Trace, Value
from suture.compiler.language import bindings
from suture.compiler.language import cached_property as cached
from suture.compiler.language.attribute_ways import note_way, way_of
from suture.compiler.language.class_lookup import (
    class_number,
    class_source,
    type_lookup,
    value_lookup,
)
from suture.compiler.language.instance_fields import instance_value, unknown_attribute
from suture.compiler.objects import (
    DELETED,
    Builtin,
    BuiltinMethod,
    Class,
    Constant,
    Function,
    Method,
    Object,
    Raise,
    Raised,
    Tuple,
    class_,
    instance,
    real_object,
)
from suture.compiler.objects.descriptor import is_property
from suture.compiler.objects.lookup import (
    MISSING,
    answers_in_c,
    find_in_mro,
    has_dict,
    is_builtin_method,
    is_data_descriptor,
    put_attribute,
)
from suture.compiler.objects.methods import find_method
from suture.runtime.predicates import is_literal
from suture.torch_private.replaced import is_modules_own

_TUPLE_FIELD = type(collections.namedtuple("_Pair", "a")("").__class__.a)  # type: ignore[attr-defined]
C_CALLABLES = (
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.BuiltinFunctionType,
    types.ClassMethodDescriptorType,
)

_FIELDS = (types.MemberDescriptorType, types.GetSetDescriptorType)


# ---- entrances


@implements(abstract.getattr)
def get_attr(trace: Trace, obj: Any, name: str) -> Value:
    return abstract.finish(trace, obj.getattr(trace, name))


def tail_getattr(trace: Trace, obj: Value, name: str) -> Value:
    """The attribute as the last act of an instruction: may be a frame to run first."""
    return obj.getattr(trace, name)


def has_attr(trace: Trace, obj: object, name: str) -> bool:
    try:
        get_attr(trace, obj, name)
    except Raised as raised:
        if issubclass(raised.exception.python_type(), AttributeError):
            return False
        raise
    return True


# ---- classes


@implements(class_.class_attribute)
def class_attribute(trace: Trace, cls: Class, name: str) -> Value:
    value, meta = cls.value, type(cls.value)
    if name == "__class__":
        return abstract.wrap(trace, meta, None)
    if name in ("__mro__", "__bases__"):
        if value.__mro__ is None:  # it is being made
            raise unknown_attribute(cls, name)
        if value.__flags__ & (1 << 8) == 0 and id(value) not in trace.guards.anew:
            trace.guards.add(abstract.pinned(trace, value).attr(name), "is", getattr(value, name))
        return Tuple([abstract.wrap(trace, c, None) for c in getattr(value, name)])
    own = type_lookup(trace, meta, "__getattribute__") if meta is not type else None
    if isinstance(own, types.FunctionType):
        return abstract.tail_call(trace, abstract.wrap(trace, own, None), [cls, Constant(name)], {})
    in_meta = type_lookup(trace, meta, name) if meta is not type else find_in_mro(type, name)
    if type(in_meta) in _FIELDS and in_meta is type.__dict__.get(name):
        try:
            return abstract.wrap(
                trace, getattr(value, name), abstract.pinned(trace, value).attr(name)
            )
        except AttributeError as error:
            return abstract.raise_(trace, AttributeError, *error.args)
    if in_meta is not MISSING and is_data_descriptor(in_meta):
        return bind_descriptor(trace, in_meta, cls, meta, name)
    raw = value_lookup(trace, value, name)
    if raw is not MISSING:
        number = class_number(trace, value, name)
        return number or bind_descriptor(trace, raw, None, value, name, cls)
    if in_meta is not MISSING:
        return bind_descriptor(trace, in_meta, cls, meta, name)
    getter = type_lookup(trace, meta, "__getattr__") if meta is not type else MISSING
    if getter is not MISSING:
        return abstract.call_type_method(trace, cls, "__getattr__", [Constant(name)], {})
    return abstract.raise_(
        trace, AttributeError, f"type object '{value.__name__}' has no attribute '{name}'"
    )


@implements(abstract.bind)
def bind_descriptor(
    trace: Trace, raw: Any, obj: Any, cls: type, name: str, owner_class: Value | None = None
) -> Value:
    kind = type(raw)
    for plain in (staticmethod, classmethod):  # a class derived from one binds as that one does
        if issubclass(kind, plain) and find_in_mro(kind, "__get__") is vars(plain)["__get__"]:
            kind = plain
    if kind is types.FunctionType:
        fn = Function(raw, abstract.pinned(trace, raw))
        return fn if obj is None else Method(fn, obj)
    if kind is staticmethod:
        return abstract.wrap(trace, raw.__func__, None)
    if kind is classmethod:
        of = owner_class if owner_class is not None else abstract.wrap(trace, cls, None)
        if type(raw.__func__) is property and CLASSMETHOD_ASKS:
            return bind_descriptor(trace, raw.__func__, of, type(cls), name)
        return Method(abstract.wrap(trace, raw.__func__, None), of)
    if is_property(raw):
        if obj is None:
            return abstract.wrap(trace, raw, None)
        if raw.fget is None:
            return no_accessor(trace, lambda of: raw.__get__(of, cls), obj, cls, name)
        if isinstance(obj, Object) and obj.value is not None and bindings.is_field(raw, cls):
            return _bound_field(trace, raw, obj, name)
        return abstract.tail_call(trace, abstract.wrap(trace, raw.fget, None), [obj], {})
    if kind is types.BuiltinFunctionType and isinstance(raw.__self__, type):
        return abstract.wrap(trace, raw, None)  # a type's own `__new__`, seen through super() too
    if kind is types.MethodType or kind is types.BuiltinFunctionType:
        return abstract.wrap(trace, raw, class_source(trace, cls, name, raw))
    if isinstance(raw, C_CALLABLES):
        return _bind_c(trace, raw, obj, cls, name)
    if kind is functools.cached_property and isinstance(obj, Object) and has_dict(cls):
        return _cached_property(trace, raw, obj)
    if kind is _TUPLE_FIELD and isinstance(getattr(obj, "storage", None), Tuple):
        field: Value = obj.storage.at(trace, raw.__reduce__()[1][0])
        return field
    if kind in _FIELDS:
        return bind_field(trace, raw, obj, cls, name)
    getter = find_in_mro(kind, "__get__")
    if getter is not MISSING and not isinstance(getter, types.WrapperDescriptorType):
        args = [
            abstract.wrap(trace, raw, None),
            obj or Constant(None),
            abstract.wrap(trace, cls, None),
        ]
        return abstract.tail_call(trace, abstract.wrap(trace, getter, None), args, {})
    if getter is not MISSING and not isinstance(raw, type):
        if obj is None:
            return abstract.wrap(trace, raw, None)
        return _bind_unknown(trace, raw, obj, cls, name)
    return abstract.wrap(trace, raw, class_source(trace, cls, name, raw))


def _bound_field(trace: Trace, raw: Any, obj: Object, name: str) -> Value:
    """A field of an object of C++: guarded where it is a number or a text. Others are made anew at
    each read, so Python reads them."""
    value = raw.fget(obj.value)
    if not is_literal(value):
        return abstract.tail_call(trace, abstract.wrap(trace, raw.fget, None), [obj], {})
    return abstract.wrap(trace, value, obj.known_source.attr(name))


def _cached_property(trace: Trace, raw: Any, obj: Object) -> Value:
    value = abstract.call(trace, abstract.wrap(trace, raw.func, None), [obj], {})
    obj.touch(trace)
    put_attribute(obj.attrs, raw.attrname, value)
    return value


def _bind_c(trace: Trace, raw: object, obj: Value | None, cls: type, name: str) -> Value:
    if isinstance(raw, types.ClassMethodDescriptorType):
        return Method(Builtin(raw, abstract.pinned(trace, raw)), abstract.wrap(trace, cls, None))
    fn = abstract.wrap(trace, raw, None)
    if obj is None or isinstance(raw, types.BuiltinFunctionType):
        return fn
    return Method(fn, obj)


_CLASS = object.__dict__["__class__"]


def bind_field(trace: Trace, raw: Any, obj: object, cls: type, name: str) -> Value:
    """A slot or a C field of an instance."""
    if obj is None:
        return abstract.wrap(trace, raw, None)
    if not any(base is raw.__objclass__ for base in cls.__mro__):
        text = f"descriptor {raw.__name__!r} for {type_name(raw.__objclass__)!r} objects"
        kind = type_name(cls)
        return abstract.raise_(trace, TypeError, f"{text} doesn't apply to a {kind!r} object")
    if name == "__dict__" and isinstance(obj, Object):
        return abstract.instance_dict(trace, obj)
    if raw is _CLASS:
        return abstract.wrap(trace, cls, None)
    if isinstance(obj, Object):
        set_here = obj.attrs.get(name)
        if set_here is not None and set_here is not DELETED:
            return abstract.realize(trace, set_here)
        if obj.storage is not None and issubclass(obj.storage.python_type(), raw.__objclass__):
            held: Value = obj.storage.getattr(trace, name)  # of the builtin part: `maxlen`
            return held
        if obj.value is not None and set_here is None:
            try:
                value = raw.__get__(obj.value, cls)
            except AttributeError:
                trace.guards.add(obj.source, "no_attr", name)
                value = MISSING
            except Exception:  # of the program's own code, which C has called
                raise unknown_attribute(obj, name) from None
            if value is not MISSING:
                return abstract.wrap(trace, value, obj.known_source.attr(name))
        if name == "__weakref__":
            return Constant(None)
        return abstract.raise_(
            trace, AttributeError, f"'{type_name(cls)}' object has no attribute '{name}'"
        )
    if isinstance(obj, Raise):
        if name in obj.attrs:
            return obj.attrs[name]
        if name in ("name", "obj") and issubclass(obj.cls, (AttributeError, NameError)):
            return Constant(None)
    raise unknown_attribute(obj, name)


def no_accessor(trace: Trace, ask: Any, obj: object, cls: type, name: str) -> Value:
    """What a property without a getter, setter or deleter says of an object."""
    real = getattr(obj, "value", None)
    try:
        real = object.__new__(cls) if real is None else real
    except TypeError:
        raise unknown_attribute(obj, name) from None
    return abstract.folded(trace, lambda: ask(real))


def _bind_unknown(trace: Trace, raw: object, obj: Value, cls: type, name: str) -> Value:
    if isinstance(raw, functools._lru_cache_wrapper):
        return Method(abstract.wrap(trace, raw, None), obj)
    raise unknown_attribute(obj, name)


# ---- instances


@implements(instance.instance_attribute)
def instance_attribute(trace: Trace, obj: Mutable, name: str) -> Value:
    cls = obj.python_type()
    way = way_of(trace, cls, name)
    if way is not MISSING:
        found = instance_value(trace, obj, name)
        if found is not None:
            return found
        if way is None:
            return abstract.nn_attribute(trace, obj, name)
        return bind_descriptor(trace, way, obj, cls, name)
    if name == "__class__":
        custom = find_in_mro(cls, "__class__")
        asked = type_lookup(trace, cls, "__getattribute__")
        if isinstance(custom, types.GetSetDescriptorType) and is_builtin_method(
            asked, "__getattribute__"
        ):
            return abstract.wrap(trace, cls, None)
    if issubclass(cls, threading.local) and isinstance(obj, Object) and obj.value is not None:
        return _thread_attribute(trace, obj, name)
    custom = type_lookup(trace, cls, "__getattribute__")
    if isinstance(custom, types.FunctionType):
        return _custom_getattribute(trace, obj, custom, name)
    if not is_builtin_method(custom, "__getattribute__"):
        raise Break(objects.CUSTOM_GETATTRIBUTE, type=cls.__name__, attribute=name)
    try:
        return plain_attribute(trace, obj, name)
    finally:
        if custom is object.__getattribute__ and name != "__class__":
            note_way(trace, cls, name)


def _thread_attribute(trace: Trace, obj: Object, name: str) -> Value:
    """An attribute of a threading.local: as the thread that calls has it, unless the region has
    set it, which the variant does in that thread too."""
    held = obj.attrs.get(name)
    if held is DELETED:
        text = f"'{type_name(obj.cls)}' object has no attribute '{name}'"
        return abstract.raise_(trace, AttributeError, text)
    if held is not None:
        return abstract.realize(trace, held)
    if obj.attrs and name == "__dict__":
        raise unknown_attribute(obj, name)
    return object_attribute(trace, obj, obj.value, name)


def _custom_getattribute(trace: Trace, obj: Value, custom: object, name: str) -> Value:
    try:
        return abstract.call(trace, abstract.wrap(trace, custom, None), [obj, Constant(name)], {})
    except Break as reason:
        kind = obj.python_type().__name__
        raise Break(objects.CUSTOM_GETATTRIBUTE, type=kind, attribute=name) from reason
    except Raised as raised:
        if issubclass(raised.exception.python_type(), AttributeError):
            return _fallback(trace, obj, name)
        raise


def plain_attribute(trace: Trace, obj: Any, name: str) -> Value:
    """What object.__getattribute__ does, then __getattr__."""
    cls = obj.python_type()
    raw = value_lookup(trace, cls, name)
    if raw is not MISSING and is_data_descriptor(raw) and hasattr(type(raw), "__get__"):
        if is_property(raw):
            return _property(trace, raw, obj, cls, name)
        return bind_descriptor(trace, raw, obj, cls, name)
    if type(raw) is functools.cached_property:
        cached.fill(trace, raw, obj)
    found = instance_value(trace, obj, name)
    if found is not None:
        return found
    if raw is not MISSING:
        return class_number(trace, cls, name) or bind_descriptor(trace, raw, obj, cls, name)
    if answers_in_c(obj, name):
        raise Break(objects.CUSTOM_GETATTRIBUTE, type=cls.__name__, attribute=name)
    return _fallback(trace, obj, name)


def _property(trace: Trace, raw: object, obj: object, cls: type, name: str) -> Value:
    if type_lookup(trace, cls, "__getattr__") is MISSING:
        return bind_descriptor(trace, raw, obj, cls, name)
    try:
        return abstract.finish(trace, bind_descriptor(trace, raw, obj, cls, name))
    except Raised as raised:
        if issubclass(raised.exception.python_type(), AttributeError):
            return _fallback(trace, obj, name)
        raise


def _fallback(trace: Trace, obj: Any, name: str) -> Value:
    cls = obj.python_type()
    getter = type_lookup(trace, cls, "__getattr__")
    if is_modules_own(getter, "__getattr__"):
        return abstract.nn_attribute(trace, obj, name)
    if getter is not MISSING:
        return abstract.call_type_method(trace, obj, "__getattr__", [Constant(name)], {})
    return no_attribute(trace, obj, name)


def no_attribute(trace: Trace, obj: Any, name: str) -> Value:
    """The AttributeError of an object that has no such attribute."""
    kind = type_name(obj.python_type())
    made = Raise(AttributeError, [Constant(f"'{kind}' object has no attribute '{name}'")])
    made.attrs.update(name=Constant(name), obj=obj)
    raise Raised(abstract.with_context(trace, made))


# ---- super, modules, other real objects


@implements(real_object.object_attribute)
def object_attribute(trace: Trace, variable: Any, value: object, name: str) -> Value:
    try:
        found = getattr(value, name)
    except AttributeError as error:
        if variable.source is not None:
            trace.guards.add(variable.source, "no_attr", name)
        return abstract.raise_(trace, AttributeError, *error.args)
    except Exception:  # it is computed by code that fails
        who = variable.describe()
        raise Break(objects.UNKNOWN_ATTRIBUTE, object=who, attribute=name) from None
    if isinstance(value, types.GetSetDescriptorType) and name in ("__get__", "__set__"):
        return abstract.wrap(trace, found, None)
    if isinstance(found, types.MethodWrapperType) or (
        isinstance(found, types.BuiltinFunctionType) and getattr(found, "__self__", None) is value
    ):
        raw = find_in_mro(type(value), name)
        if raw is not MISSING:
            return Method(Builtin(raw, abstract.pinned(trace, raw)), variable)
        return Builtin(found, abstract.pinned(trace, found))
    source = variable.source.attr(name) if variable.source is not None else None
    if source is None:
        source = abstract.pinned(trace, value).attr(name)
    if name == "__dict__" and isinstance(variable, Function):
        source = variable.known_source.instance_dict()
    return abstract.wrap(trace, found, source)


@implements(abstract.container_attribute)
def container_attribute(trace: Trace, obj: Value, name: str) -> Value:
    kind = obj.python_type()
    if name == "__class__":
        return abstract.wrap(trace, kind, None)
    raw = find_in_mro(kind, name)
    if raw is None or type(raw) is str:
        return Constant(raw)
    if isinstance(raw, _FIELDS) and find_method(type(obj), name) is None:
        raise Break(objects.UNKNOWN_ATTRIBUTE, object=obj.describe(), attribute=name)
    if raw is not MISSING:
        return BuiltinMethod(obj, name)
    return abstract.raise_(
        trace, AttributeError, f"'{type_name(kind)}' object has no attribute '{name}'"
    )


@implements(abstract.method)
def bound_method(trace: Trace, fn: Value, owner: Value) -> Value:
    return Method(fn, owner)


__all__ = ["MISSING", "find_in_mro", "is_data_descriptor", "put_attribute"]
