"""Tensor parallel programs: DTensor made by parallelize_module, by hand, and on meshes of 2x2."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

from tests.distributed.models import Blocks, train, whole


def _mesh(side: Any) -> Any:
    return init_device_mesh("cpu", (side.world,), mesh_dim_names=("tp",))


def tensor_parallel(side: Any) -> Any:
    """Column then row parallel: one all-reduce per block."""
    model = Blocks()
    mesh = _mesh(side)
    for block in model.blocks:
        parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    return train(side, side.compile(model), model, same_data=True)


def sequence_parallel(side: Any) -> Any:
    """Each rank has a part of the sequence: gathered before the linear layers, scattered behind."""
    model = Blocks(2)
    mesh = _mesh(side)
    for block in model.blocks:
        plan = {
            "norm": SequenceParallel(),
            "up": ColwiseParallel(input_layouts=Shard(1)),
            "down": RowwiseParallel(output_layouts=Shard(1)),
        }
        parallelize_module(block, mesh, plan)
    return train(side, side.compile(model), model, shape=(2, 4, 8))


def by_hand(side: Any) -> Any:
    """from_local, redistribute, to_local, full_tensor and operations between."""
    mesh = _mesh(side)

    def forward(x: torch.Tensor, weight: DTensor) -> Any:
        sharded = DTensor.from_local(x, mesh, [Replicate()], run_check=False)
        sharded = sharded.redistribute(mesh, [Shard(0)])
        made = torch.relu(sharded @ weight) + 1
        return made.to_local(), made.full_tensor(), made.redistribute(placements=[Replicate()])

    weight = nn.Parameter(distribute_tensor(torch.randn(8, 4), mesh, [Replicate()]))
    call = side.compile(forward)
    found = []
    for _ in range(3):
        local, full, again = call(torch.ones(4, 8), weight)
        (full.sum() + again.to_local().sum()).backward()
        found += [whole(local), whole(full), whole(again), whole(weight.grad)]
    return {"values": found}


def placements_change(side: Any) -> Any:
    """The same function on a tensor that is sharded otherwise: guards tell them apart."""
    mesh = _mesh(side)
    call = side.compile(lambda x: (x * 2).sum(0))
    given = torch.arange(32.0).reshape(4, 8)
    found = []
    for placement in (Shard(0), Shard(1), Replicate(), Shard(0)):
        made = call(distribute_tensor(given, mesh, [placement]))
        found.append(whole(made))
        side.seen.setdefault("placements", []).append(str(made.placements))
    return {"values": found}


# ---- four ranks


def two_by_two(side: Any) -> Any:
    """FSDP2 over one dimension of a mesh, tensor parallel over the other."""
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    model = Blocks(2)
    for i, block in enumerate(model.blocks):
        plan = {"up": ColwiseParallel(), "down": RowwiseParallel()}
        parallelize_module(block, mesh["tp"], plan)
        model.blocks[i] = side.compile(block)
        fully_shard(model.blocks[i], mesh=mesh["dp"])
    fully_shard(model, mesh=mesh["dp"])
    return train(side, model, model, same_data=True)


# ---- collectives


def functional_collectives(side: Any) -> Any:
    """Those of _functional_collectives: each gives a new tensor."""
    group = dist.group.WORLD

    def forward(x: torch.Tensor) -> Any:
        total = funcol.all_reduce(x, "sum", group)
        gathered = funcol.all_gather_tensor(x * 2, 0, group)
        mine = funcol.reduce_scatter_tensor(gathered, "sum", 0, group)
        return total + 1, gathered, mine, funcol.broadcast(x, 0, group)

    call = side.compile(forward)
    made = [call(torch.full((2, 3), float(side.rank + i))) for i in range(3)]
    return {"values": [[whole(one) for one in row] for row in made]}


def collectives_in_place(side: Any) -> Any:
    """The usual ones, which write into what they are given."""

    def forward(x: torch.Tensor, parts: torch.Tensor, mine: torch.Tensor) -> torch.Tensor:
        x = x + 1
        dist.all_reduce(x)
        dist.all_gather_into_tensor(parts, x)
        dist.reduce_scatter_tensor(mine, parts * 2, op=dist.ReduceOp.SUM)
        dist.broadcast(x, src=0)
        return x.sum() + mine.sum()

    call = side.compile(forward)
    found = []
    for i in range(3):
        x = torch.full((2, 3), float(side.rank + i))
        parts, mine = torch.zeros(2 * side.world, 3), torch.zeros(2, 3)
        found += [whole(call(x, parts, mine)), parts, mine, x]
    return {"values": found}


def collectives_of_groups(side: Any) -> Any:
    """A group of its own, and that of a mesh."""
    mesh = _mesh(side)
    ranks = dist.new_group(list(range(side.world)))

    def forward(x: torch.Tensor) -> torch.Tensor:
        x = x * 2
        dist.all_reduce(x, op=dist.ReduceOp.MAX, group=ranks)
        return x + funcol.all_reduce(x, "sum", mesh.get_group()) / mesh.size()

    call = side.compile(forward)
    return {"values": [whole(call(torch.full((3,), float(side.rank + i)))) for i in range(3)]}


def ranks_and_sizes(side: Any) -> Any:
    """Who a rank is, is known while tracing."""

    def forward(x: torch.Tensor) -> torch.Tensor:
        if dist.is_initialized() and dist.get_rank() == 0:
            x = x + 1
        return x * dist.get_world_size()

    return {"values": [whole(side.compile(forward)(torch.ones(3)))]}
