"""Functions made while tracing and functools.partial: what they hold and what they answer."""

from __future__ import annotations

import functools

import torch

import suture
from tests.harness import check


def test_function_that_leaves_is_the_one_in_its_own_cell():
    def fn(x):
        def me():
            return me

        def even(n):
            return n == 0 or odd(n - 1)

        def odd(n):
            return n != 0 and even(n - 1)

        return x + 1, me, even

    _, me, even = suture.compile(fn, backend="eager", fullgraph=True)(torch.ones(1))
    assert me() is me
    assert even(4) and not even(3)
    assert even.__closure__[0].cell_contents.__closure__[0].cell_contents is even


def test_partial_answers_for_what_its_class_has():
    names = ("__call__", "__doc__", "__name__", "__repr__", "__dict__", "__reduce__", "other")

    def fn(x):
        add = functools.partial(torch.add, x)
        add.other = 5
        return add(1) + add.other, [hasattr(add, name) for name in names], vars(add)

    check(fn, torch.ones(2), graphs=1)


def test_partial_from_outside_keeps_its_attributes():
    add = functools.partial(torch.add, alpha=2)
    add.scale = 3

    def fn(x):
        return add(x, 1) * add.scale, hasattr(add, "other")

    compiled = suture.compile(fn, backend="eager", fullgraph=True)
    assert compiled(torch.ones(1))[0].item() == fn(torch.ones(1))[0].item()
    add.scale = 4
    assert compiled(torch.ones(1))[0].item() == fn(torch.ones(1))[0].item()


def test_function_that_torch_would_script_while_tracing_is_followed():
    @torch.jit.script_if_tracing
    def scripted(x, n: int = 2):
        return x * n

    def fn(x):
        return scripted(x) + scripted(x, 3)

    check(fn, torch.ones(2), graphs=1)


def test_code_of_a_function_made_inside_is_replaced():
    def fn(x):
        two = 2

        def double(y):
            "Twice."
            return y * two

        double.__code__ = double.__code__.replace(co_name="other", co_qualname="other")
        names = double.__name__, double.__qualname__, double.__doc__, double.__code__.co_name
        return double(x), names

    check(fn, torch.ones(2))


def test_function_with_another_code_leaves():
    def fn(x):
        def first(y):
            "The first."
            return y + 1

        def second(y):
            "The second."
            return y * 3

        first.__code__ = second.__code__.replace(co_name="third")
        return x + 1, first

    first = suture.compile(fn, backend="eager", fullgraph=True)(torch.ones(1))[1]
    assert first(2) == 6
    assert (first.__name__, first.__doc__, first.__code__.co_name) == (
        "first",
        "The first.",
        "third",
    )
    assert first.__qualname__.endswith("first")


def test_code_that_takes_other_cells_is_refused():
    def fn(x):
        two = 2

        def double(y):
            return y * two

        def plain(y):
            return y + 1

        try:
            plain.__code__ = double.__code__
        except ValueError as error:
            return plain(x), str(error)
        return double(x)

    check(fn, torch.ones(2), graphs=None, breaks=None)


def test_decorator_of_grad_mode_on_a_function_made_inside():
    def fn(x):
        @torch.no_grad()
        def double(y):
            return y * 2

        return double(x) + x, double.__name__

    check(fn, torch.ones(2, requires_grad=True))
