"""Numbers that a module keeps in buffers of no dimensions decide sizes and branches."""

from __future__ import annotations

import pytest
import torch

import suture
from suture.runtime.reads import number_in
from tests.harness import Graphs, check


class Padding(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("stride", torch.tensor(2))
        self.register_buffer("size", torch.tensor(5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        length = x.shape[-1]
        frames = torch.ceil((length - self.size) / self.stride + 1).to(torch.int64)
        extra = frames * self.stride + self.size - length
        if length <= extra:
            return x * 2
        return torch.nn.functional.pad(x, (0, extra)) + int(self.stride)


def test_sizes_computed_from_buffers_are_one_graph() -> None:
    check(Padding(), torch.randn(2, 7), graphs=1)


def test_a_buffer_that_changed_is_noticed() -> None:
    module, graphs = Padding(), Graphs()
    compiled = suture.compile(module, backend=graphs)
    x = torch.randn(2, 7)
    torch.testing.assert_close(compiled(x), module(x))
    module.size.fill_(4)
    torch.testing.assert_close(compiled(x), module(x))
    module.stride.add_(1)
    torch.testing.assert_close(compiled(x), module(x))


class Counting(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("steps", torch.tensor(0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.steps.add_(1)
        return x * self.steps


def test_a_counter_nobody_decides_by_needs_no_guard() -> None:
    module, graphs = Counting(), Graphs()
    compiled = suture.compile(module, backend=graphs)
    for step in range(1, 6):
        assert torch.equal(compiled(torch.ones(2)), torch.full((2,), float(step)))
    assert len(graphs) == 1


@pytest.mark.parametrize(
    "number", [3, 2.5, True, torch.tensor(7, dtype=torch.int16), torch.tensor(0.1).half()]
)
def test_guards_read_the_number_that_item_gives(number: object) -> None:
    tensor = torch.as_tensor(number)
    assert number_in(tensor) == tensor.item()
    assert type(number_in(tensor)) is type(tensor.item())
    tensor.data.add_(1) if tensor.dtype is not torch.bool else tensor.data.logical_not_()
    assert number_in(tensor) == tensor.item()
    assert number_in(torch.stack([tensor, tensor])[1]) == tensor.item()
