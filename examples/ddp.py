"""Training with DistributedDataParallel, compiled.

    torchrun --nproc-per-node 2 examples/ddp.py [--plain] [--backend NAME]

Each rank trains on data of its own; rank 0 prints the losses and how many graphs there are.
"""

from __future__ import annotations

import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

import suture


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
    model = nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16))
    ddp = DistributedDataParallel(model)
    step = ddp if options.plain else suture.compile(ddp, backend=options.backend)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(dist.get_rank())
    for number in range(5):
        loss = step(torch.randn(8, 16)).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if dist.get_rank() == 0:
            print(f"step {number} loss {loss.item():.4f}")
    if dist.get_rank() == 0:
        print(f"graphs {suture.stats().graphs}")


if __name__ == "__main__":
    main()
