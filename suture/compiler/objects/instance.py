"""Objects of user classes."""

from __future__ import annotations

import threading
import types
from collections.abc import Hashable
from typing import Any

from suture.breaks import Break, objects
from suture.compiler import abstract
from suture.compiler.abstract import declared
from suture.compiler.core import Mutable, Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects.constant import Constant
from suture.compiler.objects.real_object import RealIdentity
from suture.compiler.objects.tuple_ import Tuple
from suture.runtime.sources import Source

DELETED = object()


class Object(Mutable):
    """An instance of some class.

    `value` is the real object, or None if it is made in the region; `cls` its class; `attrs`
    the instance attributes set (or DELETED) while tracing; `storage` the builtin part if the
    class derives from list, dict, tuple, set, str, int...
    """

    __slots__ = ("attrs", "cls", "storage", "value")

    def __init__(
        self, value: Any, cls: type, source: Source | None = None, storage: Any = None
    ) -> None:
        super().__init__(source)
        self.value = value
        self.cls = cls
        self.attrs: dict[str, Any] = {}
        self.storage = storage

    def as_constant(self, trace: Trace) -> Any:
        if isinstance(self.storage, Constant) and self.value is not None:
            return self.value
        return super().as_constant(trace)

    def python_type(self) -> type:
        return self.cls

    def real(self) -> Any:
        if self.value is None:
            raise LookupError
        return self.value

    def is_constant(self) -> bool:
        return False

    def identity(self) -> Hashable:
        return RealIdentity(self.value) if self.value is not None else super().identity()

    def hash_key(self, trace: Trace) -> Hashable:
        return object_hash_key(trace, self)

    def describe(self) -> str:
        return self.source.path() if self.source is not None else f"a {self.cls.__name__}"

    def truth(self, trace: Trace) -> bool | None:
        return object_truth(trace, self)

    def getattr(self, trace: Trace, name: str) -> Value:
        if issubclass(self.cls, BaseException):
            if name == "__traceback__":
                return abstract.traceback_of(trace, self)
            if name == "__context__" and raises_set_contexts(trace):
                raise Break(objects.UNKNOWN_ATTRIBUTE, object=self.describe(), attribute=name)
        return instance_attribute(trace, self, name)

    def setattr(self, trace: Trace, name: str, value: Value) -> None:
        instance_set_attribute(trace, self, name, value)

    def delattr(self, trace: Trace, name: str) -> None:
        instance_delete_attribute(trace, self, name)

    def call(self, trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return abstract.call_type_method(trace, self, "__call__", args, kwargs)

    def call_method(
        self, trace: Trace, name: str, args: list[Value], kwargs: dict[str, Value]
    ) -> Value:
        return abstract.tail_call(trace, abstract.getattr(trace, self, name), args, kwargs)

    def as_proxy(self) -> Any:
        if self.storage is not None:
            return self.storage.as_proxy()
        if self.value is not None and not self.attrs and type(self.value).__module__ == "torch._C":
            return self.value
        return super().as_proxy()

    # ---- making it real

    def rebuild(self, emit: Emitter) -> str:
        cls = emit.constant(self.cls, self.cls.__name__)
        storage = self.storage
        if isinstance(storage, Tuple):
            made = f"tuple.__new__({cls}, {storage.rebuild(emit)})"
        elif isinstance(storage, Constant):
            base = next(b for b in self.cls.__mro__ if b in (str, int, float, bytes, complex, bool))
            made = f"{base.__name__}.__new__({cls}, {storage.rebuild(emit)})"
        elif storage is not None and storage.python_type() is frozenset:
            made = f"frozenset.__new__({cls}, {storage.rebuild(emit)})"
        elif storage is not None:
            base = storage.python_type()
            made = f"{emit.constant(base, base.__name__)}.__new__({cls})"
        else:
            made = f"object.__new__({cls})"
            if issubclass(self.cls, BaseException):
                made = f"{emit.constant(BaseException, 'BaseException')}.__new__({cls})"
        already = emit.made(self)
        if already is not None:  # by what it holds, which holds it
            return str(already)
        name = str(emit.begin(self, made))
        fixed = isinstance(storage, (Tuple, Constant)) or issubclass(self.cls, frozenset)
        if storage is not None and not fixed:
            self._write_storage(emit, name)
        self._write_attrs(emit, name)
        return name

    def write_back(self, emit: Emitter, name: str) -> None:
        # what came from outside writes itself back, and taking a key out twice would raise
        if getattr(self.storage, "changed", False) and self.storage.source is None:
            self._write_storage(emit, name)
        self._write_attrs(emit, name)

    def _write_storage(self, emit: Any, name: str) -> None:
        emit.fill_storage(self.storage, name)

    def _write_attrs(self, emit: Emitter, name: str) -> None:
        plain = threading.local if issubclass(self.cls, threading.local) else object
        setter = emit.constant(plain.__setattr__, "set_attribute")
        deleter = emit.constant(plain.__delattr__, "delete_attribute")
        for attr, value in self.attrs.items():
            if _is_shadowed(self.cls, attr):
                text = "del {}.__dict__[{!r}]" if value is DELETED else "{}.__dict__[{!r}] = {}"
                held = () if value is DELETED else (emit.value(value),)
                emit.line(text.format(name, attr, *held))
            elif value is DELETED:
                emit.line(f"{deleter}({name}, {attr!r})")
            else:
                emit.line(f"{setter}({name}, {attr!r}, {emit.value(value)})")


def _is_shadowed(cls: type, attr: str) -> bool:
    """Whether what the instance's dict holds under `attr` is hidden by a descriptor in the class
    that setting the attribute would ask."""
    raw = next((b.__dict__[attr] for b in cls.__mro__ if attr in b.__dict__), None)
    if raw is None or isinstance(raw, (types.MemberDescriptorType, types.GetSetDescriptorType)):
        return False
    return hasattr(type(raw), "__set__") or hasattr(type(raw), "__delete__")


# ---- declared here, as in `abstract`: other rooms have the bodies


@declared
def instance_attribute(trace: Trace, obj: Mutable, name: str) -> Value:
    """`obj.name` for an instance of a class with Python attributes."""


@declared
def instance_set_attribute(trace: Trace, obj: Mutable, name: str, value: Value) -> None:
    """`obj.name = value`, as the class says: a descriptor, `__setattr__`, or its own dict."""


@declared
def instance_delete_attribute(trace: Trace, obj: Mutable, name: str) -> None:
    """`del obj.name`, as the class says: a descriptor, `__delattr__`, or its own dict."""


@declared
def object_hash_key(trace: Trace, obj: Object) -> Hashable:
    """Something hashable that compares as the object does."""


@declared
def object_truth(trace: Trace, obj: Object) -> bool:
    """The truth of an instance, by `__bool__` or `__len__` of its class; True without them."""


@declared
def raises_set_contexts(trace: Trace) -> bool:
    """Whether real exceptions were raised whose contexts are set only behind the region."""
