# ruff: noqa: F821, F841  (programs as users write them)
"""Loops with a break in each turn: one body, few variants, a flat stack."""

from __future__ import annotations

import sys
import traceback

import torch

import suture
from tests.harness import check
from tests.programs.breaks.comparing import check_program

X = torch.zeros(2)
TURNS = 100_000


@suture.disable
def outside():
    return None


def run(fn, *args, most=4):
    """Call it; give the result and require few variants and nothing interpreted."""
    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    with suture.config.patch(strict=True):
        result = compiled(*args)
    stats = suture.stats()
    body = [p for unit in _units() for p in unit.points.values() if p.data.variants]
    assert sum(len(p.data.variants) for p in body) <= most, stats.recompilations
    assert not stats.interpreted, stats.interpreted
    return result


def _units():
    from suture.runtime.unit import ALL

    return list(ALL)


def test_100_000_turns_with_a_break_in_each():
    def fn(x, n):
        for i in range(n):
            x = x + 1
            outside()
        return x

    out = run(fn, X, TURNS)
    assert out.tolist() == [TURNS, TURNS]


def test_the_number_of_variants_does_not_hang_on_the_number_of_turns():
    def fn(x, n):
        for i in range(n):
            x = x + i
            outside()
        return x

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    compiled(X, 50)
    before = suture.stats().variants
    assert compiled(X, 3000)[0] == sum(range(3000))
    assert suture.stats().variants - before <= 2
    assert not suture.stats().interpreted


def test_while_on_a_tensors_value():
    def fn(x):
        while x.sum() < 5000:
            x = x + 1
        return x

    assert run(fn, X).tolist() == [2500.0, 2500.0]


def test_while_with_a_counter():
    def fn(x, n):
        i = 0
        while i < n:
            x = x + i
            outside()
            i += 1
        return x

    assert run(fn, X, 3000)[0] == sum(range(3000))


def test_results_collected_in_a_list():
    def fn(x, n):
        out = []
        for i in range(n):
            x = x + 1
            outside()
            out.append(x)
        return out

    out = run(fn, X, 3000)
    assert len(out) == 3000
    assert out[-1][0] == 3000


def test_results_collected_by_a_comprehension():
    def fn(x, n):
        return [(x + i, outside())[0] for i in range(n)]

    out = run(fn, X, 3000)
    assert len(out) == 3000
    assert out[-1][0] == 2999


def test_sum_of_numbers():
    def fn(x, n):
        total = 0
        for i in range(n):
            outside()
            total += i
            x = x + total
        return x, total

    assert run(fn, X, 2000, most=5)[1] == sum(range(2000))


def test_the_stack_stays_flat():
    depths = []

    @suture.disable
    def depth():
        frame, n = sys._getframe(), 0
        while frame is not None:
            frame, n = frame.f_back, n + 1
        depths.append(n)

    def fn(x, n):
        for i in range(n):
            x = x + 1
            depth()
        return x

    run(fn, X, 2000)
    assert len(set(depths[3:])) == 1, traceback.format_stack()


def test_inlined_calls_in_the_body():
    def layer(x):
        x = x + 1
        outside()
        return x * 1.0

    def fn(x, n):
        for _ in range(n):
            x = layer(x)
        return x

    assert run(fn, X, 3000, most=5)[0] == 3000


def test_break_only_now_and_then():
    def fn(x):
        for i in range(40):
            x = x + 1
            if i % 10 == 9:
                suture.graph_break()
        return x

    check_program(fn, X)


def test_nested_loops_with_a_break_in_the_inner_one():
    def fn(x, n):
        for i in range(n):
            for j in range(n):
                x = x + i * j
                outside()
            x = x * 1.0
        return x

    assert run(fn, X, 40, most=10)[0] == sum(i * j for i in range(40) for j in range(40))


def test_a_long_loop_without_a_break_is_not_unrolled_for_ever():
    def fn(x, n):
        for _ in range(n):
            x = x + 1
        return x

    with suture.config.patch(unroll_limit=50):
        assert run(fn, X, 5000, most=6)[0] == 5000


def test_a_long_while_without_a_break_is_not_unrolled_for_ever():
    def fn(x, n):
        i = 0
        while i < n:
            x = x + 1
            i += 1
        return x

    with suture.config.patch(unroll_limit=50):
        assert run(fn, X, 3000, most=8)[0] == 3000


def test_iterator_shared_by_two_loops():
    def fn(x):
        it = iter(range(10))
        for i in it:
            x = x + i
            suture.graph_break()
            if i == 3:
                break
        for i in it:
            x = x * 2
            suture.graph_break()
        return x, list(it)

    check_program(fn, X)


def test_one_iterator_taken_twice_in_each_turn():
    def fn(x):
        it = iter([1.0, 2.0, 3.0, 4.0])
        for a, b in zip(it, it):
            x = x + a * b
            suture.graph_break()
        return x

    check_program(fn, X)


def test_a_local_named_like_a_slot_of_the_stack_changes_nothing():
    def fn(x):
        stack_1 = 0.5
        for i in range(6):
            x = x * i + stack_1
            suture.graph_break()
        return x

    check(fn, X, graphs=2, breaks=["GB0025"] * 2, recompiles=None)
