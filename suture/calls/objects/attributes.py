"""Attribute access, as CPython does it: type, instance, descriptors, __getattr__."""

from __future__ import annotations

import collections
import functools
import threading
import types
from typing import Any

import torch

from suture._core import type_name
from suture.breaks import Break, objects
from suture.bytecode import CLASSMETHOD_ASKS
from suture.calls.objects import cached
from suture.calls.objects.descriptors import is_property
from suture.calls.outside.instances import (
    MISSING,
    answers_in_c,
    find_in_mro,
    has_dict,
    is_builtin_method,
    is_data_descriptor,
    is_slot,
    no_new_attribute,
    put_attribute,
    qualname_of,
    really_has,
)
from suture.calls.part import Part
from suture.variables import (
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
)

_TUPLE_FIELD = type(collections.namedtuple("_Pair", "a")("").__class__.a)  # type: ignore[attr-defined]
C_CALLABLES = (
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.BuiltinFunctionType,
    types.ClassMethodDescriptorType,
)

_FIELDS = (types.MemberDescriptorType, types.GetSetDescriptorType)


def _unknown(obj: Any, name: str) -> Break:
    return Break(objects.UNKNOWN_ATTRIBUTE, object=obj.describe(), attribute=name)


class Attributes(Part):
    """The part of the tracer that reads, writes and deletes attributes."""

    guards: Any
    effects: Any

    # ---- entrances

    def getattr(self, obj: Any, name: str) -> Any:
        """The attribute, with whatever code that takes run to its end."""
        return self.finish(obj.getattr(self, name))

    def tail_getattr(self, obj: Any, name: str) -> Any:
        """The attribute as the last act of an instruction: may be a frame to run first."""
        return obj.getattr(self, name)

    def setattr(self, obj: Any, name: str, value: Any) -> None:
        obj.setattr(self, name, value)

    def delattr(self, obj: Any, name: str) -> None:
        obj.delattr(self, name)

    def hasattr(self, obj: Any, name: str) -> bool:
        try:
            self.getattr(obj, name)
        except Raised as raised:
            if issubclass(raised.exception.python_type(), AttributeError):
                return False
            raise
        return True

    # ---- classes

    def type_lookup(self, cls: type, name: str) -> Any:
        """What the class says about `name`, unbound and guarded; MISSING if nothing."""
        known = self._type_lookups.get((id(cls), name))
        if known is not None:
            return known[0]
        try:
            raw = find_in_mro(cls, name)
        except Exception:  # of a key in the class that is no string, and compares
            raise Break(
                objects.UNKNOWN_ATTRIBUTE, object=qualname_of(cls), attribute=name
            ) from None
        source = self.pinned(cls)
        if cls.__flags__ & (1 << 8) == 0:  # not immutable: a heap type, whose contents can change
            if raw is MISSING:
                self.guards.add(source, "no_mro_attr", name)
            else:
                self.guards.add(source.child("mro_attr", name), "is", raw)
        self._type_lookups[(id(cls), name)] = (raw,)
        return raw

    def class_attribute(self, cls: Class, name: str) -> Any:
        """`cls.name` for a class that exists."""
        value, meta = cls.value, type(cls.value)
        if name == "__class__":
            return self.wrap(meta, None)
        if name in ("__mro__", "__bases__"):
            if value.__mro__ is None:  # it is being made
                raise _unknown(cls, name)
            if value.__flags__ & (1 << 8) == 0:  # not immutable
                self.guards.add(self.pinned(value).attr(name), "is", getattr(value, name))
            return Tuple([self.wrap(c, None) for c in getattr(value, name)])
        own = self.type_lookup(meta, "__getattribute__") if meta is not type else None
        if isinstance(own, types.FunctionType):
            return self.tail_call(self.wrap(own, None), [cls, Constant(name)], {})
        in_meta = self.type_lookup(meta, name) if meta is not type else find_in_mro(type, name)
        if type(in_meta) in _FIELDS and in_meta is type.__dict__.get(name):
            try:
                return self.wrap(getattr(value, name), self.pinned(value).attr(name))
            except AttributeError as error:
                return self.raise_(AttributeError, *error.args)
        if in_meta is not MISSING and is_data_descriptor(in_meta):
            return self.bind(in_meta, cls, meta, name)
        raw = self.type_lookup(value, name)
        if raw is not MISSING:
            return self.bind(raw, None, value, name, cls)
        if in_meta is not MISSING:
            return self.bind(in_meta, cls, meta, name)
        getter = self.type_lookup(meta, "__getattr__") if meta is not type else MISSING
        if getter is not MISSING:
            return self.call_type_method(cls, "__getattr__", [Constant(name)], {})
        return self.raise_(
            AttributeError, f"type object '{value.__name__}' has no attribute '{name}'"
        )

    def class_source(self, cls: type, name: str, raw: Any = MISSING) -> Any:
        """Where a class attribute is read; `raw` may stand above the first of its name."""
        if raw is not MISSING:
            cls = next((b for b in cls.__mro__ if b.__dict__.get(name, MISSING) is raw), cls)
        return self.pinned(cls).child("mro_attr", name)

    def bind(self, raw: Any, obj: Any, cls: type, name: str, owner_class: Any = None) -> Any:
        """`raw`, found in a class, as seen through an instance (or through the class itself)."""
        kind = type(raw)
        if kind is types.FunctionType:
            fn = Function(raw, self.pinned(raw))
            return fn if obj is None else Method(fn, obj)
        if kind is staticmethod:
            return self.wrap(raw.__func__, None)
        if kind is classmethod:
            of = owner_class if owner_class is not None else self.wrap(cls, None)
            if type(raw.__func__) is property and CLASSMETHOD_ASKS:
                return self.bind(raw.__func__, of, type(cls), name)
            return Method(self.wrap(raw.__func__, None), of)
        if is_property(raw):
            if obj is None:
                return self.wrap(raw, None)
            if raw.fget is None:
                return self._no_accessor(lambda of: raw.__get__(of, cls), obj, cls, name)
            return self.tail_call(self.wrap(raw.fget, None), [obj], {})
        if kind is types.BuiltinFunctionType and isinstance(raw.__self__, type):
            return self.wrap(raw, None)  # a type's own `__new__`, seen through super() too
        if kind is types.MethodType or kind is types.BuiltinFunctionType:
            return self.wrap(raw, self.class_source(cls, name, raw))
        if isinstance(raw, C_CALLABLES):
            return self._bind_c(raw, obj, cls, name)
        if kind is functools.cached_property and isinstance(obj, Object) and has_dict(cls):
            return self._cached_property(raw, obj)
        if kind is _TUPLE_FIELD and isinstance(getattr(obj, "storage", None), Tuple):
            return obj.storage.at(self, raw.__reduce__()[1][0])
        if kind in _FIELDS:
            return self._bind_field(raw, obj, cls, name)
        getter = find_in_mro(kind, "__get__")
        if getter is not MISSING and not isinstance(getter, types.WrapperDescriptorType):
            args = [self.wrap(raw, None), obj or Constant(None), self.wrap(cls, None)]
            return self.tail_call(self.wrap(getter, None), args, {})
        if getter is not MISSING and not isinstance(raw, type):
            if obj is None:
                return self.wrap(raw, None)
            return self._bind_unknown(raw, obj, cls, name)
        return self.wrap(raw, self.class_source(cls, name, raw))

    def _cached_property(self, raw: Any, obj: Object) -> Any:
        value = self.call(self.wrap(raw.func, None), [obj], {})
        obj.touch(self)
        put_attribute(obj.attrs, raw.attrname, value)
        return value

    def _bind_c(self, raw: Any, obj: Any, cls: type, name: str) -> Any:
        if isinstance(raw, types.ClassMethodDescriptorType):
            return Method(Builtin(raw, self.pinned(raw)), self.wrap(cls, None))
        fn = self.wrap(raw, None)
        if obj is None or isinstance(raw, types.BuiltinFunctionType):
            return fn
        return Method(fn, obj)

    def _bind_field(self, raw: Any, obj: Any, cls: type, name: str) -> Any:
        """A slot or a C field of an instance."""
        if obj is None:
            return self.wrap(raw, None)
        if name == "__dict__" and isinstance(obj, Object):
            return self.instance_dict(obj)
        if isinstance(obj, Object):
            set_here = obj.attrs.get(name)
            if set_here is not None and set_here is not DELETED:
                return set_here
            if obj.value is not None and set_here is None:
                try:
                    value = raw.__get__(obj.value, cls)
                except AttributeError:
                    self.guards.add(obj.source, "no_attr", name)
                    value = MISSING
                except Exception:  # of the program's own code, which C has called
                    raise _unknown(obj, name) from None
                if value is not MISSING:
                    return self.wrap(value, obj.source.attr(name))
            if name == "__weakref__":
                return Constant(None)
            return self.raise_(
                AttributeError, f"'{type_name(cls)}' object has no attribute '{name}'"
            )
        if isinstance(obj, Raise):
            if name in obj.attrs:
                return obj.attrs[name]
            if name in ("name", "obj") and issubclass(obj.cls, (AttributeError, NameError)):
                return Constant(None)
        raise _unknown(obj, name)

    def _no_accessor(self, ask: Any, obj: Any, cls: type, name: str) -> Any:
        """What a property without a getter, setter or deleter says of an object."""
        real = getattr(obj, "value", None)
        try:
            real = object.__new__(cls) if real is None else real
        except TypeError:
            raise _unknown(obj, name) from None
        return self.folded(lambda: ask(real))

    def _bind_unknown(self, raw: Any, obj: Any, cls: type, name: str) -> Any:
        if isinstance(raw, functools._lru_cache_wrapper):
            return Method(self.wrap(raw, None), obj)
        raise _unknown(obj, name)

    # ---- instances

    def instance_attribute(self, obj: Any, name: str) -> Any:
        """`obj.name` for an instance of a class with Python attributes."""
        cls = obj.python_type()
        if name == "__class__":
            custom = find_in_mro(cls, "__class__")
            if isinstance(custom, types.GetSetDescriptorType):
                return self.wrap(cls, None)
        if issubclass(cls, threading.local) and obj.value is not None:
            return self.object_attribute(obj, obj.value, name)  # of the thread that calls
        custom = self.type_lookup(cls, "__getattribute__")
        if isinstance(custom, types.FunctionType):
            return self._custom_getattribute(obj, custom, name)
        if not is_builtin_method(custom, "__getattribute__"):
            raise Break(objects.CUSTOM_GETATTRIBUTE, type=cls.__name__, attribute=name)
        return self.plain_attribute(obj, name)

    def _custom_getattribute(self, obj: Any, custom: Any, name: str) -> Any:
        try:
            return self.call(self.wrap(custom, None), [obj, Constant(name)], {})
        except Break as reason:
            kind = obj.python_type().__name__
            raise Break(objects.CUSTOM_GETATTRIBUTE, type=kind, attribute=name) from reason
        except Raised as raised:
            if issubclass(raised.exception.python_type(), AttributeError):
                return self._fallback(obj, name)
            raise

    def plain_attribute(self, obj: Any, name: str) -> Any:
        """What object.__getattribute__ does, then __getattr__."""
        cls = obj.python_type()
        raw = self.type_lookup(cls, name)
        if raw is not MISSING and is_data_descriptor(raw) and hasattr(type(raw), "__get__"):
            if is_property(raw):
                return self._property(raw, obj, cls, name)
            return self.bind(raw, obj, cls, name)
        if type(raw) is functools.cached_property:
            cached.fill(self, raw, obj)
        found = self.instance_value(obj, name)
        if found is not MISSING:
            return found
        if raw is not MISSING:
            return self.bind(raw, obj, cls, name)
        if answers_in_c(obj, name):
            raise Break(objects.CUSTOM_GETATTRIBUTE, type=cls.__name__, attribute=name)
        return self._fallback(obj, name)

    def _property(self, raw: Any, obj: Any, cls: type, name: str) -> Any:
        if self.type_lookup(cls, "__getattr__") is MISSING:
            return self.bind(raw, obj, cls, name)
        try:
            return self.finish(self.bind(raw, obj, cls, name))
        except Raised as raised:
            if issubclass(raised.exception.python_type(), AttributeError):
                return self._fallback(obj, name)
            raise

    def _fallback(self, obj: Any, name: str) -> Any:
        cls = obj.python_type()
        getter = self.type_lookup(cls, "__getattr__")
        if getter is torch.nn.Module.__getattr__:
            return self.nn_attribute(obj, name)
        if getter is not MISSING:
            return self.call_type_method(obj, "__getattr__", [Constant(name)], {})
        return self.no_attribute(obj, name)

    def no_attribute(self, obj: Any, name: str) -> Any:
        """The AttributeError of an object that has no such attribute."""
        kind = type_name(obj.python_type())
        made = Raise(AttributeError, [Constant(f"'{kind}' object has no attribute '{name}'")])
        made.attrs.update(name=Constant(name), obj=obj)
        raise Raised(self.with_context(made))

    def instance_value(self, obj: Any, name: str) -> Any:
        """What the instance itself holds under `name`; MISSING if nothing."""
        held = obj.attrs.get(name)
        if held is not None:
            if held is DELETED:
                return MISSING
            return self.realize(held)
        value = getattr(obj, "value", None)
        if value is None:
            return MISSING
        try:
            table = object.__getattribute__(value, "__dict__")
        except AttributeError:
            return MISSING
        known = self._known.get(id(table))
        if known is not None and known[1].changed:  # the program holds the dict itself too
            found = known[1].get(self, Constant(name))
            return MISSING if found is None else found
        source = obj.source.instance_dict()
        if name in table:
            return self.wrap(table[name], source.item(name))
        self.guards.add(source, "no_key", name)
        return MISSING

    def instance_set_attribute(self, obj: Any, name: str, value: Any) -> None:
        cls = obj.python_type()
        setter = self.type_lookup(cls, "__setattr__")
        if setter is torch.nn.Module.__setattr__ and not self.nn_special(obj, name, value):
            setter = object.__setattr__
        if not is_builtin_method(setter, "__setattr__"):
            self.finish(self.call_type_method(obj, "__setattr__", [Constant(name), value], {}))
            return
        if issubclass(cls, threading.local):  # holds something else in each thread
            raise Break(objects.MUTATION_OF_UNKNOWN, operation=f"set {name}", object=obj.describe())
        self.plain_set_attribute(obj, name, value)

    def plain_set_attribute(self, obj: Any, name: str, value: Any) -> None:
        """What object.__setattr__ does."""
        cls = obj.python_type()
        raw = self.type_lookup(cls, name)
        if raw is not MISSING:
            if is_property(raw):
                if raw.fset is None:
                    self._no_accessor(lambda of: raw.__set__(of, None), obj, cls, name)
                self.call(self.wrap(raw.fset, None), [obj, value], {})
                return
            setter = find_in_mro(type(raw), "__set__")
            if isinstance(setter, types.FunctionType):
                self.call(self.wrap(setter, None), [self.wrap(raw, None), obj, value], {})
                return
            settable = is_slot(raw) or (isinstance(obj, Raise) and name != "__dict__")
            if is_data_descriptor(raw) and not settable:
                raise Break(
                    objects.MUTATION_OF_UNKNOWN, operation=f"set {name}", object=obj.describe()
                )
        if isinstance(obj, (Raise, Object)):
            closed = isinstance(obj, Object) and not is_slot(raw) and not has_dict(cls)
            if closed and find_in_mro(cls, "__setattr__") is object.__setattr__:
                text = (
                    no_new_attribute
                    if raw is MISSING
                    else "'{}' object attribute '{}' is read-only"
                )
                self.raise_(AttributeError, text.format(type_name(cls), name))
            if not closed and not self.dict_is_held(obj):
                obj.touch(self)
                put_attribute(obj.attrs, name, value)
                return
        raise Break(objects.MUTATION_OF_UNKNOWN, operation=f"set {name}", object=obj.describe())

    def instance_delete_attribute(self, obj: Any, name: str) -> None:
        cls = obj.python_type()
        deleter = self.type_lookup(cls, "__delattr__")
        if not is_builtin_method(deleter, "__delattr__"):
            self.finish(self.call_type_method(obj, "__delattr__", [Constant(name)], {}))
            return
        self.plain_delete_attribute(obj, name)

    def plain_delete_attribute(self, obj: Any, name: str) -> None:
        cls = obj.python_type()
        raw = self.type_lookup(cls, name)
        if is_property(raw):
            if raw.fdel is None:
                self._no_accessor(raw.__delete__, obj, cls, name)
            self.call(self.wrap(raw.fdel, None), [obj], {})
            return
        deleter = find_in_mro(type(raw), "__delete__") if raw is not MISSING else MISSING
        if isinstance(deleter, types.FunctionType):
            self.call(self.wrap(deleter, None), [self.wrap(raw, None), obj], {})
            return
        slot = is_slot(raw)
        foreign = raw is not MISSING and is_data_descriptor(raw) and not slot
        foreign = foreign or not isinstance(obj, (Raise, Object))
        if foreign or self.dict_is_held(obj):
            raise Break(
                objects.MUTATION_OF_UNKNOWN, operation=f"delete {name}", object=obj.describe()
            )
        present = self._bind_field(raw, obj, cls, name) if slot else self.instance_value(obj, name)
        if present is MISSING:
            self.raise_(AttributeError, f"'{type_name(cls)}' object has no attribute '{name}'")
        obj.touch(self)
        on_real = obj.value is not None and really_has(obj.value, name, slot)
        if on_real:
            obj.attrs.pop(name, None)
            obj.attrs[name] = DELETED
        else:
            obj.attrs.pop(name, None)

    # ---- super, modules, other real objects

    def object_attribute(self, variable: Any, value: Any, name: str) -> Any:
        """An attribute of a real object that is known by identity (function, C object)."""
        try:
            found = getattr(value, name)
        except AttributeError as error:
            if variable.source is not None:
                self.guards.add(variable.source, "no_attr", name)
            return self.raise_(AttributeError, *error.args)
        except Exception:  # it is computed by code that fails
            who = variable.describe()
            raise Break(objects.UNKNOWN_ATTRIBUTE, object=who, attribute=name) from None
        if isinstance(value, types.GetSetDescriptorType) and name in ("__get__", "__set__"):
            return self.wrap(found, None)
        if isinstance(found, types.MethodWrapperType) or (
            isinstance(found, types.BuiltinFunctionType)
            and getattr(found, "__self__", None) is value
        ):
            raw = find_in_mro(type(value), name)
            if raw is not MISSING:
                return Method(Builtin(raw, self.pinned(raw)), variable)
            return Builtin(found, self.pinned(found))
        source = variable.source.attr(name) if variable.source is not None else None
        if source is None:
            source = self.pinned(value).attr(name)
        if name == "__dict__" and isinstance(variable, Function):
            source = variable.source.instance_dict()
        return self.wrap(found, source)

    def object_set_attribute(self, variable: Any, value: Any, name: str, new: Any) -> None:
        raise Break(
            objects.MUTATION_OF_UNKNOWN, operation=f"set {name}", object=variable.describe()
        )

    def container_attribute(self, obj: Any, name: str) -> Any:
        """An attribute of an iterator, a view, a generator."""
        kind = obj.python_type()
        if name == "__class__":
            return self.wrap(kind, None)
        if hasattr(type(obj), "m_" + name) or hasattr(kind, name):
            if isinstance(getattr(kind, name, None), _FIELDS):
                raise Break(objects.UNKNOWN_ATTRIBUTE, object=obj.describe(), attribute=name)
            return BuiltinMethod(obj, name)
        return self.raise_(AttributeError, f"'{type_name(kind)}' object has no attribute '{name}'")

    def method(self, fn: Any, owner: Any) -> Any:
        return Method(fn, owner)


__all__ = ["MISSING", "Attributes", "find_in_mro", "is_data_descriptor", "put_attribute"]
