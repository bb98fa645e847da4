"""A loop that broke goes on with a real iterator: unrolled first, as a loop if it breaks again."""

from __future__ import annotations

import pytest
import torch

import suture
from tests.harness import check


def variants(fn) -> int:
    return sum(len(p.data.variants) for p in suture.look.unit_of(fn).points.values())


def test_one_break_in_a_loop_leaves_one_graph_for_the_rest():
    layers = torch.nn.ModuleList([torch.nn.Linear(3, 3) for _ in range(6)])

    def fn(x):
        for i, layer in enumerate(layers):
            x = layer(x)
            if i == 1:
                suture.graph_break()
        return x.sum()

    check(fn, torch.ones(2, 3), graphs=2, breaks=("GB0025",))


def test_zip_and_range_and_dict_items():
    weights = {"a": torch.ones(2), "b": torch.full((2,), 2.0), "c": torch.full((2,), 3.0)}

    def fn(x):
        for i, (name, w) in zip(range(10), weights.items()):
            x = x * w + i
            if name == "a":
                suture.graph_break()
        return x

    check(fn, torch.ones(2), graphs=2, breaks=("GB0025",))


def test_a_break_in_every_turn_compiles_the_body_once():
    def fn(x, n):
        for i in range(n):
            x = x + i
            suture.graph_break()
        return x

    compiled = suture.compile(fn, backend="eager")
    x = torch.zeros(2)
    assert torch.equal(compiled(x, 50), fn(x, 50))
    assert variants(compiled) <= 6  # however many turns
    before = variants(compiled)
    assert torch.equal(compiled(x, 50), fn(x, 50))
    assert variants(compiled) == before


def test_an_iterator_shared_by_two_loops_is_advanced_once():
    def fn(x, items):
        it = iter(items)
        for v in it:
            x = x + v
            if v == 2:
                suture.graph_break()
                break
        for v in it:
            x = x * v
        return x, list(it)

    check(fn, torch.ones(2), [1, 2, 3, 4], graphs=2, breaks=("GB0025",))


def test_an_iterator_given_as_argument_is_consumed_as_in_eager():
    def fn(x, it):
        for v in it:
            x = x + v
            if v == 2:
                break
        return x

    compiled = suture.compile(fn, backend="eager")
    ours, plain = iter([1, 2, 3, 4]), iter([1, 2, 3, 4])
    x = torch.ones(2)
    assert torch.equal(compiled(x, ours), fn(x, plain))
    assert list(ours) == list(plain) == [3, 4]


def test_an_iterator_over_a_list_that_the_region_filled_is_where_it_was():
    def fn(x, stop):
        parts = []
        torch._dynamo.graph_break()
        parts.extend([1, 2, 3])
        seen = []
        for n in parts:
            seen.append(n)
            if n == stop:
                torch._dynamo.graph_break()
        back = reversed(parts)
        first = next(back)
        torch._dynamo.graph_break()
        parts.append(first)
        return x * len(seen), seen, list(back)

    check(fn, torch.ones(2), 2, graphs=None, breaks=None, recompiles=None)


def _shrinks_in_the_loop(x, table):
    for i, _ in zip(range(3), table):
        suture.graph_break()
        if i == 0:
            del table["b"]
    return x + 1


def _shrinks_behind_a_break(x, table):
    left = iter(table)
    next(left)
    suture.graph_break()
    del table["b"]
    return x + 1, next(left)


def _changes_a_value(x, table):
    left = iter(table.items())
    next(left)
    suture.graph_break()
    table["b"] = 7
    return x + 1, next(left), next(left, None)


def _replaces_a_key(x, table):
    left = iter(table)
    next(left)
    suture.graph_break()
    del table["b"]
    table["c"] = 3
    suture.graph_break()
    return x + 1, list(left)


def _is_through(x, table):
    left = iter(table.values())
    list(left)
    suture.graph_break()
    return x + 1, next(left, None)


@pytest.mark.parametrize(
    "fn",
    [_shrinks_in_the_loop, _shrinks_behind_a_break, _changes_a_value, _replaces_a_key, _is_through],
)
def test_a_dict_that_changes_below_its_iterator(fn):
    check(fn, torch.ones(2), {"a": 1, "b": 2}, graphs=None, breaks=None, recompiles=None)
    check(fn, torch.ones(2), {(1, 2): 1, "b": 2}, graphs=None, breaks=None, recompiles=None)
