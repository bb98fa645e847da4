"""Variants whose inputs and results are DTensors: kept, and proven again by mesh and placements."""

from __future__ import annotations

import inspect

import pytest
import torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor

import suture
from tests.runtime.store.test_ranks import X, as_rank

MOVED = """
from torch.distributed.tensor import Replicate
def fn(x):
    moved = (D * 2).redistribute(D.device_mesh, [Replicate()])
    return moved.sin().to_local() + x.sum()
"""


# What DTensors of the older torches give as their context instead; these are not kept.
MESH_IS_PART = "device_mesh" in inspect.getsource(DTensor.__tensor_flatten__)
kept = pytest.mark.skipif(not MESH_IS_PART, reason="a DTensor's mesh is no part of it: not kept")


def spread(placement=Shard(0), shape=(4, 6), mesh=(2,), dtype=torch.float32, grad=False):
    """What puts the DTensor D into the program."""

    def prepare(module):
        torch.manual_seed(0)
        over = init_device_mesh("cpu", mesh)
        whole = torch.randn(*shape).to(dtype)
        placements = [placement] * len(mesh)
        module.D = distribute_tensor(whole, over, placements, src_data_rank=None)
        module.D.requires_grad_(grad)

    return prepare


def started(cache, text, prepare, rank=0, **given):
    with as_rank(rank, 2):
        return cache.run(text, (X,), prepare=prepare, **given)


@pytest.mark.skipif(MESH_IS_PART, reason="a DTensor's mesh is a part of it")
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_dtensor_whose_mesh_is_no_part_of_it_is_compiled_in_each_process(cache, backend):
    for _ in range(2):
        assert started(cache, MOVED, spread(), backend=backend) == (0, 0), cache.lines


@kept
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_dtensor_that_is_made_alike_is_known_again(cache, backend):
    assert started(cache, MOVED, spread(), backend=backend) == (0, 1), cache.lines
    assert started(cache, MOVED, spread(), backend=backend) == (1, 0), cache.lines


@kept
@pytest.mark.parametrize(
    "other",
    [
        spread(Replicate()),
        spread(Shard(1)),
        spread(shape=(6, 6)),
        spread(mesh=(1, 2)),
        spread(dtype=torch.float64),
        spread(grad=True),
    ],
    ids=["replicated", "other dimension", "shape", "mesh", "dtype", "grad"],
)
def test_a_dtensor_that_is_spread_in_another_way_is_compiled(cache, other):
    text = MOVED.replace("[Replicate()]", "[Replicate()] * D.device_mesh.ndim")
    assert started(cache, text, spread(), backend="aot_eager") == (0, 1), cache.lines
    assert started(cache, text, other, backend="aot_eager")[0] == 0, cache.lines


@kept
def test_what_a_mesh_says_of_a_rank_is_kept_for_that_rank(cache):
    """Which part of a replicated tensor a rank takes is part of its graph."""
    text = MOVED.replace("(D * 2)", "D").replace("[Replicate()]", "[Shard(0)]")
    text = text.replace("import Replicate", "import Shard")
    for rank in (0, 1):
        assert started(cache, text, spread(Replicate()), rank, backend="aot_eager") == (0, 1)
    for rank in (0, 1):
        assert started(cache, text, spread(Replicate()), rank, backend="aot_eager") == (1, 0)


def test_a_placement_with_more_to_it_than_its_fields_is_not_kept(cache):
    """The program has put something on it, which it may ask for."""
    odd = Partial("avg")
    odd.said = "something"
    text = "def fn(x):\n    return x + len(P.reduce_op)\n"
    plain = lambda module: setattr(module, "P", Partial("avg"))  # noqa: E731
    assert cache.run(text, (X,), prepare=plain) == (0, 1), cache.lines
    assert cache.run(text, (X,), prepare=plain) == (1, 0), cache.lines
    other = lambda module: setattr(module, "P", Partial("sum"))  # noqa: E731
    assert cache.run(text, (X,), prepare=other) == (0, 1), cache.lines
    assert cache.run(text, (X,), prepare=lambda module: setattr(module, "P", odd))[1] == 0


def _step(fn, mesh, placement, shape):
    """What a call on a DTensor gives, and its derivative."""
    torch.manual_seed(1)
    made = distribute_tensor(torch.randn(*shape), mesh, [placement], src_data_rank=None)
    made.requires_grad_()
    out = fn(made)
    out.to_local().pow(2).sum().backward()
    assert type(made.grad) is type(out) is DTensor
    found = out.placements, tuple(out.shape), out.to_local(), made.grad.placements
    return [*found, made.grad.to_local()]


@kept
@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_dtensors_come_in_and_go_out_and_have_derivatives(cache, backend):
    """Symbolic sizes among them, from the third size on, and a derivative that comes spread in
    another way than the graph gives."""
    text = """
from torch.distributed.tensor import Replicate
def fn(d):
    return (d * d.shape[0]).tanh()
def moved(d):
    return fn(d).redistribute(d.device_mesh, [Replicate()])
"""
    counts = []
    for _ in range(2):
        suture.reset()
        with as_rank(0, 2), suture.config.patch(cache_dir=str(cache.folder)), cache.told():
            module, mesh = cache.load(text), init_device_mesh("cpu", (2,))
            for name, placement in (("fn", Shard(0)), ("moved", Shard(1)), ("fn", Replicate())):
                plain = getattr(module, name)
                compiled = suture.compile(plain, backend=backend)
                for rows in (4, 6, 8):
                    both = (_step(f, mesh, placement, (rows, 4)) for f in (plain, compiled))
                    theirs, ours = both
                    torch.testing.assert_close(ours[2], theirs[2])
                    torch.testing.assert_close(ours[4], theirs[4])
                    assert ours[:2] + ours[3:4] == theirs[:2] + theirs[3:4]
        counts.append((cache.used(), sum("kept as" in line for line in cache.lines)))
    (used, kept), again = counts
    assert used == 0 < kept, cache.lines
    assert again[0] > 0 == again[1], cache.lines


@kept
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_a_mesh_that_a_graph_holds_is_one_that_a_guard_knows(cache, backend):
    """torch remembers the mesh of an earlier tensor for operations like those of this one: a graph
    for the derivative then holds that mesh as a constant."""
    text = """
from torch.distributed.tensor import DTensor, Replicate
def fn(x, weight):
    spread = DTensor.from_local(x, weight.device_mesh, [Replicate()], run_check=False)
    return (spread @ weight).to_local()
"""

    def derivative(fn, mesh):
        torch.manual_seed(0)
        weight = distribute_tensor(torch.randn(8, 4), mesh, [Shard(0)], src_data_rank=None)
        fn(torch.ones(2, 8), weight.requires_grad_()).pow(2).sum().backward()
        assert weight.grad.device_mesh == mesh
        return weight.grad.to_local()

    counts = []
    for _ in range(2):
        suture.reset()
        with as_rank(0, 2), suture.config.patch(cache_dir=str(cache.folder)), cache.told():
            module = cache.load(text)
            theirs = derivative(module.fn, init_device_mesh("cpu", (2,)))
            compiled = suture.compile(module.fn, backend=backend)
            ours = derivative(compiled, init_device_mesh("cpu", (2,)))
            torch.testing.assert_close(ours, theirs)
        counts.append((cache.used(), sum("kept as" in line for line in cache.lines)))
    assert counts == [(0, 1), (1, 0)], cache.lines
