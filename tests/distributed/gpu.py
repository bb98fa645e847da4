"""Programs for a GPU and NCCL, in a group of one rank."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel
from torch.nn.parallel.distributed import _MixedPrecision

from tests.distributed.models import (
    STEPS,
    Blocks,
    gather_into,
    reduce_scatter_into,
    whole,
)


def _values(call: Any) -> list[Any]:
    return [call(torch.arange(6.0, device="cuda").reshape(2, 3) + i) for i in range(3)]


def _train(call: Any, model: nn.Module) -> dict[str, Any]:
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=False)  # plain and DTensors
    torch.manual_seed(1)
    losses, grads = [], []
    for _ in range(STEPS):
        loss = call(torch.randn(3, 8).cuda()).float().pow(2).mean()
        loss.backward()
        losses.append(whole(loss).cpu())
        grads.append([whole(p.grad).cpu() for p in model.parameters()])
        optimizer.step()
        optimizer.zero_grad()
    return {"losses": losses, "grads": grads}


def _also_inductor(side: Any, run: Any) -> Any:
    """What `run` gives; under suture it is run a second time, with Inductor."""
    if side.name == "suture":
        torch.manual_seed(0)
        graphs = len(side.graphs)
        side.seen["inductor"] = run(lambda model: side.compile(model, backend="inductor"))
        assert len(side.graphs) == graphs
        torch.manual_seed(0)
    return run(side.compile)


def handles_overlap(side: Any) -> Any:
    """A collective with a handle, on the stream of NCCL, and work between call and wait."""

    def forward(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        handle = dist.all_reduce(y, async_op=True)
        z = x.sin() + 1
        handle.wait()
        return y + z

    return _also_inductor(side, lambda compile: [v.cpu() for v in _values(compile(forward))])


def each_collective(side: Any) -> Any:
    def forward(x: torch.Tensor) -> Any:
        gathered, mine, exchanged = torch.zeros_like(x), torch.zeros_like(x), torch.zeros_like(x)
        handles = [
            gather_into(gathered, x, async_op=True),
            reduce_scatter_into(mine, x * 2, async_op=True),
            dist.all_to_all_single(exchanged, x + 1, async_op=True),
        ]
        for handle in handles:
            handle.wait()
        dist.broadcast(x, src=0)
        return gathered + mine, exchanged * 2

    return [[v.cpu() for v in row] for row in _values(side.compile(forward))]


def another_group(side: Any) -> Any:
    group = dist.new_group([0])

    def forward(x: torch.Tensor) -> torch.Tensor:
        y = x + 1
        dist.all_reduce(y, op=dist.ReduceOp.MAX, group=group, async_op=True).wait()
        return y * dist.get_world_size(group)

    return [v.cpu() for v in _values(side.compile(forward))]


def ddp(side: Any) -> Any:
    def run(compile: Any) -> Any:
        torch.manual_seed(0)
        model = Blocks(2).cuda()
        return _train(compile(DistributedDataParallel(model, device_ids=[0])), model)

    return _also_inductor(side, run)


def ddp_lower_precision(side: Any) -> Any:
    """DDP's own mixed precision: parameters and buffers are cast for each forward."""
    model = Blocks(2).cuda()
    lower = _MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    made = DistributedDataParallel(model, device_ids=[0], mixed_precision=lower)
    return _train(side.compile(made), model)


def fsdp(side: Any) -> Any:
    def run(compile: Any) -> Any:
        torch.manual_seed(0)
        model = Blocks(2).cuda()
        for i, block in enumerate(model.blocks):
            model.blocks[i] = compile(block)
            fully_shard(model.blocks[i])
        fully_shard(model)
        return _train(model, model)

    return _also_inductor(side, run)


def tensor_parallel(side: Any) -> Any:
    mesh = init_device_mesh("cuda", (side.world,), mesh_dim_names=("tp",))
    model = Blocks(2).cuda()
    for block in model.blocks:
        parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
    return _train(side.compile(model), model)
