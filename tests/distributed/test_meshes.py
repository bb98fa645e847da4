"""Meshes: one that is made alike is as good as another, unless the program asks which it is."""

from __future__ import annotations

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.testing._internal.distributed.fake_pg import FakeStore

import suture

X = torch.arange(8.0).reshape(4, 2)


@pytest.fixture
def mesh():
    dist.init_process_group("fake", rank=1, world_size=4, store=FakeStore())
    suture.reset()
    try:
        yield init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    finally:
        suture.reset()
        dist.destroy_process_group()


def graphs_of(fn, *calls):
    """How many graphs are compiled for the calls, each of which gives what the plain one gives."""
    suture.reset()  # what was compiled before may be gone or live still
    compiled = suture.compile(fn, backend="eager")
    for args in (*calls, *calls):
        ours, theirs = compiled(*args), fn(*args)
        assert type(ours) is type(theirs)
        if isinstance(ours, tuple):
            assert all(a is b for a, b in zip(ours[1:], theirs[1:], strict=True))
            ours, theirs = ours[0], theirs[0]
        torch.testing.assert_close(ours, theirs)
    assert not suture.stats().interpreted
    return suture.stats().graphs


def on_mesh(mesh, *placements):
    return DTensor.from_local(X, mesh, placements, run_check=False)


def test_parts_of_a_mesh_that_are_asked_for_again_share_a_graph(mesh):
    assert mesh["tp"] is not mesh["tp"]

    def fn(x, mesh):
        dist.all_reduce(x * mesh.size(), group=mesh.get_group())
        return x + mesh.get_local_rank()

    assert graphs_of(fn, (X, mesh["tp"]), (X, mesh["tp"])) == 1
    assert graphs_of(fn, (X, mesh["dp"]), (X, mesh["tp"]), (X, mesh["dp"])) == 2


def test_tensors_on_meshes_made_alike_share_a_graph(mesh):
    def fn(x):
        return (x * 2).to_local()

    tensors = [on_mesh(mesh["tp"], Shard(0)) for _ in range(3)]
    assert graphs_of(fn, *((one,) for one in tensors)) == 1
    others = [on_mesh(mesh["dp"], Shard(0)), on_mesh(mesh["tp"], Replicate())]
    assert graphs_of(fn, *((one,) for one in (*tensors, *others))) == 3


def test_which_mesh_it_is_can_be_asked(mesh):
    def fn(x, one, other):
        return x + 1, one is other, one == other

    first, second = mesh["tp"], mesh["tp"]
    calls = [(X, first, first), (X, first, second), (X, second, second), (X, first, mesh["dp"])]
    graphs_of(fn, *calls)


def test_the_mesh_that_is_handed_out_is_that_of_the_call(mesh):
    first, second = mesh["tp"], mesh["tp"]
    assert graphs_of(lambda x, mesh: (x + mesh.size(), mesh), (X, first), (X, second)) == 1


def test_the_mesh_of_a_tensor_is_its_own(mesh):
    def fn(x, mesh):
        y = x * 2
        return y.to_local(), x.device_mesh, x.device_mesh is mesh

    first, second = mesh["tp"], mesh["tp"]
    given = on_mesh(first, Shard(0)), on_mesh(second, Shard(0))
    graphs_of(fn, *((x, mesh) for x in given for mesh in (first, second)))


def test_a_mesh_of_other_groups_is_another_one(mesh):
    def fn(x, mesh):
        y = x * 2
        dist.all_reduce(y, group=mesh.get_group("tp"))
        return y

    again = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    assert again == mesh and again.get_group("tp") is not mesh.get_group("tp")
    assert graphs_of(fn, (X, mesh), (X, again)) == 2


def test_a_tensor_on_a_mesh_of_other_groups_is_another_one(mesh):
    def fn(x):
        return (x * 2).full_tensor()

    again = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    assert again["tp"] == mesh["tp"]
    given = on_mesh(mesh["tp"], Shard(0)), on_mesh(again["tp"], Shard(0))
    assert graphs_of(fn, *((x,) for x in given)) == 2


def test_sizes_that_change_become_symbols(mesh):
    """What a DTensor says of itself repeats its sizes: they are guarded once, as sizes."""
    over = mesh["tp"]

    def fn(x):
        return (x * x.shape[0]).redistribute(placements=[Replicate()]).to_local()

    def tall(rows):
        given = torch.arange(2.0 * rows).reshape(rows, 2)
        return (DTensor.from_local(given, over, [Shard(0)], run_check=False),)

    assert graphs_of(fn, *(tall(rows) for rows in (2, 3, 4, 5))) == 2


def test_a_compiled_step_of_sharded_parameters_is_compiled_once(mesh):
    """The state of an optimizer is known by its parameters. Each of them has its own sizes."""
    over = mesh["tp"]

    def trained(compiler):
        parameters = [
            torch.nn.Parameter(DTensor.from_local(torch.ones(*shape), over, [Shard(0)]))
            for shape in ((4,), (3, 2), (2,))
        ]
        optimizer = torch.optim.AdamW(parameters, lr=0.1, foreach=True)
        step = compiler(optimizer.step)
        for turn in range(4):
            for parameter in parameters:
                parameter.grad = parameter.detach() * (turn + 1)
            (step if turn else optimizer.step)()
        return [parameter.to_local().detach() for parameter in parameters]

    ours = trained(lambda step: suture.compile(step, backend="eager"))
    torch.testing.assert_close(ours, trained(lambda step: step))
    assert suture.stats().graphs == 1
    assert not suture.stats().recompilations
    assert not suture.stats().interpreted
