"""The order of sets that are made of others: numbers, whose hashes are the same everywhere."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.harness import check

OUTSIDE = frozenset([41, 9, 2, 5, 7])


def difference(z: Any) -> Any:
    return {i for i in [41, 72, 17, 1, 9]} - z


def with_a_frozenset(z: Any) -> Any:
    return set([2, 72, 65, 16]) ^ frozenset({65, 16, 3, 33, 9})


def text_of_a_union(z: Any) -> Any:
    return f"{ ({64, 41, 9} | {9, 16}) }"


def updated_with_a_difference(z: Any) -> Any:
    made = set([32, 65, 64]) ^ frozenset([64, 2, 1])
    made |= set([2, 1, 72, 9, 17]).difference(z)
    return made


def of_one_from_outside(z: Any) -> Any:
    return z ^ frozenset([33, 1, 65, 41])


def of_keys(z: Any) -> Any:
    return dict.fromkeys([25, 16, 40, 9, 32, 24]).keys() - {17, 25, 1, 32}


def with_keys(z: Any) -> Any:
    return frozenset([64, 32, 3, 8]) ^ dict.fromkeys([16]).keys()


def met_by_keys(z: Any) -> Any:
    return dict.fromkeys([72, 2, 41, 33]).keys() & frozenset([33, 41, 9, 72, 17])


@pytest.mark.parametrize(
    "of",
    [
        of_keys,
        with_keys,
        met_by_keys,
        difference,
        with_a_frozenset,
        text_of_a_union,
        updated_with_a_difference,
        of_one_from_outside,
    ],
)
@pytest.mark.parametrize("z", [OUTSIDE, frozenset([64, 25, 9, 5, 7]), frozenset([25, 72, 65, 5])])
def test_the_order_is_that_of_the_table_the_program_makes(of: Any, z: Any) -> None:
    def fn(x: torch.Tensor, z: Any) -> Any:
        return x + 1, of(z)

    graphs = check(fn, torch.ones(2), z)
    assert not graphs.numbers

    def shown(x: torch.Tensor, z: Any) -> Any:
        made = of(z)
        print(made)
        return x + 1, str(made)

    check(shown, torch.ones(2), z, graphs=None, breaks=None)


def test_an_operator_in_place_gives_another_frozenset() -> None:
    def fn(x: torch.Tensor, given: frozenset[int]) -> Any:
        first = frozenset([1, 2])
        joined, met, left, either = first, first, first, first
        joined |= {2, 3}
        met &= {1}
        left -= {1}
        either ^= {1, 9}
        kept = given
        given |= {5}
        return x + len(joined), first, joined, met, left, either, kept, given

    check(fn, torch.ones(2), frozenset([7]))


def test_a_frozenset_of_a_frozenset_is_that_one() -> None:
    def fn(x: torch.Tensor) -> Any:
        made = frozenset([17, 40, 1]) ^ frozenset([8, 41])  # a constant
        again = frozenset(made)
        less = frozenset({65, 16, 40, 2, 32, 9}) - frozenset({65, 3, 64})
        return x + 1, f"{again}", again is made, f"{frozenset(less)}", frozenset(less) is less

    check(fn, torch.ones(2))
