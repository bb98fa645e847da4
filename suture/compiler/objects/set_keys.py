"""The keys that containers look for: ids of objects as numbers, and what tells keys apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from suture.breaks import Break, objects
from suture.compiler import abstract
from suture.compiler.core import Trace
from suture.compiler.objects.address import Address, is_address_key, may_be_id
from suture.compiler.objects.constant import Constant, Volatile
from suture.compiler.objects.tuple_ import Tuple


def key_of(trace: Trace, container: Any, key: Any) -> Any:
    """The key to look for: an id, or one in a tuple, as a number where the container may hold
    numbers already. Among ids alone, which object each is of says which are equal."""
    kind = type(key)
    if container.entries:
        abstract.keep_apart(trace, key, keys_of(container))
    if kind is Address or (kind is Tuple and holds_address(key)):
        if container.source is not None or any(map(may_be_id, container.entries)):
            return as_numbers(trace, key)
    elif kind is Volatile:
        raise key.unknown("hash")
    elif kind is Constant and may_be_id(key.value) and any(map(is_address_key, container.entries)):
        operation = "looking for a number among ids"
        raise Break(objects.UNKNOWN_OBJECT, operation=operation, object=container.describe())
    return key


def keys_of(container: Any) -> Iterator[Any]:
    """The keys that a dict or set holds, as values."""
    for held in container.entries.values():
        yield held[0] if type(held) is tuple else held


def holds_address(key: Any) -> bool:
    """Whether an id is among the items of a tuple, or of one in it."""
    return any(
        type(i) is Address or (type(i) is Tuple and holds_address(i)) for i in list(key.items)
    )


def as_numbers(trace: Trace, key: object) -> Any:
    """The key, each id in it as the number that it is: the guards require the same objects."""
    if type(key) is Address:
        return Constant(key.number(trace))
    if type(key) is Tuple:
        # The id of what is made here is in no container that was there before.
        new = (type(i) is Address and i.owner.source is None for i in key.unpacked(trace))
        return key if any(new) else Tuple([as_numbers(trace, i) for i in key.unpacked(trace)])
    return key


def compare_members(trace: Trace, containers: Sequence[dict[Any, Any]]) -> None:
    """Sets are compared with each other: what their members are told apart by is guarded. Not
    where one holds ids of objects, and the other numbers that may be such."""
    before: list[Any] = []
    for one in containers:
        for member in one.values():
            abstract.keep_apart(trace, member, before)
        before += one.values()
    keys = [at for one in containers for at in one]
    if any(map(is_address_key, keys)) and any(map(may_be_id, keys)):
        operation = "comparing ids with numbers"
        raise Break(objects.UNKNOWN_OBJECT, operation=operation, object="a set")
