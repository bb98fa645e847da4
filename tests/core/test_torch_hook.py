"""torch's own evaluation hook and ours, installed in any order, in one process."""

from __future__ import annotations

import pytest
from core_under_test import core

torch = pytest.importorskip("torch")


def refuse(point, state):
    raise LookupError


def leaf(x):
    return x + 1


def caller(x):
    return leaf(x) * 2


@pytest.fixture
def ours():
    """`leaf` is compiled by us: it adds a hundred."""
    point = core.Point("leaf", refuse)
    point.add(lambda fn, x: x + 100)
    core.set_frame_callback(lambda code, fn: point if code is leaf.__code__ else None)


@pytest.fixture
def theirs():
    """A function compiled by torch, and the graphs it made."""
    torch._dynamo.reset()
    graphs = []

    def backend(graph, inputs):
        graphs.append(graph)
        return graph.forward

    yield torch.compile(caller, backend=backend), graphs
    torch._dynamo.reset()


@pytest.mark.usefixtures("ours")
def test_torch_compile_below_run(theirs):
    compiled, graphs = theirs
    x = torch.ones(2)
    expected = caller(x)
    for _ in range(3):
        # torch takes the whole call: what it inlines never becomes a frame.
        assert torch.equal(core.run(compiled, x), expected)
        assert torch.equal(core.run(caller, x), (x + 100) * 2), "ours is still on top"
    assert len(graphs) == 1
    assert torch.equal(caller(x), expected)


@pytest.mark.usefixtures("ours")
def test_run_below_torch_compile():
    torch._dynamo.reset()
    graphs = []

    @torch._dynamo.disable
    def broken(x):
        return core.run(caller, x)

    def backend(graph, inputs):
        graphs.append(graph)
        return graph.forward

    @torch.compile(backend=backend)
    def outer(x):
        y = x * 3
        z = broken(y)
        return z - 1

    x = torch.ones(2)
    for _ in range(3):
        assert torch.equal(outer(x), (x * 3 + 100) * 2 - 1)
    torch._dynamo.reset()


@pytest.mark.usefixtures("ours")
def test_hooks_installed_in_a_circle(theirs):
    compiled, _ = theirs
    x = torch.ones(2)

    def again(depth):
        result = core.run(caller, x)
        assert torch.equal(result, (x + 100) * 2)
        compiled(x)
        return result if depth == 0 else core.run(again, depth - 1)

    core.set_frame_permanent(True)
    again(3)
    compiled(x)
    core.set_frame_permanent(False)
    again(3)
    assert torch.equal(compiled(x), caller(x))
