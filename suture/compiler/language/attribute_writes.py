"""Setting and deleting attributes of instances."""

from __future__ import annotations

import threading
import types
from typing import Any

from suture._core import type_name
from suture.breaks import Break, objects
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Mutable, Trace, Value
from suture.compiler.language.attributes import bind_field, no_accessor
from suture.compiler.language.class_lookup import type_lookup
from suture.compiler.language.instance_dict import dict_is_held
from suture.compiler.language.instance_fields import instance_holds
from suture.compiler.language.module_attributes import nn_special
from suture.compiler.objects import (
    DELETED,
    Constant,
    Object,
    Raise,
    instance,
    real_object,
)
from suture.compiler.objects.descriptor import is_property
from suture.compiler.objects.lookup import (
    MISSING,
    find_in_mro,
    has_dict,
    is_builtin_method,
    is_data_descriptor,
    is_slot,
    no_new_attribute,
    put_attribute,
    really_has,
)
from suture.torch_private.replaced import is_modules_own


def set_attr(trace: Trace, obj: Any, name: str, value: Any) -> None:
    obj.setattr(trace, name, value)


def del_attr(trace: Trace, obj: Value, name: str) -> None:
    obj.delattr(trace, name)


@implements(instance.instance_set_attribute)
def instance_set_attribute(trace: Trace, obj: Mutable, name: str, value: Value) -> None:
    cls = obj.python_type()
    setter = type_lookup(trace, cls, "__setattr__")
    if is_modules_own(setter, "__setattr__") and not nn_special(trace, obj, name, value):
        setter = object.__setattr__
    if not is_builtin_method(setter, "__setattr__"):
        abstract.finish(
            trace, abstract.call_type_method(trace, obj, "__setattr__", [Constant(name), value], {})
        )
        return
    if issubclass(cls, threading.local) and getattr(obj, "value", None) is None:
        raise Break(objects.MUTATION_OF_UNKNOWN, operation=f"set {name}", object=obj.describe())
    plain_set_attribute(trace, obj, name, value)


def plain_set_attribute(trace: Trace, obj: Any, name: str, value: Any) -> None:
    """What object.__setattr__ does."""
    cls = obj.python_type()
    raw = type_lookup(trace, cls, name)
    if raw is not MISSING:
        if is_property(raw):
            if raw.fset is None:
                no_accessor(trace, lambda of: raw.__set__(of, None), obj, cls, name)
            abstract.call(trace, abstract.wrap(trace, raw.fset, None), [obj, value], {})
            return
        setter = find_in_mro(type(raw), "__set__")
        if isinstance(setter, types.FunctionType):
            abstract.call(
                trace,
                abstract.wrap(trace, setter, None),
                [abstract.wrap(trace, raw, None), obj, value],
                {},
            )
            return
        settable = is_slot(raw) or (isinstance(obj, Raise) and name != "__dict__")
        if is_data_descriptor(raw) and not settable:
            raise Break(objects.MUTATION_OF_UNKNOWN, operation=f"set {name}", object=obj.describe())
    if isinstance(obj, (Raise, Object)):
        closed = isinstance(obj, Object) and not is_slot(raw) and not _takes_attributes(cls)
        if closed and find_in_mro(cls, "__setattr__") is object.__setattr__:
            text = no_new_attribute if raw is MISSING else "'{}' object attribute '{}' is read-only"
            abstract.raise_(trace, AttributeError, text.format(type_name(cls), name))
        if not closed and not dict_is_held(trace, obj):
            obj.touch(trace)
            put_attribute(obj.attrs, name, value)
            return
    raise Break(objects.MUTATION_OF_UNKNOWN, operation=f"set {name}", object=obj.describe())


def _takes_attributes(cls: type) -> bool:
    """Whether instances hold attributes of any name; a threading.local has a dict per thread."""
    return has_dict(cls) or issubclass(cls, threading.local)


@implements(instance.instance_delete_attribute)
def instance_delete_attribute(trace: Trace, obj: Mutable, name: str) -> None:
    cls = obj.python_type()
    deleter = type_lookup(trace, cls, "__delattr__")
    if not is_builtin_method(deleter, "__delattr__"):
        abstract.finish(
            trace, abstract.call_type_method(trace, obj, "__delattr__", [Constant(name)], {})
        )
        return
    plain_delete_attribute(trace, obj, name)


def plain_delete_attribute(trace: Trace, obj: Any, name: str) -> None:
    cls = obj.python_type()
    raw = type_lookup(trace, cls, name)
    if is_property(raw):
        if raw.fdel is None:
            no_accessor(trace, raw.__delete__, obj, cls, name)
        abstract.call(trace, abstract.wrap(trace, raw.fdel, None), [obj], {})
        return
    deleter = find_in_mro(type(raw), "__delete__") if raw is not MISSING else MISSING
    if isinstance(deleter, types.FunctionType):
        abstract.call(
            trace, abstract.wrap(trace, deleter, None), [abstract.wrap(trace, raw, None), obj], {}
        )
        return
    slot = is_slot(raw)
    foreign = raw is not MISSING and is_data_descriptor(raw) and not slot
    foreign = foreign or not isinstance(obj, (Raise, Object))
    if issubclass(cls, threading.local) and not foreign and raw is MISSING:
        _delete_in_thread(trace, obj, name)
        return
    foreign = foreign or issubclass(cls, threading.local)
    if foreign or dict_is_held(trace, obj):
        raise Break(objects.MUTATION_OF_UNKNOWN, operation=f"delete {name}", object=obj.describe())
    if slot and _is_there(trace, obj, name):
        present = True
    elif slot:
        present = bind_field(trace, raw, obj, cls, name) is not None  # or it raises
    else:
        present = instance_holds(trace, obj, name)
    if not present:
        abstract.raise_(
            trace, AttributeError, f"'{type_name(cls)}' object has no attribute '{name}'"
        )
    on_real = obj.value is not None and really_has(obj.value, name, slot)
    if isinstance(obj, Object) and obj.source is not None and name in obj.attrs:
        _guard_presence(trace, obj, name, slot, on_real)
    obj.touch(trace)
    if on_real:
        obj.attrs.pop(name, None)
        obj.attrs[name] = DELETED
    else:
        obj.attrs.pop(name, None)


def _is_there(trace: Trace, obj: Any, name: str) -> bool:
    """Whether a slot of an object from outside is set, which a guard requires then."""
    if not isinstance(obj, Object) or obj.source is None or name in obj.attrs:
        return False
    if not really_has(obj.value, name, True):
        return False
    trace.guards.add(obj.source.attr(name), "exists")
    return True


def _guard_presence(trace: Trace, obj: Object, name: str, slot: bool, present: bool) -> None:
    """Whether the real object has an attribute that the region has set and deletes now decides what
    is to be done to it."""
    if slot:
        trace.guards.add(
            *((obj.known_source.attr(name), "exists") if present else (obj.source, "no_attr", name))
        )
        return
    held = obj.known_source.instance_dict()
    trace.guards.add(*((held.item(name), "exists") if present else (held, "no_key", name)))


def _delete_in_thread(trace: Trace, obj: Any, name: str) -> None:
    """Delete an attribute of a threading.local, in the thread that calls."""
    if obj.value is None or dict_is_held(trace, obj):
        raise Break(objects.MUTATION_OF_UNKNOWN, operation=f"delete {name}", object=obj.describe())
    instance.instance_attribute(trace, obj, name)  # raises if there is none, else guards it
    present = name in obj.value.__dict__
    trace.guards.add(
        *((obj.source.attr(name), "exists") if present else (obj.source, "no_attr", name))
    )
    obj.touch(trace)
    obj.attrs.pop(name, None)
    if present:
        obj.attrs[name] = DELETED


@implements(real_object.object_set_attribute)
def object_set_attribute(
    trace: Trace, variable: Value, value: object, name: str, new: Value
) -> None:
    raise Break(objects.MUTATION_OF_UNKNOWN, operation=f"set {name}", object=variable.describe())
