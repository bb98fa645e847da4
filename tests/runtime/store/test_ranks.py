"""What one rank of a process group keeps for the others, and what it does not."""

from __future__ import annotations

from contextlib import contextmanager

import pytest
import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.testing._internal.distributed.fake_pg import FakeStore

X = torch.arange(3.0)


@contextmanager
def as_rank(rank, world=4):
    """This process is one rank of torch's fake process group."""
    dist.init_process_group("fake", rank=rank, world_size=world, store=FakeStore())
    try:
        yield
    finally:
        dist.destroy_process_group()


def of_ranks(cache, text, *ranks, **given):
    """(from the cache, kept) for each rank in turn."""
    found = []
    for rank, world in ranks:
        with as_rank(rank, world):
            found.append(cache.run(text, (X,), **given))
    return found


SIZES = """
import torch.distributed as dist
def fn(x):
    y = x * dist.get_world_size()
    dist.all_reduce(y)
    return y + 1
"""


def test_what_all_ranks_ask_alike_is_compiled_by_one(cache):
    assert of_ranks(cache, SIZES, (0, 4), (1, 4), (3, 4)) == [(0, 1), (1, 0), (1, 0)]


def test_a_group_of_another_size_is_another_one(cache):
    assert of_ranks(cache, SIZES, (0, 4), (0, 8), (5, 8)) == [(0, 1), (0, 1), (1, 0)]


@pytest.mark.parametrize("call", ["dist.get_rank()", "dist.get_group_rank(dist.group.WORLD, 2)"])
def test_what_depends_on_the_rank_is_kept_for_that_rank(cache, call):
    text = f"import torch.distributed as dist\ndef fn(x):\n    return x + {call}\n"
    first, second = of_ranks(cache, text, (0, 4), (1, 4))
    assert first[0] == second[0] == 0


@pytest.mark.parametrize("ask", ["MESH.size(0)", "MESH.get_local_rank(0)", "GROUP.rank()"])
def test_what_meshes_and_groups_say_of_a_rank_is_kept_for_that_rank(cache, ask):
    def prepare(module):
        module.MESH = init_device_mesh("cpu", (2, 2) if dist.get_rank() else (4, 1))
        module.GROUP = dist.group.WORLD

    text = f"def fn(x):\n    return x * 10 + {ask}\n"
    ranks = [(0, 4), (1, 4), (0, 4), (1, 4)]
    assert of_ranks(cache, text, *ranks, prepare=prepare) == [(0, 1), (0, 1), (1, 0), (1, 0)]


OVER_MESH = """
import torch.distributed as dist
def fn(x):
    y = x * MESH.size()
    dist.all_reduce(y, group=MESH.get_group(0))
    return y + MESH.get_local_rank(0)
"""


def mesh_of(shape, names=("rows", "columns"), before=0):
    def prepare(module):
        for _ in range(before):
            dist.new_group([0, 1])
        module.MESH = init_device_mesh("cpu", shape, mesh_dim_names=names)

    return prepare


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "other",
    [mesh_of((4, 1)), mesh_of((2, 2), ("rows", "others")), mesh_of((2, 2), before=1)],
    ids=["shape", "names", "groups"],
)
def test_a_mesh_that_is_made_alike_is_known_again_and_another_one_is_not(cache, backend, other):
    same, given = mesh_of((2, 2)), {"backend": backend}
    assert of_ranks(cache, OVER_MESH, (1, 4), prepare=same, **given) == [(0, 1)]
    assert of_ranks(cache, OVER_MESH, (1, 4), prepare=same, **given) == [(1, 0)]
    assert of_ranks(cache, OVER_MESH, (1, 4), prepare=other, **given) == [(0, 1)]
    assert of_ranks(cache, OVER_MESH, (3, 4), prepare=same, **given) == [(0, 1)]


OVER_GROUP = """
import torch.distributed as dist
def fn(x):
    y = x * 2
    dist.all_reduce(y, group=GROUP)
    return y / dist.get_world_size(GROUP)
"""


def group_of(*ranks, **options):
    def prepare(module):
        module.GROUP = dist.new_group(list(ranks), **options)

    return prepare


def test_what_a_group_of_some_ranks_computes_is_kept_for_all_of_them(cache):
    found = of_ranks(cache, OVER_GROUP, (0, 4), (1, 4), prepare=group_of(0, 1))
    assert found == [(0, 1), (1, 0)]
    assert of_ranks(cache, OVER_GROUP, (0, 4), prepare=group_of(0, 2)) == [(0, 1)]
    described = group_of(0, 1, group_desc="another")
    assert of_ranks(cache, OVER_GROUP, (0, 4), prepare=described) == [(0, 1)]


def test_a_group_that_is_gone_is_not_kept(cache):
    """The program holds a group of a world that was destroyed: nothing of it is known any more."""
    with as_rank(0, 4):
        old = dist.new_group([0, 1])

    def prepare(module):
        module.GROUP = old

    text = "def fn(x):\n    return x * GROUP.size()\n"
    assert of_ranks(cache, text, (0, 4), prepare=prepare) == [(0, 0)]
