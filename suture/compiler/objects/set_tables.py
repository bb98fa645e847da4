"""How a new set gets the order that a given one has: the order of CPython's hash table."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

_TRIES = 720


class Recipe:
    """How to make a new set of a certain order: its members as they go in, and with what its table
    gets its size. One that takes members from a list grows as it needs to, one that takes them from
    a dict or a set makes room for all of them first, those that it has already counted twice."""

    __slots__ = ("again", "members", "presized")

    def __init__(self, members: list[Any], presized: bool = False, again: int = 0) -> None:
        self.members = members
        self.presized = presized
        self.again = again  # how many of them come once more, from a dict

    def steps(self, members: list[Any]) -> list[tuple[list[Any], bool]]:
        """What is put in one after the other, and whether it comes from a dict."""
        more = [(members[: self.again], True)] if self.again else []
        return [(members, self.presized), *more]

    def follow(self, members: list[Any], kind: type) -> Any:
        """A set or frozenset made so."""
        first, *more = (
            dict.fromkeys(step) if as_dict else step for step, as_dict in self.steps(members)
        )
        made = kind(first)
        for step in more:
            made.update(step)
        return made


def recipe_for(order: list[Any], first: list[Any], kind: type) -> Recipe | None:
    """How to put members into a new set so that it has this order: as they came in, where none has
    left; else some sequences are tried, for it matters which of two in one slot comes first."""
    for recipe in _recipes(order, first, kind):
        if list(recipe.follow(recipe.members, kind)) == order:
            return recipe
    return None


def _recipes(order: list[Any], first: list[Any], kind: type) -> Iterator[Recipe]:
    """Recipes to try, the likely ones first."""
    for members in (first, order):
        yield Recipe(members)
        yield Recipe(members, presized=True)
        if kind is set:
            yield from (Recipe(members, again=n) for n in range(1, len(order) + 1))
    for tried in itertools.islice(itertools.permutations(order), _TRIES):
        yield Recipe(list(tried))
        yield Recipe(list(tried), presized=True)
