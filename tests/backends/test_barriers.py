"""Graphs with barriers: compiled in parts, or run one operation after the other where parts would
compute something else. What is before a barrier is done when it is called; nothing behind it is."""

from __future__ import annotations

import inspect
from datetime import timedelta
from types import SimpleNamespace

import pytest
import torch
import torch.distributed as dist
from torch._dynamo.backends.debugging import aot_eager
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.utils.checkpoint import checkpoint

import suture
from suture.backends import lookup
from suture.runtime import barriers
from suture.torch_private import distributed_parts
from tests.harness import same

pytestmark = pytest.mark.usefixtures("fake_group")
X, W = torch.arange(6.0).reshape(2, 3), torch.full((3,), 0.5, requires_grad=True)


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


def counted(given, backend=aot_eager):
    """A backend that keeps the graphs which it is given."""

    def compile(gm, inputs):
        given.append(gm)
        return backend(gm, inputs)

    return compile


def parts_of(monkeypatch, fn, *args):
    """How many parts the backend was given of the one graph of `fn`, which does what `fn` does."""
    given, ours, theirs = [], Seen(), Seen()

    compiled = suture.compile(fn, backend=counted(given), fullgraph=True)
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


def test_lists_of_tensors_that_are_written(monkeypatch):
    def fn(x, y):
        torch._foreach_mul_([x, y], 2)
        dist.barrier()
        z = x + y
        torch._foreach_add_([x, y], [y, y])
        return z

    assert parts_of(monkeypatch, fn, X, X.clone()) == 2


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


def parts_for_sizes(fn, backend, weight):
    """How many parts the backend was given of one graph for inputs of several sizes."""
    given = []

    compiled = suture.compile(
        fn, backend=counted(given, lookup(backend)), dynamic=True, fullgraph=True
    )
    for size in (3, 4, 7):
        x = torch.arange(size * 2.0).reshape(size, 2)
        mine, plain = weight.detach().requires_grad_(), weight.detach().requires_grad_()
        ours, theirs = compiled(x, mine), fn(x, plain)
        same(ours, theirs, "result")
        for out in (ours, theirs):
            out[0].sum().backward()
        same(mine.grad, plain.grad, "gradient")
    assert suture.stats().graphs <= 1
    assert not suture.stats().breaks
    return len(given)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_sizes_that_are_symbols_cross_a_barrier(backend):
    """A size of an argument, one computed from it, and a tensor of which no size is a symbol by
    itself."""

    def fn(x, w):
        rows = x.size(0)
        y = torch.cat([x, x]) * w
        dist.barrier()
        z = y.sin().view(rows, -1) * rows
        dist.barrier()
        return z.reshape(rows * 2, -1) + 1, rows + 1

    assert parts_for_sizes(fn, backend, torch.ones(2)) == 3


def test_a_number_from_data_behind_a_barrier_is_computed_once_and_in_order():
    def fn(x, w):
        y = x * w
        dist.barrier()
        rows = torch.nonzero(x.flatten()).flatten()
        dist.barrier()
        return y.sum() + rows.sum(), rows

    assert parts_for_sizes(fn, "aot_eager", torch.ones(2)) == 0


def test_modes_that_are_switched_hold_on_both_sides_of_a_barrier(monkeypatch):
    def fn(x, w):
        y = x * w
        with torch.no_grad():
            a = y * w
            dist.barrier()
            b = a + w
            with torch.enable_grad():
                c = b * w
                dist.barrier()
                d = c * w
            dist.barrier()
        assert torch.is_grad_enabled()
        assert not a.requires_grad and not b.requires_grad and d.requires_grad
        return y * 2 + b, d, a

    assert parts_of(monkeypatch, fn, X, W) == 4


def test_autocast_holds_on_both_sides_of_a_barrier(monkeypatch):
    def fn(x, w):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ w
            dist.barrier()
            z = x @ (w * 2)
            with torch.autocast("cpu", enabled=False):
                dist.barrier()
                full = x @ w
            dist.barrier()
        return y, z, full, x @ w

    assert parts_of(monkeypatch, fn, X, W) == 4
    assert not torch.is_autocast_enabled("cpu")


def test_a_function_that_ends_in_another_mode_than_it_began(monkeypatch):
    given = []

    def fn(x, w):
        torch.set_grad_enabled(False)
        y = x * w
        dist.barrier()
        return y + w

    compiled = suture.compile(fn, backend=counted(given), fullgraph=True)
    for _ in range(2):
        with torch.enable_grad():
            made = compiled(X, W)
            assert not torch.is_grad_enabled() and not made.requires_grad
        same(made, X * W.detach() + W.detach(), "result")
    assert len(given) == 2


@pytest.mark.skipif(torch.__version__ < (2, 13), reason="inference_mode is a break before 2.13")
def test_inference_mode_and_a_barrier_run_in_order(monkeypatch):
    def fn(x, w):
        with torch.inference_mode():
            y = x * w
            dist.barrier()
            z = y + 1
        assert z.is_inference()
        return z.clone(), x * w

    assert parts_of(monkeypatch, fn, X, W) == 0


@pytest.mark.skipif(
    "timeout" not in inspect.signature(dist.barrier).parameters, reason="of the newer torches"
)
def test_a_barrier_has_the_timeout_and_the_device_that_it_is_given(monkeypatch):
    seen = []
    until = timedelta(seconds=7, microseconds=3)

    def fn(x):
        y = x * 2
        dist.barrier(timeout=until)
        dist.barrier(device_ids=[0])
        dist.barrier(None, False, [0], timedelta(days=1))
        return y + 1

    def told(group=None, **more):
        seen.append(more)

    compiled = suture.compile(fn, backend=aot_eager, fullgraph=True)
    same(compiled(X), X * 2 + 1, "result")
    torch_of = SimpleNamespace(compiler=torch.compiler, distributed=SimpleNamespace(barrier=told))
    monkeypatch.setattr(barriers, "torch", torch_of)
    same(compiled(X), X * 2 + 1, "result")
    assert seen == [
        {"timeout": until}, {"device_ids": [0]}, {"device_ids": [0], "timeout": timedelta(days=1)},
    ]  # fmt: skip


def test_a_collective_of_the_same_group_has_arrived_behind_a_barrier(monkeypatch):
    """The fake group sends nothing, so that what arrives is what was sent."""

    def fn(x, w):
        y = x * 2
        handle = dist.all_reduce(y, async_op=True)
        dist.barrier()
        z = y * w
        assert handle.wait()
        return z, y

    assert parts_of(monkeypatch, fn, X, W) == 2


@pytest.mark.parametrize("behind", [False, True], ids=["waits before", "waits behind"])
def test_a_collective_of_another_group_that_is_under_way(monkeypatch, behind):
    """Nothing is compiled that begins in one part and ends in another: memory that is still being
    sent would be written."""
    other = dist.new_group([0, 1])

    def fn(x):
        y = x * 2
        handle = dist.all_reduce(y, group=other, async_op=True)
        if not behind:
            handle.wait()
        dist.barrier()
        z = x.sin()
        if behind:
            handle.wait()
        return y + z

    assert parts_of(monkeypatch, fn, X) == (0 if behind else 2)


@pytest.mark.parametrize("kind", ["read", "written", "with derivatives"])
def test_dtensors_that_are_only_read_cross_a_barrier(kind):
    mesh = init_device_mesh("cpu", (2,))
    given = []

    def fn(x, w):
        y = x * w
        dist.barrier()
        if kind == "written":
            y.add_(1)
        return (y.sin() * 2).to_local()

    def run(call):
        x = DTensor.from_local(X, mesh, [Shard(0)])
        w = DTensor.from_local(W.detach(), mesh, [Replicate()])
        if kind != "with derivatives":
            return call(x, w)
        out = call(x, w.requires_grad_())
        out.sum().backward()
        return out, w.grad.to_local()

    compiled = suture.compile(fn, backend=counted(given), fullgraph=True)
    plain = run(fn)
    for _ in range(2):
        same(run(compiled), plain, "result")
    assert len(given) == (2 if kind == "read" else 0)
    assert suture.stats().graphs <= 1
    assert not suture.stats().breaks


def test_what_is_computed_again_leaves_the_barrier_to_python():
    def inner(x):
        y = x.sin()
        dist.barrier()
        return y * 2

    def fn(x, w):
        return checkpoint(inner, x * w, use_reentrant=False)

    compiled = suture.compile(fn, backend="eager")
    w = W.detach().requires_grad_()
    same(compiled(X, w), fn(X, w), "result")
    assert [b.number for b in suture.stats().breaks] == ["GB2060"]


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
