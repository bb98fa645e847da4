"""torch.bincount: the number of counts is known where the numbers are places of a known range."""

import pytest
import torch

from tests.harness import check

X = torch.tensor([[0.0, 2.0, 1.0], [3.0, 0.0, 1.0], [1.0, 0.0, 2.0], [0.0, 1.0, 0.0]])


def found(x):
    return torch.bincount(x.argmax(-1), minlength=3).tolist()


def flat(x):
    counts = x.topk(2, -1).indices.flatten().bincount(minlength=5)
    return counts.shape[0], counts


def of_rows(x):
    first, *rest = torch.bincount(x.max(-1)[1], None, 3)
    return first, rest


@pytest.mark.parametrize("fn", [found, flat, of_rows])
@pytest.mark.parametrize("x", [X, X[:1], X[:0]], ids=["four", "one", "none"])
def test_as_many_counts_as_places(fn, x):
    check(fn, x, dynamic=False)


def more_than_that(x):
    return torch.bincount(x.argmax(-1), minlength=2).tolist()


def weighed(x):
    return torch.bincount(x.argmax(-1), x[:, 0], 3)


def any_numbers(x):
    return torch.bincount(x[:, 0].long(), minlength=2).tolist()


def wrapped(x):
    return torch.bincount((x.argmax(-1) - 1).long().abs(), minlength=1).tolist()


def in_two_dimensions(x):
    return torch.bincount(x.topk(2, -1).indices, minlength=3)


@pytest.mark.parametrize("fn", [more_than_that, weighed, any_numbers, wrapped, in_two_dimensions])
def test_other_counts_are_as_in_eager(fn):
    check(fn, X, graphs=None, breaks=None)
