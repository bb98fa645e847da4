"""Loops as models write them: bodies that Python has to stop in, compiled once."""

from __future__ import annotations

import torch

import suture
from tests.harness import Graphs, check


def test_a_local_that_is_set_before_it_is_read_may_be_unbound_at_first() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        for _ in range(4):
            torch._dynamo.graph_break()
            with torch.no_grad():
                scale = x.sum()
            x = x + scale
        return x

    graphs = Graphs()
    compiled = suture.compile(fn, backend=graphs)
    x = torch.randn(3)
    torch.testing.assert_close(compiled(x), fn(x))


def test_a_local_that_is_read_while_unbound_raises() -> None:
    def fn(x: torch.Tensor, flag: bool) -> torch.Tensor:
        if flag:
            y = x + 1
        torch._dynamo.graph_break()
        return y * 2

    check(fn, torch.randn(3), True, graphs=2, breaks=("GB0025",))
    check(fn, torch.randn(3), False, graphs=0, breaks=("GB0025",))


class Converted(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.router = torch.nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.router = self.router.to(x.dtype)
        return self.router(x)


def test_a_conversion_with_nothing_to_do_is_traced() -> None:
    module, graphs = Converted(), Graphs()
    compiled = suture.compile(module, backend=graphs)
    x = torch.randn(2, 4)
    torch.testing.assert_close(compiled(x), module(x))
    assert len(graphs) == 1


def test_a_leaf_made_without_gradients() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            zeros = torch.zeros_like(x).requires_grad_()
            return zeros.reshape(-1) + x.reshape(-1)

    check(fn, torch.randn(2, 3), graphs=1)


def test_views_of_one_memory_that_nobody_writes_may_move() -> None:
    def fn(out: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return out.add_(a.sum() * b.sum())

    graphs = Graphs()
    compiled = suture.compile(fn, backend=graphs)
    memory = torch.arange(12.0)
    for start in (2, 3, 4):
        a, b = memory[start : start + 2], memory[start + 2 : start + 4]
        assert torch.equal(compiled(torch.zeros(3), a, b), fn(torch.zeros(3), a, b))
    assert len(graphs) == 1


def test_views_of_one_memory_that_is_written_may_not() -> None:
    def fn(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        a.add_(1)
        return b * 2

    compiled = suture.compile(fn, backend="eager")
    for start in (0, 1, 2):
        ours, theirs = torch.arange(6.0), torch.arange(6.0)
        got = compiled(ours[:3], ours[start : start + 3])
        assert torch.equal(got, fn(theirs[:3], theirs[start : start + 3]))
        assert torch.equal(ours, theirs)
