"""What this Python says of a method that gives something wrong, and of an item that is missing."""

from __future__ import annotations

import collections
import operator

import pytest
import torch

from tests.harness import check


def giving(method, result):
    return type("Giving", (), {method: lambda self, *args: result})()


CASES = {
    "bool": (bool, "__bool__", 1.5),
    "int": (int, "__int__", 1.5),
    "int_by_index": (int, "__index__", "text"),
    "float": (float, "__float__", 1),
    "complex": (complex, "__complex__", 1),
    "index": (lambda made: [1, 2][made], "__index__", 1.5),
    "str": (str, "__str__", 1),
    "repr": (repr, "__repr__", 1),
    "format": (lambda made: f"{made:x}", "__format__", 1),
    "iter": (lambda made: [item for item in made], "__iter__", 1),  # noqa: C416
    "length_hint": (operator.length_hint, "__length_hint__", 1.5),
    "negative_hint": (operator.length_hint, "__length_hint__", -1),
    "keywords": (lambda made: dict(**made), "other", 1),
}


@pytest.mark.parametrize(("convert", "method", "result"), CASES.values(), ids=CASES)
def test_the_error_that_the_program_handles_says_it(convert, method, result):
    def fn(x, made):
        try:
            convert(made)
        except (TypeError, ValueError) as error:
            return x + 1, str(error)
        return x, "no error"

    check(fn, torch.ones(2), giving(method, result), graphs=1)


@pytest.mark.parametrize("look", ["list", "tuple", "deque", "remove_from_deque"])
def test_the_error_about_an_item_that_is_missing_says_it(look):
    def fn(x):
        try:
            if look == "list":
                [1, 2].index("a")
            elif look == "tuple":
                (1, 2).index("a")
            elif look == "deque":
                collections.deque([1, 2]).index("a")
            else:
                collections.deque([1, 2]).remove("a")
        except ValueError as error:
            return x + 1, str(error)

    check(fn, torch.ones(2), graphs=1)


class Awaited:
    def __init__(self, result):
        self.result = result

    def __await__(self):
        return self.result


@pytest.mark.parametrize("make", [lambda: Awaited(3), lambda: 3], ids=["no_iterator", "no_method"])
def test_the_error_of_an_await_says_it(make):
    async def waits(x, what):
        try:
            await what
        except TypeError as error:
            return x + 1, str(error)

    def fn(x, what):
        try:
            waits(x, what).send(None)
        except StopIteration as stop:
            return stop.value

    check(fn, torch.ones(2), make(), graphs=None, breaks=None)
