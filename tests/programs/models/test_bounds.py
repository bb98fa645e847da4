"""Branches on numbers whose bounds follow from the operations that made them."""

from __future__ import annotations

import pytest
import torch

from tests.harness import check


class LayerDrop(torch.nn.Module):
    """Layers of which each is left out with a probability."""

    def __init__(self, probability: float) -> None:
        super().__init__()
        self.layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(3))
        self.probability = probability

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            if self.training:
                drawn = torch.rand([])
                if drawn < self.probability:
                    continue
            x = layer(x)
        return x


@pytest.mark.parametrize("probability", [0.0, -1.0, 1.0, 0])
def test_layerdrop_that_never_or_always_drops_is_one_graph(probability: float) -> None:
    check(LayerDrop(probability).train(), torch.randn(2, 4))


def test_layerdrop_that_may_drop_still_breaks() -> None:
    check(LayerDrop(0.5).train(), torch.randn(2, 4), graphs=None, breaks=None, recompiles=None)


def test_lengths_counted_in_a_mask_are_at_most_its_width() -> None:
    def fn(ids: torch.Tensor) -> torch.Tensor:
        lengths = (ids != 2).sum(dim=1).long()
        assert lengths.max().item() <= ids.shape[1]
        return ids * lengths[:, None]

    check(fn, torch.arange(12).reshape(2, 6))


def test_bounds_end_where_the_tensor_is_written_to() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        drawn = torch.rand([])
        drawn.sub_(2)
        if drawn < 0.0:
            return x + 1
        return x - 1

    check(fn, torch.ones(2), graphs=None, breaks=("GB0170",))


def test_a_limit_is_compared_as_the_tensor_holds_it() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        if torch.zeros(3).bool().sum() > -1:
            x = x + 1
        if torch.rand([]) > -1e-60:
            x = x * 2
        return x

    check(fn, torch.ones(2), graphs=None, breaks=("GB0170",))


def test_bits_seen_as_another_type_have_no_bounds() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        if torch.rand([]).view(torch.int32) <= 1:
            return x + 1
        return x - 1

    check(fn, torch.ones(2), graphs=None, breaks=("GB0170",))
