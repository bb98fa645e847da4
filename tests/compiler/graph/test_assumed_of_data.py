"""What a graph assumes of numbers from data may be wrong where the program does not raise: then the
region is run by the interpreter, and nothing is written twice."""

import pytest
import torch

import suture


def new_one(x, mask, held):
    return torch.zeros(3).add_(x[mask])


def copied(x, mask, held):
    made = torch.zeros(3)
    made[0:3] = x[mask]
    return made


def argument(x, mask, held):
    held.add_(1)
    held.add_(x[mask])
    return held.sin()


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("fn", [new_one, copied, argument])
@pytest.mark.filterwarnings("ignore")
def test_a_size_of_one_is_broadcast_into_what_is_written(fn, backend):
    compiled = suture.compile(fn, backend=backend)
    x = torch.randn(4)
    for count in (3, 1, 3, 1):
        mask = torch.arange(4) < count
        held, expected_held = torch.zeros(3), torch.zeros(3)
        expected = fn(x, mask, expected_held)
        assert torch.equal(compiled(x, mask, held), expected)
        assert torch.equal(held, expected_held)


def test_a_size_that_does_not_fit_raises_as_in_eager():
    compiled = suture.compile(argument, backend="eager")
    held = torch.zeros(3)
    compiled(torch.randn(4), torch.arange(4) < 3, held)
    with pytest.raises(RuntimeError, match="size of tensor a"):
        compiled(torch.randn(4), torch.arange(4) < 2, torch.zeros(3))
