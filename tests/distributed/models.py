"""Small models, and the training loop that all scenarios share."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.tensor import DTensor

STEPS = 5

# Under their newer names where torch has them, under which the older ones warn.
gather_into = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
reduce_scatter_into = getattr(dist, "reduce_scatter_single", None) or dist.reduce_scatter_tensor


class Block(nn.Module):
    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Blocks(nn.Module):
    def __init__(self, count: int = 4, width: int = 8) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(width) for _ in range(count)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x


def whole(value: Any) -> torch.Tensor:
    """A tensor of its own, gathered from all ranks if it is sharded."""
    value = value.full_tensor() if isinstance(value, DTensor) else value
    return value.detach().clone()


def train(side: Any, call: Any, model: nn.Module, *, seed: int | None = None, clip: bool = False,
          shape: tuple[int, ...] = (3, 8), same_data: bool = False) -> dict[str, Any]:  # fmt: skip
    """Five steps of SGD: the losses, and the gradients of each step. `seed` tells apart the data
    of two scenarios; ranks see other data unless `same_data`."""
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed((seed or 0) * 100 + (0 if same_data else side.rank) + 1)
    losses, grads = [], []
    for _ in range(STEPS):
        loss = call(torch.randn(*shape)).float().pow(2).mean()
        loss.backward()
        norms = [whole(nn.utils.clip_grad_norm_(model.parameters(), 0.1))] if clip else []
        losses.append(whole(loss))
        given = [p.grad for p in model.parameters()]
        grads.append(norms + [None if g is None else whole(g) for g in given])
        optimizer.step()
        optimizer.zero_grad()
    return {"losses": losses, "grads": grads}
