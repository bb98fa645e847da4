"""What guards and variants read of iterators, and the iterators that variants make.

Reading consumes nothing.
"""

from __future__ import annotations

import ast
import collections
import itertools
import sys
from typing import Any

from suture._core import coming_of, dict_of, left_of


def sequence_of(iterator: Any) -> Any:
    """The list, tuple, range or str an iterator goes over; of others, a list of what is left."""
    return iterator.__reduce__()[1][0]


def position_of(iterator: Any) -> Any:
    """The index a sequence iterator is at."""
    parts = iterator.__reduce__()
    return parts[2] if len(parts) > 2 else 0


def count_of(iterator: Any) -> Any:
    """The number an enumerate gives next."""
    return iterator.__reduce__()[1][1]


def inner_of(iterator: Any) -> Any:
    """The iterator below an enumerate."""
    return iterator.__reduce__()[1][0]


def inners_of(iterator: Any) -> Any:
    """The iterators below a zip."""
    return iterator.__reduce__()[1]


def number_of(iterator: Any) -> Any:
    """The number an itertools.count gives next; None if it is neither int nor float."""
    return _told_by(iterator)[0]


def step_of(iterator: Any) -> Any:
    """By how much an itertools.count goes on."""
    return _told_by(iterator)[1]


def _told_by(iterator: Any) -> tuple[Any, Any]:
    """Number and step of an itertools.count, which it tells in its text alone: `count(3, 2)`."""
    text = itertools.count.__repr__(iterator)
    try:
        told = ast.literal_eval(text[text.index("(") :])
    except (ValueError, SyntaxError):
        return None, None
    return told if isinstance(told, tuple) else (told, 1)


def rest_of_range(iterator: Any) -> range:
    """What is left of a range iterator."""
    rest = sequence_of(iterator)[position_of(iterator) :]
    assert isinstance(rest, range)
    return rest


def _most_references(iterator: Any) -> int:
    inners = inners_of(iterator) if type(iterator) is zip else (inner_of(iterator),)
    return max((sys.getrefcount(inner) for inner in inners), default=0)


def holds_its_own(iterator: Any) -> bool:
    """Whether nobody but this zip or enumerate can reach the iterators below it."""
    inners = inners_of(iterator) if type(iterator) is zip else (inner_of(iterator),)
    if any(type(inner) in ALONE and not holds_its_own(inner) for inner in inners):
        return False
    del inners
    return _most_references(iterator) <= ALONE[type(iterator)]  # type: ignore[index]


ALONE = {zip: _most_references(zip([], [])), enumerate: _most_references(enumerate([]))}
RANGE = type(iter(range(0)))
SEQUENCES = frozenset({type(iter([])), type(iter(())), RANGE, type(iter(""))})
OF_DICTS = {type(iter(getattr({}, what)())): what for what in ("keys", "values", "items")}

# Classes that have no name in any module, by names of ours.
NAMES = {f"{kind.__name__}_type": kind for kind in (*SEQUENCES, *OF_DICTS)}
globals().update(NAMES)


# Read by the core: other turns of the same loop, in each of which they are asked, end at the first.
IN_CORE = (coming_of, dict_of, left_of)


# ---- what variants call


def skip(iterator: Any, count: int) -> None:
    """Advance a real iterator by as much as the trace did."""
    for _ in range(count):
        try:
            next(iterator, None)
        except Exception:  # the trace has raised it already
            return


def taken(iterator: Any, count: int) -> Any:
    """The iterator, after that many of its elements."""
    for _ in range(count):
        next(iterator)
    return iterator


def advanced(iterable: Any, count: int) -> Any:
    """An iterator that has been asked for so many elements already."""
    made = iter(iterable)
    for _ in range(count):
        next(made, None)
    return made


def outdated(ordered: bool = False) -> Any:
    """An iterator over a dict whose size has changed since."""
    table: dict[int, int] = collections.OrderedDict({0: 0}) if ordered else {0: 0}
    made = iter(table)
    table[1] = 1
    return made


def outdated_set() -> Any:
    """An iterator over a set whose size has changed since."""
    of = {0}
    made = iter(of)
    of.add(1)
    return made


def stale(reverse: bool) -> Any:
    """An iterator of a deque that has changed since."""
    of: collections.deque[Any] = collections.deque()
    made = reversed(of) if reverse else iter(of)
    of.append(None)
    return made
