"""References: how an object that a variant names is written, and how it is found again.

A reference is `[kind, *fields]`; `found_objects` and `made_objects` have the kinds. Both halves of
a kind are here, in the runtime, because whoever writes and whoever reads must agree on it; the
compiler only says which objects there are. Adding a kind is one `Kind`, its name in the scopes
where it may be written, and one example in `tests/runtime/store/test_round_trips.py`.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from suture.runtime.chain import Chain, FrameSpec
from suture.runtime.checks import AfterCheck, Watch
from suture.runtime.store.literals import Unstorable
from suture.runtime.unit import Unit


class Unfit(Exception):
    """Why an artefact is not used for a state."""


class Writing(Protocol):
    """What is known of objects while a variant is written."""

    known: dict[int, int]  # the guard that knows an object, by the object's id
    held: dict[int, tuple[int, str]]  # what such an object is made of: (guard, attribute)
    keys: set[int]  # ids of objects that are keys of dicts whose keys are guarded

    def number(self, value: Any) -> int:
        """The number of an object: one object has one, two have two."""
        ...

    def code(self, code: types.CodeType) -> Any:
        """How a code object is found again; raises Unstorable."""
        ...


class Reading(Protocol):
    """What is found while a variant is read against a state."""

    unit: Unit
    chain: Chain
    objects: dict[int, Any]  # by their numbers
    guarded: list[Any]  # the object of each guard
    watch: Watch | None  # of the branch on data that the variant ends with
    checks: AfterCheck | None  # takes over where a condition does not hold

    def bind(self, number: int, value: Any) -> Any:
        """`value`, which has this number from now on; raises Unfit if it is another's."""
        ...

    def code(self, data: Any) -> types.CodeType:
        """The code object that `Writing.code` wrote."""
        ...

    def ref(self, data: Any) -> Any:
        """The object that a reference means; raises Unfit, LookupError or, of data that `write` did
        not make, ValueError and the like."""
        ...


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of reference. `write` gives the fields, or None for an object that is not of this
    kind; `read` takes them."""

    name: str
    write: Callable[[Writing, Any], list[Any] | None]
    read: Callable[..., Any]  # (Reading, *fields)


def write(to: Writing, value: Any, scope: tuple[Kind, ...]) -> list[Any]:
    """The reference to an object, of the first kind of `scope` that it is; raises Unstorable."""
    for kind in scope:
        fields = kind.write(to, value)
        if fields is not None:
            return [kind.name, *fields]
    made, name = type(value), getattr(value, "__qualname__", None)
    text = f" ({getattr(value, '__module__', None)}.{name})" if type(name) is str else ""
    raise Unstorable(
        f"no source is known of an object of {made.__module__}.{made.__qualname__}{text}"
    )


def write_frames(chain: Chain, code: Callable[[types.CodeType], Any]) -> list[Any]:
    """A chain as data, with each code object as `code` has it."""
    return [
        [code(s.code), s.index, list(s.live), s.depth, s.handling, s.deliver, s.waiting, s.resumed]
        for s in chain
    ]


def read_frames(of: Reading, data: Any) -> Chain:
    """The chain that `write_frames` wrote."""
    return tuple(
        FrameSpec(of.code(code), index, tuple(live), depth, *map(bool, flags))
        for code, index, live, depth, *flags in data
    )
