"""Items, membership, iteration."""

from __future__ import annotations

from typing import Any

from suture.compiler.abstract.declare import declared
from suture.compiler.core import Trace, Value


@declared
def advance(trace: Trace, iterator: Value) -> Value:
    """The next element, or END."""


@declared
def contains(trace: Trace, container: object, item: Value) -> Value: ...


@declared
def dict_entries(trace: Trace, of: Value) -> dict[Any, tuple[Any, Any]]:
    """All entries of a dict that came from outside; its keys are guarded."""


@declared
def dict_entry(trace: Trace, of: Value, key: Value, at: object) -> Any:
    """One entry of a dict that came from outside, or None; only this key is guarded."""


@declared
def dict_pairs(trace: Trace, value: object) -> list[tuple[Any, Any]]:
    """(key, value) pairs of a mapping or of an iterable of pairs, as dict() takes them."""


@declared
def dicts_equal(trace: Trace, left: Value, right: Value) -> Value:
    """`left == right`; between two OrderedDicts the order counts too."""


@declared
def each(trace: Trace, value: object) -> Any:
    """The elements one by one, for who acts between two of them."""


@declared
def getitem(trace: Trace, obj: object, key: Value) -> Value | None: ...


@declared
def has_index(trace: Trace, key: Value) -> bool:
    """Whether the value can be an index or a count."""


@declared
def index_of(trace: Trace, key: Value, length: int, what: str) -> Any:
    """A key of a sequence as an int in range, or a slice of known ends."""


@declared
def is_settled(trace: Trace, value: object) -> bool:
    """Whether reading the elements runs no code of the program in between."""


@declared
def iterate(trace: Trace, value: Value) -> Value:
    """`iter(value)`: always something `advance` can move."""


@declared
def known_set(trace: Trace, value: object) -> Value:
    """The variable of a set that was computed while tracing."""


@declared
def length(trace: Trace, obj: Value) -> Value: ...


@declared
def list_iterator(trace: Trace, items: list[Any]) -> Value: ...


@declared
def mapping_iterator(trace: Trace, of: Value, what: str) -> Any: ...


@declared
def sequence_compare(trace: Trace, symbol: str, left: Value, right: Value) -> Value:
    """What `left.__eq__(right)` and its kin give for a list or a tuple."""


@declared
def sequence_iterator(trace: Trace, of: Value, reverse: bool = False) -> Value: ...


@declared
def set_iterator(trace: Trace, of: Value) -> Value: ...


@declared
def set_order(trace: Trace, of: Value) -> list[Any]:
    """The members in the order the real set has."""


@declared
def unpack(trace: Trace, value: object) -> list[Any]: ...
