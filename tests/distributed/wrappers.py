"""Modules that torch changes before or after they are compiled: replicated, checkpointed,
reparametrised, of another class; and whole recipes of training."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.distributed._composable import checkpoint_activation
from torch.distributed._composable.replicate import replicate
from torch.distributed._composable.replicate_with_fsdp import replicate as replicate_fsdp
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    CheckpointImpl,
    apply_activation_checkpointing,
    checkpoint_wrapper,
)
from torch.distributed.checkpoint.state_dict import (
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
)
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import parametrizations

import suture
from tests.distributed.models import STEPS, Block, Blocks, train, whole

# ---- replicate


def replicate_then_compile(side: Any) -> Any:
    model = Blocks(2)
    replicate(model)
    return train(side, side.compile(model), model)


def compile_then_replicate(side: Any) -> Any:
    model = Blocks(2)
    call = side.compile(model)
    replicate(call)
    return train(side, call, model)


def replicate_blocks(side: Any) -> Any:
    """The newer one, which is made of FSDP2's parts: one block before, one after."""
    model = Blocks(2)
    model.blocks[0] = side.compile(replicate_fsdp(model.blocks[0]))
    model.blocks[1] = replicate_fsdp(side.compile(model.blocks[1]))
    replicate_fsdp(model)
    return train(side, model, model)


# ---- checkpoints


def checkpoints_around_compiled(side: Any) -> Any:
    model = Blocks(2)
    for i, block in enumerate(model.blocks):
        model.blocks[i] = checkpoint_wrapper(side.compile(block))
    return train(side, model, model)


def checkpoints_inside_compiled(side: Any) -> Any:
    model = Blocks(2)
    apply_activation_checkpointing(
        model,
        checkpoint_wrapper_fn=lambda m: checkpoint_wrapper(m, CheckpointImpl.NO_REENTRANT),
        check_fn=lambda m: isinstance(m, Block),
    )
    return train(side, side.compile(model), model)


def composable_checkpoints(side: Any) -> Any:
    """torch adds hooks to the module; one block before it is compiled, one after."""
    if side.name == "torch":  # raises CheckpointError for the first of them
        return None
    model = Blocks(2)
    model.blocks[0] = side.compile(checkpoint_activation.checkpoint(model.blocks[0]))
    model.blocks[1] = checkpoint_activation.checkpoint(side.compile(model.blocks[1]))
    return train(side, model, model)


def composable_checkpoints_of_compiled(side: Any) -> Any:
    """Each block is compiled, then checkpointed, with options."""
    model = Blocks(2)
    for i, block in enumerate(model.blocks):
        made = side.compile(block)
        model.blocks[i] = checkpoint_activation.checkpoint(made, preserve_rng_state=bool(i))
    return train(side, model, model)


def composable_checkpoints_in_one(side: Any) -> Any:
    """Blocks are checkpointed, and the whole model is compiled."""
    if side.name == "torch":  # raises CheckpointError
        return None
    model = Blocks(2)
    for block in model.blocks:
        checkpoint_activation.checkpoint(block)
    return train(side, side.compile(model), model)


def composable_checkpoints_that_break(side: Any) -> Any:
    """What is run again cannot be captured."""
    if side.name == "torch":
        return None
    model = Blocks(2)
    for i, block in enumerate(model.blocks):
        block.norm.register_forward_hook(lambda *args: suture.graph_break())
        model.blocks[i] = side.compile(checkpoint_activation.checkpoint(block))
    return train(side, model, model)


# ---- other classes


class Scaled(nn.Linear):
    """A layer that takes another one's place, as torch.ao makes them."""

    factor = 0.5

    @classmethod
    def from_float(cls, module: nn.Linear) -> Scaled:
        made = cls(module.in_features, module.out_features)
        made.weight, made.bias = module.weight, module.bias
        return made

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return super().forward(x * self.factor)


def _swap(block: Any) -> None:
    """One layer is replaced, the other one's class is."""
    block.up = Scaled.from_float(block.up)
    block.down.__class__ = Scaled


def classes_before(side: Any) -> Any:
    model = Blocks(2)
    for block in model.blocks:
        _swap(block)
    return train(side, side.compile(model), model)


def classes_after(side: Any) -> Any:
    """After a first call, so that what was compiled has to give way."""
    model = Blocks(2)
    call = side.compile(model)
    first = call(torch.ones(2, 8))
    for block in model.blocks:
        _swap(block)
    found = train(side, call, model)
    found["first"] = whole(first)
    return found


def class_of_the_compiled(side: Any) -> Any:
    """The compiled module's own class is replaced, after a first call."""

    class Negated(Block):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return -super().forward(x)

    model = Block()
    call = side.compile(model)
    first = call(torch.ones(2, 8))
    model.__class__ = Negated
    found = train(side, call, model)
    found["first"] = whole(first)
    return found


def parametrized(side: Any) -> Any:
    """Weight normalisation: the class of a layer becomes a new one."""
    model = Blocks(2)
    parametrizations.weight_norm(model.blocks[0].up)
    call = side.compile(model)
    first = call(torch.ones(2, 8))
    parametrizations.weight_norm(model.blocks[1].up)
    found = train(side, call, model)
    found["first"] = whole(first)
    return found


# ---- recipes


def ddp_everything(side: Any) -> Any:
    """A static graph, gradients as views of buckets, accumulated over two batches, clipped, and a
    parameter that is not used."""
    model = Blocks(2)
    model.unused = nn.Parameter(torch.ones(3))
    ddp = DistributedDataParallel(
        model, static_graph=True, gradient_as_bucket_view=True, find_unused_parameters=True
    )
    call = side.compile(ddp)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    torch.manual_seed(side.rank + 1)
    losses, norms = [], []
    for _ in range(STEPS):
        call(torch.randn(3, 8)).pow(2).mean().backward()
        with ddp.no_sync():
            losses.append(whole(call(torch.randn(3, 8)).pow(2).mean()))
        norms.append(whole(nn.utils.clip_grad_norm_(model.parameters(), 0.5)))
        optimizer.step()
        optimizer.zero_grad()
    return {"losses": losses, "norms": norms, "state": _copied(model.state_dict())}


def fsdp_everything(side: Any) -> Any:
    """Mixed precision, checkpoints inside of compiled blocks, clipping over DTensors, AdamW, and a
    state that is saved and loaded half-way."""
    model = Blocks(2)
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for i, block in enumerate(model.blocks):
        model.blocks[i] = side.compile(checkpoint_wrapper(block))
        fully_shard(model.blocks[i], mp_policy=policy)
    fully_shard(model, mp_policy=policy)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    torch.manual_seed(side.rank + 1)
    losses, norms = [], []
    for step in range(STEPS):
        loss = model(torch.randn(3, 8)).float().pow(2).mean()
        loss.backward()
        losses.append(whole(loss))
        norms.append(whole(nn.utils.clip_grad_norm_(model.parameters(), 0.5)))
        optimizer.step()
        optimizer.zero_grad()
        if step == 1:
            saved = {key: value.clone() for key, value in get_model_state_dict(model).items()}
        if step == 3:
            set_model_state_dict(model, saved)
    state = get_optimizer_state_dict(model, optimizer)["state"]
    moments = {f"{name}.{key}": value for name, row in state.items() for key, value in row.items()}
    side.seen["names"] = [*get_model_state_dict(model), *moments]
    return {
        "losses": losses,
        "norms": norms,
        "state": _copied(get_model_state_dict(model)),
        "moments": _copied(moments),
    }


def _copied(state: Any) -> list[torch.Tensor]:
    return [whole(value) for value in state.values() if isinstance(value, torch.Tensor)]
