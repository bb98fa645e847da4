"""Items, membership, iteration."""

from __future__ import annotations

from typing import Any

from suture.compiler.abstract.declare import declared, dispatched
from suture.compiler.core import Trace, Value


@dispatched
def advance(trace: Trace, iterator: Value) -> Value:
    """The next element, or END."""


@dispatched
def contains(trace: Trace, container: object, item: Value) -> Value:
    """`item in container`, as a value: a truth that is known or a symbol."""


@dispatched
def dict_pairs(trace: Trace, value: object) -> list[tuple[Any, Any]]:
    """(key, value) pairs of a mapping or of an iterable of pairs, as dict() takes them."""


@declared
def each(trace: Trace, value: object) -> Any:
    """The elements one by one, for who acts between two of them."""


@declared
def getitem(trace: Trace, obj: object, key: Value) -> Value:
    """`obj[key]`."""


@declared
def has_index(trace: Trace, key: Value) -> bool:
    """Whether the value can be an index or a count."""


@declared
def index_of(trace: Trace, key: Value, length: int, what: str) -> Any:
    """A key of a sequence as an int in range, or a slice of known ends."""


@dispatched
def init_storage(
    trace: Trace, storage: Value, made: Value, args: list[Value], kwargs: dict[str, Value]
) -> None:
    """`__init__` of a builtin type on the builtin part of an object, `made`."""


@dispatched
def is_settled(trace: Trace, value: object) -> bool:
    """Whether reading the elements runs no code of the program in between."""


@dispatched
def iterate(trace: Trace, value: Value) -> Value:
    """`iter(value)`: always something `advance` can move."""


@declared
def known_set(trace: Trace, value: object) -> Value:
    """The value of a real set that was computed while tracing; its members in the real order."""


@dispatched
def ask_length(trace: Trace, value: object) -> None:
    """Run what `list` and its kin run between `iter(value)` and the first element: `__len__` or
    `__length_hint__`, where the program has written them."""


@dispatched
def length(trace: Trace, obj: Value) -> Value:
    """`len(obj)`, as a value: a constant or a symbol."""


@declared
def list_iterator(trace: Trace, items: list[Any]) -> Value:
    """An iterator over values that are all there."""


@declared
def mapping_iterator(trace: Trace, of: Value, what: str) -> Value:
    """An iterator over the keys, values or items (`what`) of a dict; adding keys meanwhile raises
    as in Python."""


@declared
def unpack(trace: Trace, value: object, asked: bool = False) -> list[Any]:
    """The elements of any iterable as a list of values; those of a tensor are its rows. `asked`
    where Python asks for the length first (`ask_length`)."""


@dispatched
def set_item(trace: Trace, obj: Value, key: Value, value: Value) -> None:
    """`obj[key] = value`."""


@dispatched
def tail_getitem(trace: Trace, obj: Value, key: Value) -> Value:
    """`obj[key]`. May leave a frame, where the class is the program's."""
