"""Operands that do not go together, or only through what one says about itself."""

from __future__ import annotations

import pytest
import torch

import suture
from tests.harness import check


class Pair(tuple):
    __slots__ = ()


def tried(operation, x):
    try:
        return operation(x)
    except TypeError as error:
        return str(error)


REPEATED = {
    "text": lambda x: "ab" * x,
    "text behind": lambda x: x * "ab",
    "bytes": lambda x: b"ab" * x,
    "tuple": lambda x: (1, 2) * x,
    "list": lambda x: [1, 2] * x,
    "size": lambda x: torch.Size((1, 2)) * x,
}


@pytest.mark.parametrize("x", [torch.tensor(2), torch.ones(3), torch.tensor([2, 3])], ids=repr)
@pytest.mark.parametrize("operation", REPEATED.values(), ids=REPEATED)
def test_a_tensor_says_how_often_a_sequence_is_repeated(operation, x):
    check(lambda x: (tried(operation, x), x + 1), x, graphs=None, breaks=None)


COMPARED = {
    "a named result": lambda x: x < x.max(0),
    "a named result before": lambda x: x.max(0) >= x,
    "a named result and a number": lambda x: x.max(0) > 1,
    "a tuple of a class": lambda x: Pair((1, x)) < x,
    "a tuple of a class and a list": lambda x: [1] <= Pair((1, 2)),
}


@pytest.mark.parametrize("operation", COMPARED.values(), ids=COMPARED)
def test_an_error_of_a_comparison_names_the_classes(operation):
    check(lambda x: (tried(operation, x), x + 1), torch.ones(2, 2), graphs=None, breaks=None)


class Level(int):
    """A number like any other, next to a tensor."""


class Scaled(float):
    def __add__(self, other):
        return other * 10

    def __iadd__(self, other):
        return other * 100

    def __lt__(self, other):
        return other + 0.5

    def __radd__(self, other):
        raise AssertionError("the tensor is asked first")


def test_instances_of_classes_derived_from_numbers_next_to_tensors():
    def fn(x, n):
        return x + n, n - x, x * n, n**x, x < n, n >= x, n % x

    check(fn, torch.arange(1.0, 4.0), Level(2))
    check(fn, torch.arange(1, 4), Level(2))
    compiled = suture.compile(lambda x, n: x + n, backend="eager")
    for n in (2, 3, 2):
        assert compiled(torch.ones(1), Level(n)).item() == 1 + n


def test_operators_of_a_class_derived_from_float_come_before_the_tensors():
    def fn(x, n):
        first = n
        first += x
        return x + n, n + x, n < x, x < n, n * x, first

    check(fn, torch.arange(1.0, 4.0), Scaled(2))
