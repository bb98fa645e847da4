"""Real objects that nobody changes: signatures, dataclass fields, types as annotations say them."""

from __future__ import annotations

import inspect
import operator
import types
import typing
from typing import Any

from suture.breaks import Break, objects
from suture.variables.base import Variable
from suture.variables.constant import Constant
from suture.variables.held import Held

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


def is_form(value: Any) -> bool:
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


class Frozen(Held):
    """A real object that is never changed once made. Its attributes are read while tracing, and
    its methods called, without a guard: what they say follows from the object's identity."""

    __slots__ = ()

    def as_proxy(self) -> Any:
        return self.value

    def hash_key(self, tx: Any) -> Any:
        tx.fold(hash, [self], {})  # it may hold something that has none
        return self.value

    def truth(self, tx: Any) -> Any:
        return bool(self.value)

    def getattr(self, tx: Any, name: str) -> Any:
        if name in _COMPUTED and type(self.value).__module__ == "typing":
            raise Break(objects.UNKNOWN_ATTRIBUTE, object=self.describe(), attribute=name)
        try:
            found = getattr(self.value, name)
        except AttributeError as error:
            return tx.raise_(AttributeError, str(error))
        if isinstance(found, (types.MethodType, types.BuiltinMethodType)):
            if found.__self__ is self.value:
                return FrozenMethod(self, name)
        return tx.frozen(found)

    def setattr(self, tx: Any, name: str, value: Any) -> None:
        raise Break(objects.MUTATION_OF_UNKNOWN, operation=f"set {name}", object=self.describe())

    def call_method(self, tx: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if type(self.value) is types.MappingProxyType:  # what is in there is there for all to see
            values = [tx.constant_value(a) for a in args]
            named = {k: tx.constant_value(v) for k, v in kwargs.items()}
            return tx.frozen_result(lambda: getattr(self.value, name)(*values, **named))
        if name in _MAKES and isinstance(self.value, inspect.Signature):  # something to change
            return tx.tail_call(
                tx.wrap(getattr(type(self.value), name), None), [self, *args], kwargs
            )
        return tx.frozen_answer(getattr(self.value, name), args, kwargs)

    def m___len__(self, tx: Any) -> Any:
        return tx.fold(len, [self], {})

    def m___eq__(self, tx: Any, other: Any) -> Any:
        return self._compared(tx, operator.eq, other)

    def m___ne__(self, tx: Any, other: Any) -> Any:
        return self._compared(tx, operator.ne, other)

    def _compared(self, tx: Any, compare: Any, other: Any) -> Any:
        """What the class says of itself and another object that never changes."""
        own: Any = type(self.value).__eq__
        alike = isinstance(other, Frozen) or type(self.value) is types.MappingProxyType
        if own is object.__eq__ or not alike:
            return Constant(NotImplemented)
        return tx.fold(compare, [self, other], {})

    def m___or__(self, tx: Any, other: Any) -> Any:
        return tx.fold(operator.or_, [self, other], {})

    def m___ror__(self, tx: Any, other: Any) -> Any:
        return tx.fold(operator.or_, [other, self], {})

    def m___contains__(self, tx: Any, key: Any) -> Any:
        return tx.fold(operator.contains, [self, key], {})

    def m___getitem__(self, tx: Any, key: Any) -> Any:
        value = tx.constant_value(key)
        return tx.frozen_result(lambda: self.value[value])

    def m___iter__(self, tx: Any) -> Any:
        return tx.list_iterator(list(tx.unpack(tx.frozen_result(lambda: tuple(self.value)))))


class FrozenMethod(Variable):
    """A bound method of an object that is never changed."""

    __slots__ = ("name", "owner")

    def __init__(self, owner: Frozen, name: str) -> None:
        super().__init__(None)
        self.owner = owner
        self.name = name

    def python_type(self) -> type:
        return type(getattr(self.owner.value, self.name))

    def call(self, tx: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return tx.tail_call_method(self.owner, self.name, args, kwargs)

    def rebuild(self, emit: Any) -> str:
        return f"{emit.value(self.owner)}.{self.name}"
