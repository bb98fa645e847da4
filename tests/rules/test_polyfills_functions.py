"""functools, operator, heapq, bisect, math and collections, and their polyfills."""

from __future__ import annotations

import bisect
import collections
import functools
import heapq
import math
import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suture.rules.polyfills import bisect as bisect_polyfills
from suture.rules.polyfills import collections as collections_polyfills
from suture.rules.polyfills import functools as functools_polyfills
from suture.rules.polyfills import heapq as heapq_polyfills
from suture.rules.polyfills import math as math_polyfills
from suture.rules.polyfills import operator as operator_polyfills

from .compare import same

items = st.lists(st.integers(-4, 4), max_size=9)
numbers = st.floats(allow_nan=False, allow_infinity=False, width=32)
whole = st.integers(-3, 12)


@given(items)
def test_reduce(a):
    same(functools.reduce, functools_polyfills.reduce, operator.sub, a)
    same(functools.reduce, functools_polyfills.reduce, operator.sub, a, 10)


@given(items)
def test_cmp_to_key(a):
    def backwards(x, y):
        return y - x

    key = functools_polyfills.cmp_to_key(backwards)
    wanted = functools.cmp_to_key(backwards)
    assert sorted(a, key=key) == sorted(a, key=wanted)
    for compare in (operator.lt, operator.le, operator.gt, operator.ge, operator.eq):
        assert compare(key(1), key(2)) == compare(wanted(1), wanted(2))
    with pytest.raises(TypeError):
        key(1) < 1
    with pytest.raises(TypeError):
        hash(key(1))


@given(items, st.integers(-4, 4))
def test_count_and_index(a, b):
    same(operator.countOf, operator_polyfills.countOf, a, b)
    same(operator.indexOf, operator_polyfills.indexOf, a, b)


class Hinted:
    def __init__(self, hint):
        self.hint = hint

    def __length_hint__(self):
        return self.hint


@pytest.mark.parametrize("hint", [0, 3, -1, "x", NotImplemented])
def test_length_hint(hint):
    same(operator.length_hint, operator_polyfills.length_hint, Hinted(hint), 7)
    same(operator.length_hint, operator_polyfills.length_hint, object(), 7)
    same(operator.length_hint, operator_polyfills.length_hint, (1, 2))
    same(operator.length_hint, operator_polyfills.length_hint, (1, 2), "x")


@given(items, items)
def test_concat(a, b):
    same(operator.concat, operator_polyfills.concat, tuple(a), tuple(b))
    same(operator.concat, operator_polyfills.concat, 1, 2)
    mine, theirs = list(a), list(a)
    assert operator_polyfills.iconcat(mine, b) is mine
    assert operator.iconcat(theirs, b) == mine


def test_getters():
    value = 3 + 4j
    for names in (("real",), ("real", "imag"), ("real.real",)):
        assert operator_polyfills.attrgetter(*names)(value) == operator.attrgetter(*names)(value)
    table = {"a": 1, "b": 2}
    for keys in (("a",), ("a", "b")):
        assert operator_polyfills.itemgetter(*keys)(table) == operator.itemgetter(*keys)(table)
    assert operator_polyfills.methodcaller("split", ",", maxsplit=1)("a,b,c") == ["a", "b,c"]
    assert operator_polyfills.call(divmod, 7, 2) == operator.call(divmod, 7, 2)
    same(operator.attrgetter, operator_polyfills.attrgetter, 1)
    same(operator.methodcaller, operator_polyfills.methodcaller, 1)


@given(st.lists(st.tuples(st.sampled_from(["push", "pop", "replace", "pushpop"]), whole)), items)
def test_heaps_are_the_same_item_by_item(steps, start):
    mine, theirs = list(start), list(start)
    heapq_polyfills.heapify(mine)
    heapq.heapify(theirs)
    assert mine == theirs
    for name, item in steps:
        args = () if name == "pop" else (item,)
        if name in ("pop", "replace") and not theirs:
            with pytest.raises(IndexError, match="index out of range"):
                getattr(heapq_polyfills, f"heap{name}")(mine, *args)
            continue
        given = getattr(heapq_polyfills, f"heap{name}")(mine, *args)
        assert given == getattr(heapq, f"heap{name}")(theirs, *args)
        assert mine == theirs


def test_a_heap_is_a_list():
    same(heapq.heappush, heapq_polyfills.heappush, (1,), 2, text=False)


bound = st.one_of(st.none(), st.integers(0, 9))


@given(items, st.integers(-5, 5), st.integers(-1, 9), bound, st.booleans())
def test_bisect(a, x, lo, hi, keyed):
    a = tuple(sorted(a))
    if hi is not None:
        hi = min(hi, len(a))
    key = (lambda item: item // 2) if keyed else None
    for name in ("bisect_left", "bisect_right"):
        same(getattr(bisect, name), getattr(bisect_polyfills, name), a, x, lo, hi, key=key)
    for name in ("insort_left", "insort_right"):
        mine, theirs = list(a), list(a)
        getattr(bisect_polyfills, name)(mine, x, key=key)
        getattr(bisect, name)(theirs, x, key=key)
        assert mine == theirs


@given(items, st.integers(1, 3))
def test_prod(a, start):
    same(math.prod, math_polyfills.prod, a)
    same(math.prod, math_polyfills.prod, a, start=start)


@given(st.lists(st.integers(-60, 60), max_size=4))
def test_divisors(a):
    same(math.gcd, math_polyfills.gcd, *a)
    same(math.lcm, math_polyfills.lcm, *a)


@given(whole, st.one_of(st.none(), whole))
def test_counting(n, k):
    same(math.factorial, math_polyfills.factorial, n)
    same(math.perm, math_polyfills.perm, n, k)
    if k is not None:
        same(math.comb, math_polyfills.comb, n, k)


@given(st.one_of(st.integers(-2, 200), st.integers(10**20, 10**24)))
def test_isqrt(n):
    same(math.isqrt, math_polyfills.isqrt, n)


@given(numbers, numbers, st.sampled_from([0.0, 1e-9, 0.5, -1.0]))
def test_isclose(a, b, tolerance):
    same(math.isclose, math_polyfills.isclose, a, b, rel_tol=tolerance)
    same(math.isclose, math_polyfills.isclose, a, b, abs_tol=tolerance)


@given(st.one_of(numbers, st.sampled_from([math.inf, -math.inf, math.nan])))
def test_kinds_of_floats(x):
    for name in ("isnan", "isinf", "isfinite", "degrees", "radians"):
        same(getattr(math, name), getattr(math_polyfills, name), x)


@given(items, items)
def test_counters(a, b):
    mine, theirs = {}, {}
    for each in (a, b):
        collections_polyfills.count_elements(mine, each)
        collections._count_elements(theirs, each)
    assert mine == theirs
    assert list(mine) == list(theirs)
