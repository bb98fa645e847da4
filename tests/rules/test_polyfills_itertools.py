"""itertools and its polyfills give the same items, after the same number of steps."""

from __future__ import annotations

import itertools
import operator
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suture.rules.polyfills import itertools as polyfills
from suture.rules.polyfills import itertools_combinatorics as combinatorics

from .compare import Watched, outcome, same

items = st.lists(st.integers(-3, 3), max_size=6)
small = st.integers(-1, 4)


def odd(x):
    return x % 2


@given(items, items, items)
def test_chain(a, b, c):
    same(itertools.chain, polyfills.chain, a, b, c)
    same(itertools.chain.from_iterable, polyfills.chain_from_iterable, [a, b, c])


@pytest.mark.parametrize(
    ("original", "polyfill"),
    [
        (itertools.chain.from_iterable, polyfills.chain_from_iterable),
        (itertools.cycle, polyfills.cycle),
        (itertools.accumulate, polyfills.accumulate),
        (itertools.pairwise, polyfills.pairwise),
        (itertools.tee, polyfills.tee),
        (itertools.groupby, combinatorics.groupby),
    ],
)
def test_what_is_no_iterable_is_refused_by_the_call_itself(original, polyfill):
    with pytest.raises(TypeError):
        original(5)
    with pytest.raises(TypeError):
        polyfill(5)


@given(st.integers(-5, 5), st.integers(-3, 3))
def test_count(start, step):
    same(itertools.count, polyfills.count, start, step)
    same(itertools.count, polyfills.count, start + 0.5, step)


def test_count_needs_numbers():
    same(itertools.count, polyfills.count, None, text=False)


@given(items)
def test_cycle(a):
    same(itertools.cycle, polyfills.cycle, a)


@given(small)
def test_repeat(times):
    same(itertools.repeat, polyfills.repeat, "x", times)
    same(itertools.repeat, polyfills.repeat, "x")


@given(items, st.sampled_from([None, operator.mul, max]), st.sampled_from([None, 0, 7]))
def test_accumulate(a, function, initial):
    same(itertools.accumulate, polyfills.accumulate, a, function, initial=initial)


@given(items, st.lists(st.booleans(), max_size=6))
def test_compress(data, selectors):
    same(itertools.compress, polyfills.compress, data, selectors)


@given(items)
def test_taking_and_dropping(a):
    same(itertools.dropwhile, polyfills.dropwhile, odd, a)
    same(itertools.takewhile, polyfills.takewhile, odd, a)
    same(itertools.filterfalse, polyfills.filterfalse, odd, a)
    same(itertools.filterfalse, polyfills.filterfalse, None, a)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=4))
def test_starmap(pairs):
    same(itertools.starmap, polyfills.starmap, pow, pairs)


@given(items)
def test_pairwise(a):
    same(itertools.pairwise, polyfills.pairwise, a)


bound = st.one_of(st.none(), st.integers(-1, 8))


@given(items, st.lists(bound, min_size=1, max_size=3))
def test_islice(a, bounds):
    same(itertools.islice, polyfills.islice, a, *bounds, text=False)


@given(items, items, items)
def test_zip_longest(a, b, c):
    same(itertools.zip_longest, polyfills.zip_longest, a, b, c, fillvalue="-")
    same(itertools.zip_longest, polyfills.zip_longest)


@given(items, st.lists(st.integers(0, 2), max_size=12))
def test_tee_hands_each_item_to_all_and_takes_it_once(a, order):
    def run(tee):
        source = Watched(a)
        branches = tee(source, 3)
        got = [next(branches[which], "end") for which in order]
        return got, source.asked

    assert run(polyfills.tee) == run(itertools.tee)


@given(items, items, st.integers(-1, 2))
def test_product(a, b, repeat):
    same(itertools.product, combinatorics.product, a, b, repeat=repeat)
    same(itertools.product, combinatorics.product)


@given(items, small)
def test_combinations(a, r):
    same(itertools.combinations, combinatorics.combinations, a, r)
    same(
        itertools.combinations_with_replacement,
        combinatorics.combinations_with_replacement,
        a,
        r,
    )


@given(items, st.one_of(st.none(), small))
def test_permutations(a, r):
    same(itertools.permutations, combinatorics.permutations, a, r)


@given(items, st.sampled_from([None, odd]))
def test_groupby(a, key):
    def run(groupby):
        return [(k, list(group)) for k, group in groupby(a, key)]

    assert run(combinatorics.groupby) == run(itertools.groupby)


@given(items, st.lists(st.integers(0, 3), max_size=4))
def test_groups_that_are_left_early(a, lengths):
    def run(groupby):
        source = Watched(a)
        groups = groupby(source)
        seen = []
        old = []
        for length in lengths:
            found = next(groups, None)
            if found is None:
                break
            seen.append((found[0], list(islice(found[1], length)), source.asked))
            old.append(found[1])
        return seen, [list(group) for group in old[:-1]]

    assert run(combinatorics.groupby) == run(itertools.groupby)


@pytest.mark.skipif(not hasattr(itertools, "batched"), reason="batched is new in Python 3.12")
@given(items, st.integers(0, 3))
def test_batched(a, n):
    same(itertools.batched, combinatorics.batched, a, n, text=False)


def test_iterators_are_made_lazily():
    assert outcome(lambda: next(polyfills.chain([1], 5))) == ("value", 1)
