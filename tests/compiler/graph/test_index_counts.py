"""Putting elements at more indices than there are dimensions fails at its line."""

from __future__ import annotations

import pytest
import torch

from tests.harness import check

AT = {
    "a number": (torch.tensor([0]),),
    "a mask": (torch.tensor([True]),),
}


@pytest.mark.parametrize("name", AT)
def test_indices_of_a_tensor_without_dimensions(name):
    """Behind a write that is not taken back: `gaps` is not kept for that."""

    def fn(gaps, x):
        gaps.add_(1)
        failed = False
        try:
            x.index_put_(AT[name], torch.tensor(2.0))
        except IndexError:
            failed = True
        return failed, gaps * 2

    assert fn(torch.ones(8)[::2], torch.tensor(1.0))[0]
    run = check(fn, torch.ones(8)[::2], torch.tensor(1.0), graphs=None, breaks=None)
    assert run.numbers[0] == "GB0064"


def test_as_many_as_there_are_dimensions_are_in_the_graph():
    def fn(x, mask):
        x.index_put_((torch.tensor([0]), torch.tensor([1])), torch.tensor(2.0))
        x.index_put_((mask,), torch.tensor(3.0))
        return x + 1

    check(fn, torch.zeros(2, 2), torch.eye(2) > 0)
