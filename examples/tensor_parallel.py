"""Tensor parallel training with DTensor, the whole model in one graph.

    torchrun --nproc-per-node 2 examples/tensor_parallel.py [--plain] [--backend NAME]

The first linear layer of each block is split by columns, the second by rows; all ranks see the same
data and compute the same loss.
"""

from __future__ import annotations

import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

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
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    torch.manual_seed(0)
    model = nn.Sequential(
        *(nn.Sequential(nn.Linear(16, 64), nn.GELU(), nn.Linear(64, 16)) for _ in range(3))
    )
    for block in model:
        parallelize_module(block, mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    step = model if options.plain else suture.compile(model, backend=options.backend)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(1)
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
