"""Abstract classes: what is registered later is noticed where it was asked about."""

from __future__ import annotations

import abc

import torch

import suture
from tests.harness import Graphs


def test_registering_elsewhere_compiles_nothing() -> None:
    class Shape(abc.ABC): ...

    class Other(abc.ABC): ...

    class Round: ...

    round_ = Round()

    def fn(x: torch.Tensor) -> torch.Tensor:
        return x + 1 if isinstance(round_, Shape) else x - 1

    graphs = Graphs()
    compiled = suture.compile(fn, backend=graphs)
    x = torch.ones(2)
    assert torch.equal(compiled(x), x - 1)
    Other.register(int)
    assert torch.equal(compiled(x), x - 1)
    assert len(graphs) == 1
    Shape.register(Round)
    assert torch.equal(compiled(x), x + 1)
