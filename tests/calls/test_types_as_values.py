"""Types as annotations write them: `X | None`, `list[X]`."""

from __future__ import annotations

import torch

import suture
from tests.harness import check


class One:
    pass


class Meta(type):
    def __or__(cls, other):
        return "own"


class WithMeta(metaclass=Meta):
    pass


def test_a_union_with_none_is_made_while_tracing():
    def fn(x):
        either = One | int | None
        nested = (list[int] | None).__args__
        told = isinstance(None, One | None), isinstance(3, either), isinstance("", either)
        return x + 1, told, either == (None | int | One), str(int | None), nested, WithMeta | None

    check(fn, torch.ones(2))


def test_a_union_with_no_type_raises_as_in_eager():
    def fn(x):
        try:
            One | 3
        except TypeError as error:
            return x + 1, str(error)

    check(fn, torch.ones(2))


def test_a_new_union_of_the_same_types_is_the_same_assumption():
    def fn(x, kind):
        return x + len(kind.__args__)

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    for kind in (One | None, One | None, list[One], list[One]):
        assert torch.equal(compiled(torch.ones(2), kind), torch.ones(2) + len(kind.__args__))
    assert suture.stats().variants == 2
    assert torch.equal(compiled(torch.ones(2), One | int | None), torch.full((2,), 4.0))
