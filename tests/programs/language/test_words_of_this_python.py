"""What differs between versions of Python is as the running one has it."""

from __future__ import annotations

import functools
import itertools
import math
import typing
import warnings

import pytest
import torch

import suture
from tests.harness import check


def test_floats_are_summed_as_python_sums_them():
    def fn(x):
        parts = [0.1] * 10
        return x + sum(parts), sum(parts), sum([1, *parts, 2], 0.5), sum([*parts, True])

    check(fn, torch.ones(2))


def test_floats_that_change_are_summed_as_python_sums_them():
    def fn(x, a):
        return x * sum([a, 0.1, 0.2])

    for a in (0.3, 0.7, 1e16):
        check(fn, torch.ones(2, dtype=torch.float64), a, graphs=None, breaks=None)


def test_floats_before_a_tensor_are_summed_first():
    def fn(x):
        return sum([0.1] * 10 + [x, 0.1, 0.2])

    check(fn, torch.ones(2, dtype=torch.float64))


@pytest.mark.skipif(not hasattr(math, "sumprod"), reason="sumprod is new in Python 3.12")
def test_sums_of_products_are_as_exact_as_pythons():
    def fn(x):
        return x + math.sumprod([0.1] * 10, [1] * 10)

    check(fn, torch.ones(2, dtype=torch.float64))


@pytest.mark.parametrize("extreme", [max, min])
def test_the_greatest_of_nothing(extreme):
    def fn():
        try:
            extreme([])
        except ValueError as error:
            return str(error)

    check(fn, graphs=0)


def test_a_coroutine_that_raises_stop_iteration():
    async def inner():
        raise StopIteration

    def fn():
        try:
            inner().send(None)
        except RuntimeError as error:
            return str(error), repr(error.__cause__)

    check(fn, graphs=0, breaks=None)


def test_an_async_generator_that_raises_its_end():
    async def inner(end):
        yield 1
        raise end

    async def outer(end):
        try:
            async for _ in inner(end):
                pass
        except RuntimeError as error:
            return str(error)

    def fn(end):
        try:
            outer(end).send(None)
        except StopIteration as stop:
            return stop.value

    for end in (StopIteration, StopAsyncIteration):
        check(fn, end, graphs=0, breaks=None)


class Shadow:
    greeting = "not super"


def test_what_is_called_super_is_called_as_written():
    super = Shadow

    class Child:
        def hello(self):
            return super().greeting

    check(lambda: Child().hello(), graphs=0)


def test_a_count_from_outside_warns_of_nothing():
    def fn(x):
        for number in itertools.count(3, 2):
            if number > 8:
                return x
            x = x + number

    def with_iterator(x, counts):
        return x + next(counts) + next(counts)

    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        check(fn, torch.ones(2))
        check(with_iterator, make=lambda: (torch.ones(2), itertools.count(3, 2)), graphs=None)
        check(with_iterator, make=lambda: (torch.ones(2), itertools.count(0.5)), graphs=None)


@pytest.mark.skipif(not hasattr(typing, "TypeAliasType"), reason="syntax of Python 3.12")
def test_bounds_of_type_parameters_are_computed_when_asked_for():
    space = {}
    exec(
        "def fn():\n"
        "    class Box[T: late]: pass\n"
        "    parameter = Box.__type_params__[0]\n"
        "    try:\n"
        "        parameter.__bound__\n"
        "    except NameError as error:\n"
        "        text = str(error)\n"
        "    late = 'now'\n"
        "    return text, parameter.__bound__\n",
        space,
    )
    check(space["fn"], graphs=0, breaks=None, recompiles=None)


@pytest.mark.parametrize("lengths", [(2, 2), (3, 2), (2, 3), (2, 2, 1), (1, 1, 2), (0, 1), ()])
def test_map_is_as_strict_as_it_is_in_python(lengths):
    def fn(x):
        seen = []
        try:
            made = map(lambda *a: sum(a), *[range(n) for n in lengths], strict=True)
            suture.graph_break()
            seen.extend(made)
            seen.extend(map(lambda *a: sum(a), *[range(n) for n in lengths], strict=True))
        except (TypeError, ValueError) as error:
            return x + 1, str(error), seen
        return x + sum(seen), list(map(abs, [1], strict=False))

    check(fn, torch.ones(2), graphs=None, breaks=None, recompiles=None, interpreted=None)


PLACEHOLDER = getattr(functools, "Placeholder", None)
needs_placeholders = pytest.mark.skipif(PLACEHOLDER is None, reason="new in Python 3.14")


@needs_placeholders
def test_a_partial_with_placeholders_is_filled_by_its_call():
    def told(*args, **kwargs):
        return args, kwargs

    outside = functools.partial(told, PLACEHOLDER, 2, PLACEHOLDER, 4, last=1)

    def fn(x):
        filled = outside(x, 3), outside(1, 3, 5, last=2)
        inner = functools.partial(told, PLACEHOLDER, 2)
        outer = functools.partial(inner, 5)
        seen = inner(x + 1), outer(6), outer.args, inner.args[0] is PLACEHOLDER
        for count in range(2):
            try:
                outside(*range(count))
            except TypeError as error:
                seen += (str(error),)
        return x + 2, filled, seen

    check(fn, torch.ones(2), graphs=None, breaks=None, recompiles=None, interpreted=None)


@needs_placeholders
@pytest.mark.parametrize("keywords", [False, True], ids=["last", "keyword"])
def test_placeholders_that_python_refuses_are_refused(keywords):
    def fn(x):
        if keywords:
            return x, functools.partial(max, key=PLACEHOLDER)
        return x, functools.partial(max, 1, PLACEHOLDER)

    check(fn, torch.ones(2), graphs=None, breaks=None, recompiles=None, interpreted=None)


def test_closing_a_generator_gives_what_it_does_in_python():
    def fn(x, caught):
        def numbers():
            try:
                yield x
            except caught:
                return x + 5

        generator = numbers()
        next(generator)
        return x, generator.close(), generator.close(), numbers().close()

    for caught in (GeneratorExit, ValueError):
        check(fn, torch.ones(2), caught, graphs=None)


@pytest.mark.filterwarnings("ignore:NotImplemented should not be used:DeprecationWarning")
def test_the_truth_of_not_implemented_is_pythons():
    def fn(x):
        try:
            return x + 1 if NotImplemented else x + 2
        except TypeError as error:
            return x + 3, str(error)

    check(fn, torch.ones(2))
