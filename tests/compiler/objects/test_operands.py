"""Operands that do not go together, or only through what one says about itself."""

from __future__ import annotations

import pytest
import torch

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
