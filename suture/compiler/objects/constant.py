"""Values that never change and are known while tracing: numbers, strings, None, dtypes, enums."""

from __future__ import annotations

import enum
import types
from collections.abc import Callable, Hashable
from typing import Any

from suture import _core
from suture.breaks import Break, objects, readable
from suture.bytecode.language import SINGLE_INTS
from suture.compiler import abstract
from suture.compiler.abstract import declared
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.runtime.predicates import LITERALS, is_literal
from suture.runtime.reads import plain_bytes
from suture.runtime.sources import Source

# What an object of a class that derives from one of these types is as that type alone. Code of
# the class is not asked.
PLAIN_VALUE: dict[type, Callable[[Any], Any]] = {
    int: int.__index__,
    float: float.__pos__,
    str: str.__str__,
    bytes: plain_bytes,
    complex: complex.__pos__,
}


def is_plain(value: object) -> bool:
    """Whether a value is a number or a text, or a tuple of such: its operations run no code of
    the program."""
    if type(value) is tuple:
        return all(is_plain(v) for v in value)
    return type(value) in LITERALS


class Constant(Value):
    """A value that is known. Two constants are one object if their values are interned alike."""

    __slots__ = ("value",)

    def __init__(self, value: Any, source: Source | None = None) -> None:
        self.source = source
        self.value = value

    def python_type(self) -> type:
        return type(self.value)

    def is_constant(self) -> bool:
        return True

    def constant(self) -> Any:
        return self.value

    def real(self) -> Any:
        return self.value

    def as_proxy(self) -> Any:
        if type(self.value).__module__ == "numpy" and hasattr(self.value, "item"):
            number = self.value.item()  # a scalar; graphs hold Python's numbers
            return float(number) if type(number) is bool else number  # torch takes it for one
        return self.value

    def hash_key(self, trace: Trace) -> Hashable:
        key: Hashable = self.value
        return key

    def identity(self) -> Hashable:
        return ConstantIdentity(self.value)

    def describe(self) -> str:
        return readable(self.value, 80)

    def truth(self, trace: Trace) -> bool | None:
        try:
            return bool(self.value)
        except TypeError as error:  # NotImplemented, from Python 3.14 on
            return abstract.raise_(trace, TypeError, *error.args)

    def getattr(self, trace: Trace, name: str) -> Value:
        if isinstance(self.value, enum.Enum):
            held = member_attribute(trace, self, name)
            if held is not None:
                return held
        try:
            found = getattr(self.value, name)
        except AttributeError as error:
            return abstract.raise_(trace, AttributeError, *error.args)
        if isinstance(found, (types.BuiltinMethodType, types.MethodWrapperType)):
            return ConstantMethod(self, name, found)
        if isinstance(found, types.MethodType) and found.__self__ is self.value:
            return abstract.method(trace, abstract.wrap(trace, found.__func__, None), self)
        if is_literal(found):
            return Constant(found)
        return abstract.wrap(trace, found, None)

    def rebuild(self, emit: Emitter) -> str:
        value = self.value
        literal = type(value) is str and value.isidentifier() and _core.is_interned(value)
        if type(value) is str and not literal and len(value) > 1:
            return str(emit.constant(value, "text"))  # the very object: identity may matter
        if type(value) is int and abs(value) < 10**50:
            return repr(value)
        if type(value) in (str, bytes) and len(value) < 60:
            return repr(value)
        if value is None or type(value) is bool:
            return repr(value)
        if type(value) is float and value == value and abs(value) != float("inf"):
            return repr(value)
        return str(emit.constant(value, "const"))


class Unread(Constant):
    """A constant from outside that nobody has looked at yet. Whoever takes its value calls `guard`
    first; until then it can be passed on, and be read again at its source."""

    __slots__ = ("_guard", "_held")

    def __init__(self, held: Any, source: Source, guard: Callable[[], object]) -> None:
        Value.__init__(self, source)
        self._held = held
        self._guard: Callable[[], object] | None = guard

    @property
    def value(self) -> Any:
        guard, self._guard = self._guard, None
        if guard is not None:
            guard()
        return self._held

    def describe(self) -> str:
        return str(self.known_source.path())


class OfType(Unread):
    """A text or a truth from outside of which only the type is known until somebody takes its
    value. Whatever asks for the type alone, and passes it on, goes for all of that type."""

    __slots__ = ()

    def python_type(self) -> type:
        return type(self._held)

    def describe(self) -> str:  # part of what the program is told
        return Constant.describe(self)

    def unread(self) -> Any:
        """The value, for who does not rely on it."""
        return self._held

    def is_read(self) -> bool:
        """Whether somebody has taken the value, which is guarded then."""
        return self._guard is None


class ConstantIdentity:
    """Constants that are the same object: small values compare by type and value."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConstantIdentity):
            return False
        if self.value is other.value:
            return True
        if type(self.value) is not type(other.value):
            return False
        return _shared(self.value) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(type(self.value))


def is_single(value: object) -> bool:
    """Values of which there is one object only, wherever they come from."""
    return type(value) not in LITERALS - _SINGLETONS and not isinstance(value, (tuple, frozenset))


_SINGLETONS = frozenset({bool, type(None), type(Ellipsis), type(NotImplemented)})


def _shared(value: Any) -> bool:
    """Values of which CPython keeps one object only."""
    if type(value) is int:
        return value in SINGLE_INTS
    return type(value) in (str, bytes, tuple) and len(value) <= (type(value) is not tuple)


class Volatile(Value):
    """A number that only the running program knows, such as the `id` of an object that is made
    in the region: it can be passed on and be a key."""

    __slots__ = ("args", "fn")

    def __init__(self, fn: Any, args: list[Value]) -> None:
        super().__init__(None)
        self.fn = fn
        self.args = args

    def python_type(self) -> type:
        return int

    def truth(self, trace: Trace) -> bool | None:
        return True

    def unknown(self, operation: str) -> Break:
        """Why something that needs the number itself is left to Python."""
        return Break(objects.UNKNOWN_OBJECT, operation=operation, object=self.describe())

    def hash_key(self, trace: Trace) -> Hashable:
        return (self.fn, *(a.identity() for a in self.args))

    def identity(self) -> Hashable:
        return (self.fn, *(a.identity() for a in self.args))

    def rebuild(self, emit: Emitter) -> str:
        return f"{emit.constant(self.fn, 'read')}({', '.join(emit.value(a) for a in self.args)})"


class ConstantMethod(Value):
    """A method of a constant, such as `"{}".format`."""

    __slots__ = ("method", "name", "owner")

    def __init__(self, owner: Constant, name: str, method: Any) -> None:
        super().__init__(None)
        self.owner = owner
        self.name = name
        self.method = method

    def python_type(self) -> type:
        return type(self.method)

    def real(self) -> Any:
        return self.method

    def call(self, trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return constant_method(trace, self.owner, self.name, args, kwargs)

    def getattr(self, trace: Trace, name: str) -> Value:
        try:
            return abstract.wrap(trace, getattr(self.method, name), None)
        except AttributeError as error:
            return abstract.raise_(trace, AttributeError, *error.args)

    def hash_key(self, trace: Trace) -> Hashable:
        return (ConstantMethod, self.name, self.owner.identity())

    def rebuild(self, emit: Emitter) -> str:
        return f"({emit.value(self.owner)}).{self.name}"


# ---- declared here, as in `abstract`: other rooms have the bodies


@declared
def constant_method(
    trace: Trace, owner: Value, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """A method of a constant: folded if all arguments are constants."""


@declared
def member_attribute(trace: Trace, member: Constant, name: str) -> Value | None:
    """An attribute of the member of an enum that the program may change or compute; None for one
    that it cannot."""
