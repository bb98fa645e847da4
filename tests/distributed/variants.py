"""More programs that train on many processes: other orders, other options, other models."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    set_model_state_dict,
)
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import parametrizations

from tests.distributed.models import STEPS, Blocks, train, whole


class Attention(nn.Module):
    """Heads over a sequence, with a residual and a norm."""

    def __init__(self, width: int = 8, heads: int = 2) -> None:
        super().__init__()
        self.size = width // heads
        self.norm = nn.LayerNorm(width)
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.norm(x)
        q, k, v = (
            layer(y).unflatten(-1, (-1, self.size)).transpose(1, 2)
            for layer in (self.q, self.k, self.v)
        )
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(mixed.transpose(1, 2).flatten(-2))


class Language(nn.Module):
    """Tokens in, scores out; the embedding's weight is that of the head."""

    def __init__(self, words: int = 16, width: int = 8) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, width)
        self.layers = nn.ModuleList([Attention(width) for _ in range(2)])
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def _learn(side: Any, call: Any, model: nn.Module, optimizer: Any = None) -> dict[str, Any]:
    """Five steps on tokens."""
    optimizer = optimizer or torch.optim.AdamW(model.parameters(), lr=0.01)
    torch.manual_seed(side.rank + 1)
    losses, grads = [], []
    for _ in range(STEPS):
        tokens = torch.randint(16, (2, 6))
        scores = call(tokens[:, :-1])
        loss = nn.functional.cross_entropy(scores.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        losses.append(whole(loss))
        grads.append([whole(p.grad) for p in model.parameters()])
        optimizer.step()
        optimizer.zero_grad()
    return {"losses": losses, "grads": grads}


# ---- DDP


def ddp_language(side: Any) -> Any:
    """Attention, an embedding whose weight is shared with the head, AdamW."""
    model = Language()
    return _learn(side, side.compile(DistributedDataParallel(model)), model)


def ddp_no_sync_of_inner(side: Any) -> Any:
    """The compiled module is inside of DDP; three batches are accumulated, two of them unsynced."""
    model = Blocks(2)
    ddp = DistributedDataParallel(side.compile(model))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(side.rank + 1)
    losses, grads = [], []
    for _ in range(STEPS):
        with ddp.no_sync():
            for _ in range(2):
                ddp(torch.randn(3, 8)).pow(2).mean().backward()
            grads.append([whole(p.grad) for p in model.parameters()])
        loss = ddp(torch.randn(3, 8)).pow(2).mean()
        loss.backward()
        losses.append(whole(loss))
        grads.append([whole(p.grad) for p in model.parameters()])
        optimizer.step()
        optimizer.zero_grad()
    return {"losses": losses, "grads": grads}


def ddp_norms_with_buffers(side: Any) -> Any:
    """Batch norms: running means are buffers that rank 0 sends to the others before each step."""
    model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 8))
    ddp = DistributedDataParallel(model, broadcast_buffers=True)
    found = train(side, side.compile(ddp), model)
    found["buffers"] = [buffer.clone() for buffer in model.buffers()]
    return found


def ddp_unused_by_turns(side: Any) -> Any:
    """Which branch is used alternates, the same way on all ranks."""

    class Turns(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.left, self.right = nn.Linear(8, 8), nn.Linear(8, 8)
            self.turn = 0

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.left(x) if self.turn % 2 == 0 else self.right(x)

    model = Turns()
    ddp = DistributedDataParallel(model, find_unused_parameters=True)
    call = side.compile(ddp)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(side.rank + 1)
    losses, grads = [], []
    for step in range(STEPS):
        model.turn = step
        loss = call(torch.randn(3, 8)).pow(2).mean()
        loss.backward()
        losses.append(whole(loss))
        grads.append([None if p.grad is None else whole(p.grad) for p in model.parameters()])
        optimizer.step()
        optimizer.zero_grad()
    return {"losses": losses, "grads": grads}


def ddp_hook_of_gradients(side: Any) -> Any:
    """Gradients are sent in half precision by DDP's communication hook."""
    from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook

    model = Blocks(2)
    ddp = DistributedDataParallel(model)
    ddp.register_comm_hook(None, fp16_compress_hook)
    return train(side, side.compile(ddp), model)


def ddp_compiled_step(side: Any) -> Any:
    """The loss is computed in a compiled function that calls the DDP module."""
    model = Blocks(2)
    ddp = DistributedDataParallel(model)
    loss_of = side.compile(lambda x, target: nn.functional.mse_loss(ddp(x), target))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(side.rank + 1)
    losses, grads = [], []
    for _ in range(STEPS):
        loss = loss_of(torch.randn(3, 8), torch.zeros(3, 8))
        loss.backward()
        losses.append(whole(loss))
        grads.append([whole(p.grad) for p in model.parameters()])
        optimizer.step()
        optimizer.zero_grad()
    return {"losses": losses, "grads": grads}


# ---- FSDP2


def _sharded(side: Any, first: str, **options: Any) -> tuple[nn.Module, nn.Module]:
    """Blocks, each sharded; `first` says whether compiling comes before or after."""
    model = Blocks(3)
    for i, block in enumerate(model.blocks):
        if first == "compile":
            model.blocks[i] = side.compile(block)
        fully_shard(model.blocks[i], **options)
        if first == "shard":
            model.blocks[i] = side.compile(block)
    fully_shard(model, **options)
    return model, model


def fsdp_keeps_parameters(side: Any) -> Any:
    """reshard_after_forward=False: what was gathered stays until the backward is done."""
    model, call = _sharded(side, "compile", reshard_after_forward=False)
    return train(side, call, model)


def fsdp_reshards_to_a_part(side: Any) -> Any:
    """reshard_after_forward=True, said outright, with gradients clipped over DTensors."""
    model, call = _sharded(side, "shard", reshard_after_forward=True)
    return train(side, call, model, clip=True)


def fsdp_half_precision(side: Any) -> Any:
    """Parameters and outputs in bfloat16, gradients reduced in float32."""
    policy = MixedPrecisionPolicy(
        param_dtype=torch.bfloat16, reduce_dtype=torch.float32, output_dtype=torch.float32
    )
    model, call = _sharded(side, "compile", mp_policy=policy)
    return train(side, call, model)


def fsdp_language(side: Any) -> Any:
    """Attention layers sharded one by one; embedding and head share a weight at the root."""
    model = Language()
    for i, layer in enumerate(model.layers):
        model.layers[i] = side.compile(layer)
        fully_shard(model.layers[i])
    fully_shard(model)
    return _learn(side, model, model)


def fsdp_without_sync(side: Any) -> Any:
    """Gradients of two batches are accumulated, reduced with the second."""
    model, call = _sharded(side, "compile")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(side.rank + 1)
    losses, grads = [], []
    for _ in range(STEPS):
        for last in (False, True):
            model.set_requires_gradient_sync(last)
            model.set_is_last_backward(last)
            loss = call(torch.randn(3, 8)).pow(2).mean()
            loss.backward()
            losses.append(whole(loss))
        grads.append([whole(p.grad) for p in model.parameters()])
        optimizer.step()
        optimizer.zero_grad()
    return {"losses": losses, "grads": grads}


def fsdp_checkpointed(side: Any) -> Any:
    """checkpoint_wrapper around the block, compiled, sharded: in this order."""
    model = Blocks(3)
    for i, block in enumerate(model.blocks):
        model.blocks[i] = side.compile(checkpoint_wrapper(block))
        fully_shard(model.blocks[i])
    fully_shard(model)
    return train(side, model, model)


def fsdp_parametrized(side: Any) -> Any:
    """Weight normalisation of a layer before the block is compiled, and of another one after it;
    then both are sharded."""
    model = Blocks(2)
    parametrizations.weight_norm(model.blocks[0].up)
    for i, block in enumerate(model.blocks):
        model.blocks[i] = side.compile(block)
    parametrizations.weight_norm(model.blocks[1].up)
    for block in model.blocks:
        fully_shard(block)
    fully_shard(model)
    return train(side, model, model)


def fsdp_whole_state(side: Any) -> Any:
    """The state of a sharded, compiled model, gathered; a plain model loads it, and the other way
    round."""
    model, call = _sharded(side, "compile")
    found = train(side, call, model)
    full = StateDictOptions(full_state_dict=True)
    state = get_model_state_dict(model, options=full)
    side.seen["names"] = list(state)
    plain = Blocks(3)
    plain.load_state_dict(state)
    with torch.no_grad():
        for parameter in plain.parameters():
            parameter.mul_(0.5)
    set_model_state_dict(model, plain.state_dict(), options=full)
    found["again"] = whole(call(torch.ones(3, 8)))
    found["plain"] = whole(plain(torch.ones(3, 8)))
    torch.testing.assert_close(found["again"], found["plain"])
    return found


# ---- DTensor


def parallel_attention(side: Any) -> Any:
    """Heads on different ranks, a norm over parts of the sequence."""
    mesh = init_device_mesh("cpu", (side.world,))
    model = Attention(8, 2)
    plan = {
        "norm": SequenceParallel(),
        "q": ColwiseParallel(input_layouts=Shard(1)),
        "k": ColwiseParallel(input_layouts=Shard(1)),
        "v": ColwiseParallel(input_layouts=Shard(1)),
        "out": RowwiseParallel(output_layouts=Shard(1)),
    }
    parallelize_module(model, mesh, plan)
    return train(side, side.compile(model), model, shape=(2, 4, 8), same_data=True)


def parallel_inputs(side: Any) -> Any:
    """Inputs that torch prepares: sharded on the way in, gathered for the block."""
    mesh = init_device_mesh("cpu", (side.world,))
    model = Blocks(2)
    for block in model.blocks:
        plan = {
            "": PrepareModuleInput(
                input_layouts=Replicate(), desired_input_layouts=Replicate(), use_local_output=True
            ),
            "up": ColwiseParallel(),
            "down": RowwiseParallel(),
        }
        parallelize_module(block, mesh, plan)
    return train(side, side.compile(model), model, same_data=True)


def parallel_blocks(side: Any) -> Any:
    """Blocks compiled one by one: their hooks do the same, under other numbers."""
    mesh = init_device_mesh("cpu", (side.world,))
    model = Blocks(3)
    for i, block in enumerate(model.blocks):
        parallelize_module(block, mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
        model.blocks[i] = side.compile(block)
    return train(side, model, model, same_data=True)


def weights_as_dtensors(side: Any) -> Any:
    """Parameters that the program distributes itself, and an optimizer's step in the graph."""
    mesh = init_device_mesh("cpu", (side.world,))
    torch.manual_seed(3)
    weight = nn.Parameter(distribute_tensor(torch.randn(8, 8), mesh, [Shard(0)]))
    bias = nn.Parameter(distribute_tensor(torch.randn(8), mesh, [Replicate()]))

    def loss_of(x: torch.Tensor) -> torch.Tensor:
        y = DTensor.from_local(x, mesh, [Replicate()], run_check=False) @ weight.t() + bias
        return y.pow(2).mean().full_tensor()

    compiled = side.compile(loss_of)
    torch.manual_seed(1)
    losses, grads = [], []
    for _ in range(STEPS):
        loss = compiled(torch.randn(3, 8))
        loss.backward()
        losses.append(whole(loss))
        grads.append([whole(weight.grad), whole(bias.grad)])
        with torch.no_grad():
            for p in (weight, bias):
                p -= 0.1 * p.grad
                p.grad = None
    return {"losses": losses, "grads": grads}


# ---- four ranks


def mesh_of_language(side: Any) -> Any:
    """2x2: layers sharded over one dimension of the mesh, heads over the other."""
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp"))
    model = Language()
    for i, layer in enumerate(model.layers):
        plan = {
            "q": ColwiseParallel(),
            "k": ColwiseParallel(),
            "v": ColwiseParallel(),
            "out": RowwiseParallel(),
        }
        parallelize_module(layer, mesh["tp"], plan)
        model.layers[i] = side.compile(layer)
        fully_shard(model.layers[i], mesh=mesh["dp"])
    fully_shard(model, mesh=mesh["dp"])
    return _learn(side, model, model, torch.optim.SGD(model.parameters(), lr=0.1))


def mesh_of_collectives(side: Any) -> Any:
    """Collectives over each dimension of a 2x2 mesh, in one graph."""
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("rows", "columns"))

    def forward(x: torch.Tensor) -> Any:
        along, across = mesh.get_group("rows"), mesh.get_group("columns")
        y = x * (mesh.get_local_rank("rows") + 1)
        dist.all_reduce(y, group=along)
        z = x + 1
        handle = dist.all_reduce(z, group=across, async_op=True)
        w = y.sin()
        handle.wait()
        return w + z, mesh.size(0), dist.get_rank(across)

    call = side.compile(forward)
    return {"values": [call(torch.ones(3) * (side.rank + i)) for i in range(3)]}


def hybrid_sharding(side: Any) -> Any:
    """Parameters sharded over one dimension and replicated over the other."""
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("replicate", "shard"))
    model, call = _sharded(side, "compile", mesh=mesh)
    return train(side, call, model, clip=True)
