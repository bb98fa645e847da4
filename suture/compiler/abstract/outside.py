"""Real objects from outside the region."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from suture.compiler.abstract.declare import declared
from suture.compiler.core import Held, Trace, Value
from suture.runtime.sources import Source


@declared
def fix(trace: Trace, source: Source, value: object) -> None:
    """Guard the identity of the object at `source`."""


@declared
def is_fixed(trace: Trace, source: Source) -> bool:
    """Whether the source is reachable from an object whose identity is guarded."""


@declared
def known_number(trace: Trace, tensor: Value) -> int | float | complex | bool | None:
    """The number in a tensor that follows from such buffers, which are guarded, or from the
    operations that made it; or None."""


@declared
def pinned(trace: Trace, obj: object, name: str = "") -> Source:
    """The source of an object that is held by the variant itself."""


@declared
def realize(trace: Trace, held: Held) -> Value:
    """Look at what a container holds."""


@declared
def realize_local(trace: Trace, held: Held | None) -> Value | None:
    """Look at what a variable of a frame holds: None if it is unbound."""


@declared
def keep_apart(trace: Trace, key: Any, others: Iterable[Any]) -> None:
    """`key` was compared with `others`. Where only the identity of objects from outside makes it
    differ from one of them, which may be inside tuples and frozensets, a guard keeps them two."""


@declared
def wrap(trace: Trace, value: object, source: Source | None) -> Value:
    """The value of a real object that is read at `source`, with its guards. The same object always
    gives the same value."""
