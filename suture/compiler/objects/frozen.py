"""Real objects that nobody changes: signatures, dataclass fields, types as annotations say them."""

from __future__ import annotations

import inspect
import operator
import types
import typing
from collections.abc import Callable, Hashable
from typing import Any

from suture.breaks import Break, objects
from suture.compiler import abstract
from suture.compiler.abstract import declared
from suture.compiler.core import Trace, Value
from suture.compiler.objects.bound_method import BoundMethod
from suture.compiler.objects.constant import Constant
from suture.compiler.objects.methods import method
from suture.compiler.objects.real_object import RealObject

# Types as people write them in annotations: they compare by what they say.
FORMS = (
    types.UnionType,
    types.GenericAlias,
    type(typing.Union[int, str]),  # noqa: UP007  (another type than int | str before 3.14)
    type(list[int]),
    type(typing.Optional),
    type(typing.Literal["a"]),
    typing.TypeVar,
    typing.ForwardRef,
)


def is_form(value: object) -> bool:
    """Whether the object is a type as annotations say it, and no class."""
    kind = type(value)
    if kind in FORMS:
        return True
    if kind.__module__ == "typing":
        return not issubclass(kind, type)
    return kind.__module__ == "collections.abc" and issubclass(kind, types.GenericAlias)


# What type variables and aliases compute, by code of the program, when they are first asked for it:
# those of the syntax that came with Python 3.12.
_COMPUTED = (
    ("__bound__", "__constraints__", "__default__", "__value__")
    if hasattr(typing, "TypeAliasType")
    else ()
)


_MAKES = ("bind", "bind_partial", "_bind")


class Frozen(RealObject):
    """A real object that is never changed once made. Its attributes are read while tracing, and
    its methods called, without a guard: what they say follows from the object's identity."""

    __slots__ = ()

    def as_constant(self, trace: Trace) -> Any:
        return self.real()

    def as_proxy(self) -> Any:
        return self.value

    def hash_key(self, trace: Trace) -> Hashable:
        abstract.fold(trace, hash, [self], {})  # it may hold something that has none
        key: Hashable = self.value
        return key

    def truth(self, trace: Trace) -> bool | None:
        return bool(self.value)

    def getattr(self, trace: Trace, name: str) -> Value:
        if name in _COMPUTED and type(self.value).__module__ == "typing":
            raise Break(objects.UNKNOWN_ATTRIBUTE, object=self.describe(), attribute=name)
        try:
            found = getattr(self.value, name)
        except AttributeError as error:
            return abstract.raise_(trace, AttributeError, str(error))
        if isinstance(found, (types.MethodType, types.BuiltinMethodType)):
            if found.__self__ is self.value:
                return FrozenMethod(self, name)
        return frozen(trace, found)

    def setattr(self, trace: Trace, name: str, value: Value) -> None:
        raise Break(objects.MUTATION_OF_UNKNOWN, operation=f"set {name}", object=self.describe())

    def call_method(
        self, trace: Trace, name: str, args: list[Value], kwargs: dict[str, Value]
    ) -> Value:
        if type(self.value) is types.MappingProxyType:  # what is in there is there for all to see
            values = [abstract.constant_value(trace, a) for a in args]
            named = {k: abstract.constant_value(trace, v) for k, v in kwargs.items()}
            return frozen_result(trace, lambda: getattr(self.value, name)(*values, **named))
        if name in _MAKES and isinstance(self.value, inspect.Signature):  # something to change
            return abstract.tail_call(
                trace,
                abstract.wrap(trace, getattr(type(self.value), name), None),
                [self, *args],
                kwargs,
            )
        return frozen_answer(trace, getattr(self.value, name), args, kwargs)

    def _compared(self, trace: Trace, compare: object, other: Value) -> Value:
        """What the class says of itself and another object that never changes."""
        own: Any = type(self.value).__eq__
        alike = isinstance(other, Frozen) or type(self.value) is types.MappingProxyType
        if own is object.__eq__ or not alike:
            return Constant(NotImplemented)
        return abstract.fold(trace, compare, [self, other], {})


@method(Frozen, "__len__")
def frozen_len(self: Frozen, trace: Trace) -> Value:
    return abstract.fold(trace, len, [self], {})


@method(Frozen, "__eq__")
def frozen_eq(self: Frozen, trace: Trace, other: Value) -> Value:
    return self._compared(trace, operator.eq, other)


@method(Frozen, "__ne__")
def frozen_ne(self: Frozen, trace: Trace, other: Value) -> Value:
    return self._compared(trace, operator.ne, other)


@method(Frozen, "__or__")
def frozen_or(self: Frozen, trace: Trace, other: Value) -> Value:
    return abstract.fold(trace, operator.or_, [self, other], {})


@method(Frozen, "__ror__")
def frozen_ror(self: Frozen, trace: Trace, other: Value) -> Value:
    return abstract.fold(trace, operator.or_, [other, self], {})


@method(Frozen, "__contains__")
def frozen_contains(self: Frozen, trace: Trace, key: Value) -> Value:
    return abstract.fold(trace, operator.contains, [self, key], {})


@method(Frozen, "__getitem__")
def frozen_getitem(self: Frozen, trace: Trace, key: Value) -> Value:
    value = abstract.constant_value(trace, key)
    return frozen_result(trace, lambda: self.value[value])


@method(Frozen, "__iter__")
def frozen_iter(self: Frozen, trace: Trace) -> Value:
    return abstract.list_iterator(
        trace,
        list(abstract.unpack(trace, frozen_result(trace, lambda: tuple(self.value)))),
    )


class Interchangeable(Frozen):
    """A frozen object for which another one like it may stand, as long as the program does not ask
    which of them it is."""

    __slots__ = ()

    def settle(self, trace: Trace) -> None:
        """It is asked: from now on the guards require this very object."""
        abstract.fix(trace, self.known_source, self.value)


class FrozenMethod(BoundMethod):
    """A bound method of an object that is never changed."""

    __slots__ = ()

    def python_type(self) -> type:
        return type(getattr(self.owner.real(), self.name))


# ---- declared here, as in `abstract`: other rooms have the bodies


@declared
def frozen(trace: Trace, value: Value) -> Value:
    """The value of a real object read from one that never changes."""


@declared
def frozen_answer(trace: Trace, real: object, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """What a method of such an object gives: made anew by the variant if it can change."""


@declared
def frozen_result(trace: Trace, thunk: Callable[[], Any]) -> Value:
    """What a method of such an object gives, or the exception it raised."""
