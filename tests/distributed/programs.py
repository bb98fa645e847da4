"""Whole programs as they are written for many processes: training that stops and goes on, uneven
data, losses over sharded scores, checkpoints of a mesh, pipelines, optimizers in parts."""

from __future__ import annotations

import tempfile
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as checkpoints
import torch.distributed.nn.functional as over_ranks
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.algorithms.join import Join
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel

from tests.distributed.models import STEPS, Block, Blocks, train, whole
from tests.distributed.variants import Language


def _tokens(side: Any, same: bool = False) -> list[torch.Tensor]:
    torch.manual_seed(1 if same else side.rank + 1)
    return [torch.randint(16, (2, 6)) for _ in range(STEPS)]


def _loss(scores: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    return nn.functional.cross_entropy(scores.flatten(0, 1).float(), tokens[:, 1:].flatten())


def _state(model: nn.Module) -> list[torch.Tensor]:
    return [whole(value) for value in model.state_dict().values()]


# ---- data parallel


def stops_and_goes_on(side: Any) -> Any:
    """Autocast, accumulation, clipping and a schedule; half-way all of it is saved, and loaded into
    a new model that is compiled anew."""

    def begin() -> Any:
        torch.manual_seed(0)
        model = Language()
        ddp = DistributedDataParallel(model)
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
        return model, ddp, side.compile(ddp), optimizer, schedule

    model, ddp, call, optimizer, schedule = begin()
    losses, norms, rates = [], [], []
    for step, tokens in enumerate(_tokens(side)):
        for half, part in enumerate(tokens.split(1)):
            with torch.autocast("cpu", torch.bfloat16):
                if half == 0:
                    with ddp.no_sync():
                        loss = _loss(call(part[:, :-1]), part) / 2
                        loss.backward()
                else:
                    loss = _loss(call(part[:, :-1]), part) / 2
                    loss.backward()
            losses.append(whole(loss))
        norms.append(whole(nn.utils.clip_grad_norm_(model.parameters(), 0.5)))
        optimizer.step()
        optimizer.zero_grad()
        schedule.step()
        rates.append(schedule.get_last_lr()[0])
        if step == 2:
            parts = model, optimizer, schedule
            with tempfile.TemporaryFile() as file:
                torch.save([one.state_dict() for one in parts], file)
                file.seek(0)
                saved = torch.load(file)
            model, ddp, call, optimizer, schedule = begin()
            for one, state in zip((model, optimizer, schedule), saved):
                one.load_state_dict(state)
    side.seen["rates"] = rates
    return {"losses": losses, "norms": norms, "state": _state(model)}


def uneven_data(side: Any) -> Any:
    """One rank has more batches than the other, under `join`."""
    model = Blocks(2)
    ddp = DistributedDataParallel(model)
    call = side.compile(ddp)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with ddp.join():
        losses = _few_steps(side, call, optimizer, STEPS - 2 * side.rank)
    return {"losses": losses, "state": _state(model)}


def _few_steps(side: Any, call: Any, optimizer: Any, count: int) -> list[Any]:
    """The losses of so many steps; ranks may take more or fewer."""
    torch.manual_seed(side.rank + 1)
    losses = []
    for _ in range(count):
        loss = call(torch.randn(3, 8)).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(whole(loss))
    return losses


def optimizer_in_parts(side: Any) -> Any:
    """Each rank steps its own part of the parameters, then they are shared; both join."""
    model = Blocks(2)
    ddp = DistributedDataParallel(model)
    call = side.compile(ddp)
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.01)
    with Join([ddp, optimizer]):
        losses = _few_steps(side, call, optimizer, STEPS - side.rank)
    return {"losses": losses, "state": _state(model)}


def norms_of_all_ranks(side: Any) -> Any:
    """SyncBatchNorm: it needs a GPU to train; its running statistics are used anywhere."""
    model = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 2))
    model = nn.SyncBatchNorm.convert_sync_batchnorm(model)
    call = side.compile(model)
    try:
        call(torch.ones(3, 8))
    except ValueError as error:
        side.seen["error"] = str(error)
    model.eval()
    return train(side, call, model)


# ---- sharded parameters


def language_in_shards(side: Any) -> Any:
    """Blocks with checkpoints inside, mixed precision, the last one kept whole behind its forward,
    prefetched by hand; the optimizer's step is compiled as well."""
    model = Language()
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for i, layer in enumerate(model.layers):
        model.layers[i] = side.compile(checkpoint_wrapper(layer))
        fully_shard(model.layers[i], mp_policy=policy, reshard_after_forward=i == 0)
    fully_shard(model, mp_policy=policy)
    model.layers[0].set_modules_to_forward_prefetch([model.layers[1]])
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, foreach=True)
    step = side.compile(optimizer.step)
    losses, norms = [], []
    for turn, tokens in enumerate(_tokens(side)):
        loss = _loss(model(tokens[:, :-1]), tokens)
        loss.backward()
        norms.append(whole(nn.utils.clip_grad_norm_(model.parameters(), 0.5)))
        (step if turn else optimizer.step)()  # the first one makes its state
        optimizer.zero_grad()
        losses.append(whole(loss))
    return {"losses": losses, "norms": norms, "state": _state(model)}


def checkpoint_of_a_mesh(side: Any) -> Any:
    """Model and optimizer are written by all ranks, and read into a new compiled model."""
    where = [tempfile.mkdtemp() if side.rank == 0 else None]
    dist.broadcast_object_list(where)

    def begin() -> Any:
        torch.manual_seed(side.rank)  # loading makes them equal
        model = Blocks(2)
        for block in model.blocks:
            fully_shard(block)
        fully_shard(model)
        return model, side.compile(model), torch.optim.AdamW(model.parameters(), lr=0.01)

    model, call, optimizer = begin()
    first = train(side, call, model, same_data=True)
    kept = dict(zip(("model", "optimizer"), get_state_dict(model, optimizer)))
    checkpoints.save(kept, checkpoint_id=where[0])
    model, call, optimizer = begin()
    kept = dict(zip(("model", "optimizer"), get_state_dict(model, optimizer)))
    checkpoints.load(kept, checkpoint_id=where[0])
    set_state_dict(
        model, optimizer, model_state_dict=kept["model"], optim_state_dict=kept["optimizer"]
    )
    side.seen["names"] = [*kept["model"]]
    return {"first": first, "second": train(side, call, model, same_data=True, seed=2)}


# ---- tensor parallel


def loss_over_parts(side: Any) -> Any:
    """Words over ranks in the embedding and in the head, sequences over ranks between, and a loss
    that never sees all scores in one place."""
    mesh = init_device_mesh("cpu", (side.world,))
    model = Language()
    model.head = nn.Linear(8, 16, bias=False)
    plan: dict[str, Any] = {
        "embed": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
        "head": ColwiseParallel(input_layouts=Shard(1), use_local_output=False),
    }
    for i in range(len(model.layers)):
        plan |= {
            f"layers.{i}.norm": SequenceParallel(),
            f"layers.{i}.out": RowwiseParallel(output_layouts=Shard(1)),
        }
        for name in "qkv":
            plan[f"layers.{i}.{name}"] = ColwiseParallel(input_layouts=Shard(1))
    parallelize_module(model, mesh, plan)
    call = side.compile(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    losses, grads = [], []
    for tokens in _tokens(side, same=True):
        with loss_parallel():
            scores = call(tokens[:, :4])
            loss = nn.functional.cross_entropy(scores.flatten(0, 1), tokens[:, 1:5].flatten())
            loss.backward()
        losses.append(whole(loss))
        grads.append([whole(p.grad) for p in model.parameters()])
        optimizer.step()
        optimizer.zero_grad()
    return {"losses": losses, "grads": grads}


def spread_inside(side: Any) -> Any:
    """A compiled function that spreads its arguments, unevenly, moves them and asks them."""
    mesh = init_device_mesh("cpu", (side.world,))

    def forward(x: torch.Tensor) -> Any:
        spread = distribute_tensor(x, mesh, [Shard(0)], src_data_rank=None)
        rows = spread.to_local().shape[0]
        moved = (spread.softmax(-1) * rows).redistribute(mesh, [Shard(1)])
        if moved.placements == (Shard(1),) and not moved.placements[0].is_replicate():
            moved = moved.cumsum(0)
        partial = DTensor.from_local(x.sum(0), mesh, [Replicate()], run_check=False)
        return moved.full_tensor(), partial.mean().to_local(), spread.shape

    call = side.compile(forward)
    torch.manual_seed(1)
    return {"values": [call(torch.randn(rows, 4)) for rows in (4, 5, 3, 7)]}


def dropped_over_ranks(side: Any) -> Any:
    """Dropout between parts of a mesh, in training and not."""
    mesh = init_device_mesh("cpu", (side.world,))
    model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 8))
    parallelize_module(model, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    call = side.compile(model)
    model.eval()
    found = train(side, call, model, same_data=True)
    model.train()
    torch.manual_seed(7)
    found["dropped"] = whole(call(torch.ones(4, 8)))
    return found


# ---- collectives


def with_derivatives(side: Any) -> Any:
    """torch.distributed.nn: collectives that autograd follows."""
    weight = nn.Parameter(torch.arange(4.0) + side.rank)

    def forward(x: torch.Tensor) -> torch.Tensor:
        summed = over_ranks.all_reduce(x * weight)
        parts = over_ranks.all_gather((x - weight).contiguous())
        return (summed.sin() + torch.stack(list(parts)).sum(0)).sum()

    call = side.compile(forward)
    losses, grads = [], []
    for i in range(STEPS):
        loss = call(torch.full((4,), 1.0 + i))
        loss.backward()
        losses.append(whole(loss))
        grads.append(whole(weight.grad))
    return {"losses": losses, "grads": grads}


def handles_across_breaks(side: Any) -> Any:
    """A reduction is begun in one function, Python logs something, and it is waited for later."""
    if side.name == "torch" and torch.__version__ >= (2, 15):
        return None  # torch.compile fails at the text of a number that it does not know
    log: list[str] = []

    def begin(x: torch.Tensor) -> Any:
        y = x * 2
        return y, dist.all_reduce(y, async_op=True)

    def forward(x: torch.Tensor) -> torch.Tensor:
        y, handle = begin(x)
        z = x.cos()
        log.append(f"{float(z.sum()):.3f}")
        handle.wait()
        return y + z

    call = side.compile(forward)
    values = [call(torch.arange(4.0) + i + side.rank) for i in range(3)]
    side.seen["log"] = log
    return {"values": values}


# ---- pipelines


def pipeline(side: Any) -> Any:
    """Each rank has a stage, compiled; batches go through in parts."""
    torch.manual_seed(side.rank)
    block = Block()
    stage = PipelineStage(side.compile(block), side.rank, side.world, torch.device("cpu"))
    schedule = ScheduleGPipe(stage, 2, loss_fn=lambda out, target: (out - target).pow(2).mean())
    optimizer = torch.optim.SGD(block.parameters(), lr=0.1)
    torch.manual_seed(1)
    losses: list[torch.Tensor] = []
    for _ in range(STEPS):
        x, target = torch.randn(4, 8), torch.randn(4, 8)
        if side.rank == 0:
            schedule.step(x)
        else:
            schedule.step(target=target, losses=losses)
        optimizer.step()
        optimizer.zero_grad()
    return {"losses": [whole(loss) for loss in losses], "state": _state(block)}
