"""Objects of user classes, classes themselves, super(), exceptions."""

from __future__ import annotations

import threading
import types
from collections.abc import Hashable
from typing import Any

import torch

from suture import _core
from suture.breaks import Break, calls, objects
from suture.compiler import abstract
from suture.compiler.abstract import declared
from suture.compiler.core import Frame, Mutable, Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects.constant import Constant
from suture.compiler.objects.methods import method
from suture.compiler.objects.real_object import RealIdentity, RealObject
from suture.compiler.objects.tuple_ import Tuple
from suture.runtime.sources import Source

DELETED = object()

# What torch takes a Python type for where it wants a dtype; a graph can print only these.
_DTYPES: dict[type, Any] = {
    int: torch.int64,
    float: torch.float64,
    bool: torch.bool,
    complex: torch.complex128,
}


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


class Class(RealObject):
    """A class that exists."""

    __slots__ = ()

    def as_constant(self, trace: Trace) -> Any:
        return self.real()

    def as_proxy(self) -> Any:
        return _DTYPES.get(self.value, self.value)

    def describe(self) -> str:
        return str(self.value.__qualname__)

    def truth(self, trace: Trace) -> bool | None:
        if hasattr(type(self.value), "__bool__") or hasattr(type(self.value), "__len__"):
            return bool(self.value)
        return True

    def getattr(self, trace: Trace, name: str) -> Value:
        return class_attribute(trace, self, name)

    def setattr(self, trace: Trace, name: str, value: Value) -> None:
        raise Break(
            objects.MUTATION_OF_UNKNOWN, operation=f"set {name}", object=self.value.__qualname__
        )

    def call(self, trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return call_class(trace, self, args, kwargs)

    def rebuild(self, emit: Emitter) -> str:
        return str(emit.constant(self.value, self.value.__name__))


class MadeClass(Class):
    """A class that each call makes anew: one of its shape may be there at the next call."""

    __slots__ = ()

    def as_constant(self, trace: Trace) -> Any:
        raise Break(objects.UNKNOWN_OBJECT, operation="compute with", object=self.describe())

    def as_proxy(self) -> Any:
        raise Break(objects.UNKNOWN_OBJECT, operation="compute with", object=self.describe())


class Super(Value):
    """super(): attribute lookup that starts behind `after` in the MRO of `owner`'s class."""

    __slots__ = ("after", "owner")

    def __init__(self, after: type, owner: Any) -> None:
        super().__init__(None)
        self.after = after
        self.owner = owner

    def python_type(self) -> type:
        return super

    def getattr(self, trace: Trace, name: str) -> Value:
        return super_attribute(trace, self, name)

    def rebuild(self, emit: Emitter) -> str:
        return f"super({emit.constant(self.after, 'cls')}, {emit.value(self.owner)})"


class Raise(Mutable):
    """An exception object made while tracing. `args` are its arguments."""

    __slots__ = (
        "args", "attrs", "bare", "cause", "cls", "context", "left", "suppress", "traceback",
    )  # fmt: skip

    def __init__(self, cls: type[BaseException], args: list[Value]) -> None:
        super().__init__(None)
        self.cls = cls
        self.args = args
        self.context: Any = None
        self.cause: Any = None
        self.suppress = False
        self.attrs: dict[str, Value] = {}
        self.traceback: list[tuple[Any, Any, int]] = []  # frames it has passed, innermost first
        self.left: list[Frame] = []  # those of them that hold what somebody waits for
        self.bare = False  # made by __new__ alone, no __init__ has run

    def python_type(self) -> type:
        return self.cls

    def describe(self) -> str:
        return f"a {self.cls.__name__}"

    def truth(self, trace: Trace) -> bool | None:
        return True

    def getattr(self, trace: Trace, name: str) -> Value:
        if name == "args":
            return Tuple(self.args)
        if name in self.attrs:
            return self.attrs[name]
        if name == "__context__":
            return self.context or Constant(None)
        if name == "__cause__":
            return self.cause or Constant(None)
        if name == "__suppress_context__":
            return Constant(self.suppress)
        if name == "__traceback__":
            return abstract.traceback_of(trace, self)
        if name == "value" and issubclass(self.cls, StopIteration):
            return self.args[0] if self.args else Constant(None)
        return instance_attribute(trace, self, name)

    def setattr(self, trace: Trace, name: str, value: Value) -> None:
        if name in ("__cause__", "__context__"):
            kind, what = value.python_type(), name.strip("_")
            if not issubclass(kind, (BaseException, type(None))):
                abstract.raise_(
                    trace, TypeError, f"exception {what} must be None or derive from BaseException"
                )
        if name == "__traceback__":
            traceback_before(trace, self, value)
        if name not in _OF_EXCEPTIONS:
            instance_set_attribute(trace, self, name, value)
            return
        self.touch(trace)
        if name == "__cause__":
            self.cause, self.suppress = value, True
        elif name == "__context__":
            self.context = value
        elif name == "args":
            self.args = list(abstract.unpack(trace, value))
        else:
            self._replace_traceback(traceback_before(trace, self, value))

    def traceback_owner(self) -> Raise:
        """The exception whose traceback this one has: itself, but for parts of groups."""
        return self

    def _replace_traceback(self, entries: list[tuple[Any, Any, int]]) -> None:
        self.traceback = entries
        if not entries:
            self.left = []

    def rebuild(self, emit: Emitter) -> str:
        name = self._make(emit)
        if self.cause is not None:
            emit.line(f"{name}.__cause__ = {emit.value(self.cause)}")
        if self.context is not None:
            emit.line(f"{name}.__context__ = {emit.value(self.context)}")
        if self.suppress:
            emit.line(f"{name}.__suppress_context__ = True")
        for attr, value in self.attrs.items():
            emit.line(f"{name}.{attr} = {emit.value(value)}")
        self._write_traceback(emit, name)
        return name

    def _make(self, emit: Emitter) -> str:
        """The object as its constructor leaves it."""
        cls = emit.constant(self.cls, self.cls.__name__)
        args = ", ".join(emit.value(a) for a in self.args)
        new = next(b.__dict__["__new__"] for b in self.cls.__mro__ if _in_c(b, "__new__"))
        make = emit.constant(new, "new")
        name = str(emit.begin(self, f"{make}({cls}{', ' if args else ''}{args})"))
        if not self.bare:
            init = next(b.__dict__["__init__"] for b in self.cls.__mro__ if _in_c(b, "__init__"))
            emit.line(f"{emit.constant(init, 'init')}({name}{', ' if args else ''}{args})")
        return name

    def _write_traceback(self, emit: Emitter, name: str) -> None:
        self._add_entries(emit, name, self.traceback)

    def _add_entries(self, emit: Emitter, name: str, entries: list[tuple[Any, Any, int]]) -> None:
        left = list(self.left)
        for code, namespace, at in entries:
            add = emit.constant(_core.add_traceback, "add_traceback")
            position = f"{emit.constant(code, 'code')}, {emit.constant(namespace, 'globals')}, {at}"
            frame = next((frame for frame in left if frame.code.code is code), None)
            if frame is not None:
                left.remove(frame)
                position += f", ({''.join(f'{emit.value(v)}, ' for v in frame.locals)})"
            emit.line(f"{add}({name}, {position})")


@method(Raise, "with_traceback")
def raise_with_traceback(self: Raise, trace: Trace, traceback: Value) -> Value:
    entries = traceback_before(trace, self, traceback)
    self.touch(trace)
    self._replace_traceback(entries)
    return self


_OF_EXCEPTIONS = ("__cause__", "__context__", "args", "__traceback__")


def _in_c(cls: type, name: str) -> bool:
    python = (types.FunctionType, staticmethod)
    return name in cls.__dict__ and not isinstance(cls.__dict__[name], python)


class Opaque(RealObject):
    """A real object suture can only pass around: any use of it is run by Python."""

    __slots__ = ()

    def truth(self, trace: Trace) -> bool | None:
        return None

    def hash_key(self, trace: Trace) -> Hashable:
        """Its identity, where its class hashes and compares by that."""
        cls = self.python_type()
        for name, plain in (("__hash__", object.__hash__), ("__eq__", object.__eq__)):
            if abstract.type_lookup(trace, cls, name) is not plain:
                raise Break(objects.UNKNOWN_OBJECT, operation="hash", object=self.describe())
        return self.identity()

    def call(self, trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        given = ", ".join(a.describe() for a in args)
        raise Break(calls.UNSUPPORTED_CALLABLE, callable=self.describe(), arguments=given)


class Unknown(Opaque):
    """An object whose very type differs from call to call."""

    __slots__ = ()

    def python_type(self) -> type:
        return Value.python_type(self)


class UnstableText(Opaque):
    """A text that has been another one each time: nothing but its type is known."""

    __slots__ = ()

    def describe(self) -> str:
        return f"{super().describe()}, which is different each time"


class Module(RealObject):
    """A Python module."""

    __slots__ = ()

    def describe(self) -> str:
        held = types.ModuleType.__getattribute__(self.value, "__dict__")
        return str(held.get("__name__", "a module")) if isinstance(held, dict) else "a module"

    def getattr(self, trace: Trace, name: str) -> Value:
        return module_attribute(trace, self, name)

    def setattr(self, trace: Trace, name: str, value: Value) -> None:
        set_module_attribute(trace, self, name, value)

    def rebuild(self, emit: Emitter) -> str:
        return str(emit.constant(self.value, self.describe().replace(".", "_")))


# ---- declared here, as in `abstract`: other rooms have the bodies


@declared
def call_class(trace: Trace, cls: Class, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """`cls(...)`: what the metaclass, `__new__` and `__init__` do. May leave a frame."""


@declared
def class_attribute(trace: Trace, cls: Class, name: str) -> Value:
    """`cls.name` for a class that exists."""


@declared
def instance_attribute(trace: Trace, obj: Object | Raise, name: str) -> Value:
    """`obj.name` for an instance of a class with Python attributes."""


@declared
def instance_set_attribute(trace: Trace, obj: Object | Raise, name: str, value: Value) -> None:
    """`obj.name = value`, as the class says: a descriptor, `__setattr__`, or its own dict."""


@declared
def instance_delete_attribute(trace: Trace, obj: Object | Raise, name: str) -> None:
    """`del obj.name`, as the class says: a descriptor, `__delattr__`, or its own dict."""


@declared
def module_attribute(trace: Trace, module: Module, name: str) -> Value:
    """An attribute of a Python module: its dict, then the module's own __getattr__."""


@declared
def set_module_attribute(trace: Trace, module: Module, name: str, value: Value) -> None:
    """`module.name = value`: in its dict, or as a descriptor in the module's class does it."""


@declared
def super_attribute(trace: Trace, sup: Super, name: str) -> Value:
    """`super().name`."""


@declared
def object_hash_key(trace: Trace, obj: Object) -> Hashable:
    """Something hashable that compares as the object does."""


@declared
def object_truth(trace: Trace, obj: Object) -> bool:
    """The truth of an instance, by `__bool__` or `__len__` of its class; True without them."""


@declared
def raises_set_contexts(trace: Trace) -> bool:
    """Whether real exceptions were raised whose contexts are set only behind the region."""


@declared
def traceback_before(trace: Trace, exc: Value, traceback: Value) -> list[Any]:
    """The entries of an exception of the trace that `traceback` represents: none, or those
    it had when its traceback was read."""
