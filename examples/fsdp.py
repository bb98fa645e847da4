"""Training with FSDP2 (fully_shard), each block compiled.

    torchrun --nproc-per-node 2 examples/fsdp.py [--plain] [--backend NAME]

The blocks are of one class: what the first one compiles serves all of them.
"""

from __future__ import annotations

import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard

import suture


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--plain", action="store_true", help="do not compile")
    parser.add_argument("--backend", default="inductor")
    options = parser.parse_args()
    dist.init_process_group("gloo")
    train(options)
    dist.barrier()  # nobody goes while another one still talks to it
    dist.destroy_process_group()


def train(options: argparse.Namespace) -> None:
    """Everything that holds on to the group: gone when the group is destroyed."""
    torch.manual_seed(0)
    model = nn.Sequential(*(Block(16) for _ in range(4)))
    for i, block in enumerate(model):
        if not options.plain:
            model[i] = suture.compile(block, backend=options.backend)
        fully_shard(model[i])
    fully_shard(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    torch.manual_seed(dist.get_rank())
    for number in range(5):
        loss = model(torch.randn(8, 16)).pow(2).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if dist.get_rank() == 0:
            print(f"step {number} loss {loss.item():.4f}")
    if dist.get_rank() == 0:
        print(f"graphs {suture.stats().graphs}")


if __name__ == "__main__":
    main()
