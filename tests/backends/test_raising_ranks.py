"""Graphs with collectives on a rank that raises: what the program has sent is sent once."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol

import suture
from tests.harness import same

pytestmark = pytest.mark.usefixtures("fake_group")
X = torch.arange(6.0).reshape(2, 3)


def test_a_graph_that_raises_behind_a_collective_does_not_send_again(monkeypatch):
    def fn(x, at):
        total = funcol.all_reduce(x * 2, "sum", dist.group.WORLD)
        return total[at]

    compiled = suture.compile(fn, backend="eager", fullgraph=True)
    same(compiled(X, torch.tensor([1])), X[torch.tensor([1])] * 2, "result")
    with pytest.raises(IndexError, match="out of bounds") as caught:
        compiled(X, torch.tensor([7]))
    assert "talks to other ranks" in caught.value.__notes__[0]


@pytest.mark.parametrize("first", [False, True], ids=["behind", "before"])
def test_a_check_that_fails_is_looked_at_before_a_collective_and_sends_nothing_again(first):
    """A rank that raises sends what the program has sent until then, once."""
    sent = []

    def backend(gm, inputs):
        def run(*args):
            sent.append(sum("all_reduce" in str(node.target) for node in gm.graph.nodes))
            return gm(*args)

        return run

    def fn(x):
        y = x * 2
        if first:
            dist.all_reduce(y)
        if float(x[0, 0]) < 0:
            raise ValueError("negative")
        if not first:
            dist.all_reduce(y)
        return y + 1

    compiled = suture.compile(fn, backend=backend)
    for _ in range(8):
        same(compiled(X), fn(X), "result")
    assert sum(sent) == 8
    sent.clear()
    with pytest.raises(ValueError, match="negative"):
        compiled(X - 1)
    assert sum(sent) == first
