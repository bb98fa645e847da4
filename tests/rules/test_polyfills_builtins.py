"""Builtins that go over iterables, and their polyfills."""

from __future__ import annotations

import builtins
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suture.rules.polyfills import builtins as polyfills

from .compare import same

items = st.lists(st.integers(-4, 4), max_size=7)


@given(items)
def test_any_all(a):
    same(any, polyfills.any, a)
    same(all, polyfills.all, a)


@given(items, st.integers(-2, 2))
def test_sum(a, start):
    same(sum, polyfills.sum, a)
    same(sum, polyfills.sum, a, start)
    same(sum, polyfills.sum, [[x] for x in a], start=[])
    same(sum, polyfills.sum, [Fraction(x, 3) for x in a], start=Fraction(1, 7))


@given(st.lists(st.floats(-1e6, 1e6), max_size=8))
def test_sum_of_floats(a):
    same(sum, polyfills.sum, a)
    same(sum, polyfills.sum, [1, True, *a, 2])
    same(sum, polyfills.sum, [*a, Fraction(1, 3), *a])


def test_sum_of_floats_and_integers_carries_what_this_python_carries():
    same(sum, polyfills.sum, [1, True, 0.1, 0.1, 0.1, 2])
    same(sum, polyfills.sum, [1e16, 1, 1, 1, 1.0])
    same(sum, polyfills.sum, [0.1, 10**400])


numbers = st.one_of(st.floats(-1e6, 1e6), st.integers(-4, 4), st.booleans())
complexes = st.builds(complex, st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))


@given(st.lists(st.one_of(numbers, complexes), max_size=8))
def test_sum_of_complex_numbers(a):
    same(sum, polyfills.sum, a)
    same(sum, polyfills.sum, [0.1] * 10, 0j)
    same(sum, polyfills.sum, [*[0.1] * 10, 0j, *a])
    same(sum, polyfills.sum, [0.1 + 0.1j] * 10 + a)
    same(sum, polyfills.sum, a, 0.1 + 0.1j)
    same(sum, polyfills.sum, [*a, Fraction(1, 3), *a], 0j)


class Odd(float):
    def __radd__(self, other):
        return "added"


@pytest.mark.parametrize("start", [1j, 0.5, 1])
def test_sum_asks_a_derived_float_where_python_does(start):
    same(sum, polyfills.sum, [start, Odd(2)])
    same(sum, polyfills.sum, [Odd(-0.0)], start)


@pytest.mark.parametrize("start", ["", b"", bytearray()])
def test_text_is_not_summed(start):
    same(sum, polyfills.sum, [], start)


@given(items, st.sampled_from([None, abs, lambda x: -x]), st.booleans())
def test_min_max(a, key, with_default):
    more = {"default": "none"} if with_default else {}
    for original, polyfill in ((min, polyfills.min), (max, polyfills.max)):
        same(original, polyfill, a, key=key, text=False, **more)
        same(original, polyfill, *a, key=key, text=False, **more)


def test_min_of_nothing_and_too_much():
    same(min, polyfills.min)
    same(max, polyfills.max, 1, 2, default=3, text=False)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers()), max_size=12), st.booleans())
def test_sorted_is_stable(a, reverse):
    def first(pair):
        return pair[0]

    same(sorted, polyfills.sorted, a, key=first, reverse=reverse)
    same(sorted, polyfills.sorted, a, reverse=reverse)


def test_sorted_of_what_has_no_order():
    same(sorted, polyfills.sorted, [1, "a"], text=False)


@given(items, st.integers(-2, 2))
def test_enumerate(a, start):
    same(enumerate, polyfills.enumerate, a, start)
    same(enumerate, polyfills.enumerate, a, start=start)


@given(items, items)
def test_map_filter(a, b):
    same(map, polyfills.map, abs, a)
    same(map, polyfills.map, lambda x, y: x - y, a, b)
    same(filter, polyfills.filter, lambda x: x > 0, a)
    same(filter, polyfills.filter, None, a)


@given(items, items, items, st.booleans())
def test_zip(a, b, c, strict):
    same(zip, polyfills.zip, a, b, c, strict=strict)
    same(zip, polyfills.zip, a, strict=strict)
    same(zip, polyfills.zip, strict=strict)


class Sequenced:
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


class Unreversed(Sequenced):
    __reversed__ = None


@given(items)
def test_reversed(a):
    same(reversed, polyfills.reversed, tuple(a))
    same(reversed, polyfills.reversed, dict.fromkeys(a))
    same(reversed, polyfills.reversed, Sequenced(a))


def test_what_cannot_be_reversed():
    same(reversed, polyfills.reversed, {1, 2})
    same(reversed, polyfills.reversed, Unreversed([1]))


def test_every_polyfill_keeps_the_name_of_its_original():
    for name in ("any", "all", "sum", "min", "max", "sorted", "enumerate", "map", "filter", "zip"):
        assert getattr(polyfills, name).__name__ == getattr(builtins, name).__name__
