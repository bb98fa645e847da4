"""How a polyfill is compared with its original: results, exceptions, and steps taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

LIMIT = 40  # how many items of an iterator are looked at


class Watched:
    """An iterable that counts how often its iterators were asked for an item."""

    def __init__(self, items: Iterable[Any]) -> None:
        self.items = list(items)
        self.asked = 0

    def __iter__(self) -> Iterator[Any]:
        for item in self.items:
            self.asked += 1
            yield item
        self.asked += 1

    def __repr__(self) -> str:
        return f"Watched({self.items})"


def outcome(function: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[str, Any]:
    """("value", what it returned) or ("raised", type and text); iterators become lists."""
    try:
        value = function(*args, **kwargs)
        if isinstance(value, Iterator):
            value = list(islice(value, LIMIT))
        return "value", value
    except Exception as error:
        return "raised", (type(error), str(error))


def same(
    original: Callable[..., Any],
    polyfill: Callable[..., Any],
    *args: Any,
    text: bool = True,
    **kwargs: Any,
) -> None:
    """Both give the same outcome; without `text`, exceptions need the same type only.

    Lists among the arguments are turned into iterables that count, and the counts are compared.
    """
    first, first_watched = _watched(args)
    second, second_watched = _watched(args)
    wanted = outcome(original, *first, **kwargs)
    given = outcome(polyfill, *second, **kwargs)
    if wanted[0] == "raised" and not text:
        assert given[0] == "raised", (wanted, given)
        assert given[1][0] is wanted[1][0], (wanted, given)
    else:
        assert repr(given) == repr(wanted)
    assert [each.asked for each in second_watched] == [each.asked for each in first_watched]


def _watched(args: tuple[Any, ...]) -> tuple[list[Any], list[Watched]]:
    made = [Watched(arg) if type(arg) is list else arg for arg in args]
    return made, [arg for arg in made if isinstance(arg, Watched)]
