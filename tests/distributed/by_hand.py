"""Programs that spread a model without DDP, FSDP2 or DTensor: stages that send to each other,
experts on other ranks, keys and values from other ranks, parameters that are averaged now and
then, and a loop with a sampler and checkpoints."""

from __future__ import annotations

import tempfile
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
import torch.distributed.checkpoint as checkpoints
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import fp16_compress_hook
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from tests.distributed.models import STEPS, Block, Blocks, whole


def _trained(side: Any, loss_of: Any, model: nn.Module, *shape: int) -> dict[str, Any]:
    """Five steps: the losses, the gradients of each, and the parameters at the end."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.05)
    torch.manual_seed(side.rank + 1)
    losses, grads = [], []
    for _ in range(STEPS):
        loss = loss_of(torch.randn(*shape))
        loss.backward()
        losses.append(whole(loss))
        grads.append([whole(p.grad) for p in model.parameters()])
        optimizer.step()
        optimizer.zero_grad()
    return {"losses": losses, "grads": grads, "state": [whole(p) for p in model.parameters()]}


# ---- stages


def stages_that_send(side: Any) -> Any:
    """Rank 0 has the first half of the model, rank 1 the second one and the loss: activations go
    one way and gradients the other, in parts of a batch that are all sent before one is computed
    back."""
    torch.manual_seed(side.rank)
    block = Blocks(2)
    stage = side.compile(block)
    loss_of = side.compile(lambda y, target: (y - target).pow(2).mean() / 2)
    optimizer = torch.optim.SGD(block.parameters(), lr=0.1, momentum=0.9)
    torch.manual_seed(1)
    losses = []
    for _ in range(STEPS):
        batch, target = torch.randn(4, 8).chunk(2), torch.randn(4, 8).chunk(2)
        if side.rank == 0:
            made = [stage(part) for part in batch]
            for work in [dist.isend(one.detach(), 1, tag=i) for i, one in enumerate(made)]:
                work.wait()
            for i, one in enumerate(made):
                grad = torch.empty_like(one)
                dist.recv(grad, 1, tag=10 + i)
                one.backward(grad)
        else:
            come = [torch.empty(2, 8) for _ in target]
            for i, got in enumerate(come):
                dist.recv(got, 0, tag=i)
            for i, (got, wanted) in enumerate(zip(come, target)):
                got.requires_grad_()
                loss = loss_of(stage(got), wanted)
                loss.backward()
                losses.append(whole(loss))
                dist.send(got.grad, 0, tag=10 + i)
        optimizer.step()
        optimizer.zero_grad()
    return {"losses": losses, "state": [whole(p) for p in block.parameters()]}


# ---- experts


class Experts(nn.Module):
    """One expert on each rank. Each rank sends to each expert the rows that fit it best, as many
    to each one, and gets them back."""

    def __init__(self, world: int) -> None:
        super().__init__()
        self.router, self.expert, self.world = nn.Linear(8, world), Block(), world

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        share = len(x) // self.world
        scores = self.router(x).softmax(-1)
        rows = scores.argsort(0, descending=True)[:share].T.flatten()
        weight = scores.T.gather(1, rows.view(self.world, share)).flatten()
        even, world = [share] * self.world, dist.group.WORLD
        sent = funcol.all_to_all_single_autograd(x[rows], even, even, world)
        done = funcol.all_to_all_single_autograd(self.expert(sent), even, even, world)
        return x.index_add(0, rows, done * weight[:, None])


def experts_on_each_rank(side: Any) -> Any:
    """Rows go to experts on other ranks and back, with their gradients."""
    torch.manual_seed(0)
    model = Experts(side.world)
    torch.manual_seed(side.rank)
    for parameter in model.expert.parameters():
        nn.init.normal_(parameter, std=0.3)
    call = side.compile(model)
    return _trained(side, lambda x: call(x).pow(2).mean(), model, 6, 8)


# ---- long sequences


class Attention(nn.Module):
    """Each rank has a part of the sequence, and takes keys and values from all of them."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.kv, self.out = nn.Linear(8, 8), nn.Linear(8, 16), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        world = dist.group.WORLD
        k, v = funcol.all_gather_tensor_autograd(self.kv(x), 0, world).chunk(2, -1)
        rows = len(x)
        at = torch.arange(rows) + dist.get_rank() * rows
        seen = at[:, None] >= torch.arange(len(k))
        y = nn.functional.scaled_dot_product_attention(
            self.q(x)[None, None], k[None, None], v[None, None], attn_mask=seen
        )
        return x + self.out(y[0, 0])


def sequence_over_ranks(side: Any) -> Any:
    """Attention over a sequence that is cut into the ranks' parts; gradients are summed by hand, in
    one compiled function."""
    torch.manual_seed(0)
    model = nn.Sequential(Attention(), Attention())
    call = side.compile(model)

    @torch.no_grad()
    def sum_up(grads: list[torch.Tensor]) -> list[torch.Tensor]:
        flat = torch.cat([grad.flatten() for grad in grads])
        dist.all_reduce(flat)
        parts = flat.split([grad.numel() for grad in grads])
        return [part.view_as(grad) for part, grad in zip(parts, grads)]

    summed = side.compile(sum_up)

    def loss_of(x: torch.Tensor) -> torch.Tensor:
        return call(x).pow(2).mean()

    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(side.rank + 1)
    losses = []
    for _ in range(STEPS):
        loss = loss_of(torch.randn(4, 8))
        loss.backward()
        losses.append(whole(loss))
        parameters = list(model.parameters())
        for parameter, grad in zip(parameters, summed([p.grad for p in parameters])):
            parameter.grad = grad
        optimizer.step()
        optimizer.zero_grad()
    return {"losses": losses, "state": [whole(p) for p in model.parameters()]}


# ---- averaging


def averaged_now_and_then(side: Any) -> Any:
    """Each rank trains for itself; every second step parameters become the mean of all ranks', by a
    compiled function that changes them in place, and the ranks wait for each other."""
    torch.manual_seed(0)
    model = Blocks(2)
    call = side.compile(model)

    @torch.no_grad()
    def average(parameters: list[torch.Tensor]) -> None:
        handles = [dist.all_reduce(one, async_op=True) for one in parameters]
        for handle in handles:
            handle.wait()
        torch._foreach_div_(parameters, dist.get_world_size())
        dist.barrier()

    averaged = side.compile(average)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(side.rank + 1)
    losses = []
    for step in range(STEPS):
        loss = call(torch.randn(3, 8)).pow(2).mean()
        loss.backward()
        losses.append(whole(loss))
        optimizer.step()
        optimizer.zero_grad()
        if step % 2:
            averaged([p.detach() for p in model.parameters()])
    return {"losses": losses, "state": [whole(p) for p in model.parameters()]}


# ---- a whole loop


def sampled_and_saved(side: Any) -> Any:
    """DDP with gradients in half precision and a compiled loss, over a sampler that shuffles anew
    in each epoch; half-way a checkpoint of all ranks is written and read into a new model."""
    folder = [tempfile.mkdtemp()]
    dist.broadcast_object_list(folder, 0)
    torch.manual_seed(5)
    data = TensorDataset(torch.randn(20, 8), torch.randn(20, 8))
    sampler = DistributedSampler(data, side.world, side.rank, shuffle=True, seed=3)
    loss_of = side.compile(nn.functional.huber_loss)

    def begin(seed: int) -> Any:
        torch.manual_seed(seed)
        model = Blocks(2)
        ddp = DistributedDataParallel(model, gradient_as_bucket_view=True)
        ddp.register_comm_hook(None, fp16_compress_hook)
        return model, side.compile(ddp), torch.optim.Adam(model.parameters(), lr=0.01)

    def epoch(number: int, call: Any, optimizer: Any) -> list[torch.Tensor]:
        sampler.set_epoch(number)
        losses = []
        for x, target in DataLoader(data, batch_size=4, sampler=sampler, drop_last=False):
            loss = loss_of(call(x), target)
            loss.backward()
            losses.append(whole(loss))
            optimizer.step()
            optimizer.zero_grad()
        return losses

    model, call, optimizer = begin(0)
    losses = epoch(0, call, optimizer)
    checkpoints.save(
        {"model": model.state_dict(), "step": torch.tensor(3)}, checkpoint_id=folder[0]
    )
    model, call, optimizer = begin(1)
    kept = {"model": model.state_dict(), "step": torch.tensor(0)}
    checkpoints.load(kept, checkpoint_id=folder[0])
    model.load_state_dict(kept["model"])
    losses += epoch(1, call, optimizer)
    side.seen["step"] = kept["step"].item()
    return {"losses": losses, "state": [whole(p) for p in model.parameters()]}
