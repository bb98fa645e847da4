"""Graphs with barriers: compiled in parts, or run one operation after the other where parts would
compute something else. What is before a barrier is done when it is called; nothing behind it is."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
from torch._dynamo.backends.debugging import aot_eager
from torch.testing._internal.distributed.fake_pg import FakeStore

import suture
from suture.runtime import barriers
from suture.torch_private import distributed_parts
from tests.harness import same

X, W = torch.arange(6.0).reshape(2, 3), torch.full((3,), 0.5, requires_grad=True)


@pytest.fixture(autouse=True)
def group():
    dist.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
    suture.reset()
    try:
        yield
    finally:
        suture.reset()
        dist.destroy_process_group()


def called(fn, args, seen):
    """What a call gives, and what became of its arguments; `seen` gets them as they are at each
    barrier."""
    mine = [one.detach().clone().requires_grad_(one.requires_grad) for one in args]
    seen.look = lambda *_, **__: seen.append([one.detach().clone() for one in mine])
    out = fn(*mine)
    loss = sum(one.sum() for one in torch.utils._pytree.tree_leaves(out))
    if loss.requires_grad:
        loss.backward()
    return out, mine, [one.grad for one in mine if one.is_leaf]


class Seen(list):
    look = None


class Looking:
    """Stands for torch's private parts where a barrier asks for its group."""

    def __init__(self, seen):
        self.seen = seen

    def resolve_group(self, name):
        self.seen.look()
        return distributed_parts.resolve_group(name)


def parts_of(monkeypatch, fn, *args):
    """How many parts the backend was given of the one graph of `fn`, which does what `fn` does."""
    given, ours, theirs = [], Seen(), Seen()

    def counted(gm, inputs):
        given.append(gm)
        return aot_eager(gm, inputs)

    compiled = suture.compile(fn, backend=counted, fullgraph=True)
    first = called(compiled, args, Seen())
    with monkeypatch.context() as patched:
        patched.setattr(barriers, "distributed_parts", Looking(ours))
        again = called(compiled, args, ours)
    with monkeypatch.context() as patched:
        patched.setattr(dist, "barrier", lambda *_, **__: theirs.look())
        plain = called(fn, args, theirs)
    same(first, plain, "the first call")
    same(again, plain, "the second call")
    same(list(ours), list(theirs), "arguments at each barrier")
    assert suture.stats().graphs <= 1
    assert not suture.stats().breaks
    return len(given)


def test_what_is_written_before_a_barrier_is_there_when_it_is_called(monkeypatch):
    def fn(x, w):
        x.add_(1)
        y = (x * 2).sin() * w
        dist.barrier()
        z = y + x
        x.mul_(2)
        dist.barrier()
        return z, x * 3

    assert parts_of(monkeypatch, fn, X, W) == 3


def test_a_barrier_at_the_start_at_the_end_and_two_in_a_row(monkeypatch):
    def fn(x):
        dist.barrier()
        x.add_(1)
        dist.barrier()
        dist.barrier()
        y = x * 2
        dist.barrier()
        return y

    assert parts_of(monkeypatch, fn, X) == 2


def test_nothing_but_a_barrier(monkeypatch):
    def fn(x):
        dist.barrier()
        return x

    assert parts_of(monkeypatch, fn, X) == 0


def test_an_intermediate_that_is_written_behind_a_barrier(monkeypatch):
    def fn(x):
        y = x * 2
        dist.barrier()
        y.add_(1)
        dist.barrier()
        return y, y + x

    assert parts_of(monkeypatch, fn, X) == 3


def test_a_view_that_is_written_and_its_base_that_is_read_are_not_taken_apart(monkeypatch):
    def fn(x):
        y = x * 2
        row = y[0]
        dist.barrier()
        row.add_(1)
        return y * 3, row

    assert parts_of(monkeypatch, fn, X) == 0


def test_a_view_of_an_argument_that_is_written_behind_a_barrier(monkeypatch):
    def fn(x):
        row = x[0]
        dist.barrier()
        x.mul_(2)
        return row + 1

    assert parts_of(monkeypatch, fn, X) == 0


@pytest.mark.parametrize("write", [
    lambda x: x[0].copy_(x[1]),
    lambda x: x.index_fill_(0, torch.tensor([1]), 3),
    lambda x: x.__setitem__(0, 4.0),
    lambda x: x.masked_fill_(x > 2, 5),
], ids=["row", "index", "item", "mask"])  # fmt: skip
def test_what_writes_to_some_of_an_argument_writes_no_more(monkeypatch, write):
    """A compiler would write all of it, and what another rank has put into the rest was lost."""

    def fn(x):
        y = x * 2
        dist.barrier()
        write(x)
        dist.barrier()
        return y + x

    assert parts_of(monkeypatch, fn, X) == 0


def test_two_tensors_that_lie_in_one_memory_are_not_taken_for_one(monkeypatch):
    mine, theirs = torch.zeros(2, 3)

    def fn(x):
        dist.barrier()
        mine.copy_(x[0])
        y = theirs + x
        dist.barrier()
        return y

    assert parts_of(monkeypatch, fn, X) == 0


def test_an_argument_that_gets_a_history_before_a_barrier(monkeypatch):
    def fn(x, w):
        x.mul_(w)
        dist.barrier()
        return x * 3

    assert parts_of(monkeypatch, fn, X, W) == 0


def test_several_results_of_one_operation_cross_a_barrier(monkeypatch):
    def fn(x, w):
        first, second = (x * w).split(1)
        dist.barrier()
        return first.sin() + second

    assert parts_of(monkeypatch, fn, X, W) == 2


def test_sizes_that_are_symbols_leave_the_barrier_to_python():
    def fn(x):
        y = x * 2
        dist.barrier()
        return y + 1

    compiled = suture.compile(fn, backend="eager", dynamic=True)
    for size in (3, 4, 5):
        same(compiled(torch.ones(size)), fn(torch.ones(size)), "result")
    assert [b.number for b in suture.stats().breaks] == ["GB0007"]


def test_an_export_does_not_wait_for_other_ranks():
    def fn(x):
        dist.barrier()
        return x + 1

    with pytest.raises(Exception, match="cannot be exported"):
        suture.export(fn, (X,))


def test_a_graph_that_raises_behind_a_barrier_does_not_come_to_it_again(monkeypatch):
    def fn(x, at):
        y = x * 2
        dist.barrier()
        return y[at]

    compiled = suture.compile(fn, backend="eager", fullgraph=True)
    same(compiled(X, torch.tensor([1])), fn(X, torch.tensor([1])), "result")
    seen = Seen()
    seen.look = lambda: seen.append(1)
    monkeypatch.setattr(barriers, "distributed_parts", Looking(seen))
    with pytest.raises(IndexError, match="out of bounds"):
        compiled(X, torch.tensor([7]))
    assert seen == [1]


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
