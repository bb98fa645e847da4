"""Data parallel training: DDP, and FSDP2 per block and as a whole."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.backends.debugging import boxed_nop as nop
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.parallel import DistributedDataParallel

import suture
from tests.distributed.models import Blocks, train, whole

# ---- FSDP2


def fsdp_per_block(side: Any) -> Any:
    """compile(block), then fully_shard, as training scripts do it."""
    model = Blocks()
    for i, block in enumerate(model.blocks):
        model.blocks[i] = side.compile(block)
        fully_shard(model.blocks[i], reshard_after_forward=True)
    fully_shard(model)
    return train(side, model, model, clip=True)


def fsdp_compiled_after(side: Any) -> Any:
    """fully_shard, then compile each block."""
    model = Blocks()
    for i, block in enumerate(model.blocks):
        fully_shard(block, reshard_after_forward=False)
        model.blocks[i] = side.compile(block)
    fully_shard(model)
    return train(side, model, model)


def fsdp_whole(side: Any) -> Any:
    model = Blocks()
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    return train(side, side.compile(model), model)


def fsdp_mixed_precision_and_checkpoints(side: Any) -> Any:
    model = Blocks()
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for i, block in enumerate(model.blocks):
        model.blocks[i] = side.compile(checkpoint_wrapper(block))
        fully_shard(model.blocks[i], mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    found = train(side, model, model)
    found["state"] = {name: whole(value) for name, value in model.state_dict().items()}
    return found


def fsdp_module_compile(side: Any) -> Any:
    """block.compile(), then fully_shard; suture is what torch.compile means under install()."""
    model = Blocks()
    if side.name == "suture":
        suture.install()
    try:
        for block in model.blocks:
            if side.name != "plain":
                block.compile(backend=side.backend)
            fully_shard(block)
        fully_shard(model)
        return train(side, model, model)
    finally:
        suture.uninstall()


def fsdp_torch_modules(side: Any) -> Any:
    """Modules that torch wrote, each sharded: their forwards are compiled as the program's are."""
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))
    fully_shard(model[0])
    fully_shard(model[2])
    fully_shard(model)
    return train(side, side.compile(model), model)


def fsdp_methods(side: Any) -> Any:
    """What FSDPModule adds to a module is there on the compiled one, whichever came first."""
    model = Blocks(2)
    first = side.compile(fully_shard(model.blocks[0]))
    second = fully_shard(side.compile(model.blocks[1]))
    model.blocks[0], model.blocks[1] = first, second
    fully_shard(model)
    model.set_requires_gradient_sync(False)
    train_one = model(torch.ones(2, 8) * (side.rank + 1)).sum()
    train_one.backward()
    model.set_requires_gradient_sync(True)
    model(torch.ones(2, 8)).sum().backward()
    first.unshard()
    second.reshard()
    first.reshard()
    return {"grads": [whole(p.grad) for p in model.parameters()]}


# ---- DDP


class WithBuffers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.norm = nn.BatchNorm1d(16)
        self.last = nn.Linear(16, 8)
        self.unused = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(torch.relu(self.norm(self.first(x))))


def ddp_inside(side: Any) -> Any:
    model = Blocks()
    return train(side, DistributedDataParallel(side.compile(model)), model)


def ddp_outside(side: Any) -> Any:
    model = Blocks()
    return train(side, side.compile(DistributedDataParallel(model)), model)


def ddp_torch_module(side: Any) -> Any:
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))
    return train(side, side.compile(DistributedDataParallel(model)), model)


def ddp_unused_and_buffers(side: Any) -> Any:
    model = WithBuffers()
    ddp = DistributedDataParallel(model, find_unused_parameters=True, broadcast_buffers=True)
    found = train(side, side.compile(ddp), model)
    found["state"] = {name: whole(value) for name, value in model.state_dict().items()}
    return found


def ddp_static_graph(side: Any) -> Any:
    model = Blocks(2)
    return train(side, side.compile(DistributedDataParallel(model, static_graph=True)), model)


def ddp_mixed_precision(side: Any) -> Any:
    model = Blocks(2)
    call = side.compile(DistributedDataParallel(model))

    def lowered(x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return call(x)

    return train(side, lowered, model)


def ddp_accumulates(side: Any) -> Any:
    """no_sync: gradients are reduced with the second backward only."""
    model = Blocks(2)
    ddp = DistributedDataParallel(model)
    call = side.compile(ddp)
    torch.manual_seed(side.rank + 1)
    seen = []
    for _ in range(3):
        with ddp.no_sync():
            call(torch.randn(3, 8)).pow(2).mean().backward()
        seen.append([whole(p.grad) for p in model.parameters()])
        call(torch.randn(3, 8)).pow(2).mean().backward()
        seen.append([whole(p.grad) for p in model.parameters()])
        model.zero_grad()
    return {"grads": seen}


def ddp_buckets(side: Any) -> Any:
    """Buckets of one block each: what the last step did in the backward, in order."""
    model = Blocks(4, 256)
    ddp = DistributedDataParallel(model, bucket_cap_mb=1)
    order: list[str] = []

    def reduced(state, bucket):
        order.append("bucket")
        return default_hooks.allreduce_hook(state, bucket)

    def backward_compiler(gm: torch.fx.GraphModule, inputs: Any) -> Any:
        def run(args: Any) -> Any:
            order.append("backward")
            return gm.forward(*args)

        run._boxed_call = True
        return run

    def backend(gm: torch.fx.GraphModule, inputs: Any) -> Any:
        side.graphs.append(gm)
        return aot_autograd(fw_compiler=nop, bw_compiler=backward_compiler)(gm, inputs)

    ddp.register_comm_hook(None, reduced)
    found = train(side, side.compile(ddp, backend=backend), model, shape=(3, 256))
    side.seen["order"] = order
    return found
