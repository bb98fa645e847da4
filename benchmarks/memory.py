"""Memory over many compile/reset cycles, and of a model that is deleted.

    make bench-memory            # ARGS="--cycles 200" for a shorter run

Prints the resident size and the number of Python objects after a warm-up and at the end; both must
stay where they were. TorchDynamo does the same for comparison.
"""

from __future__ import annotations

import argparse
import gc
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

import suture


def resident() -> float:
    """The resident size of this process in MiB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def program(x: torch.Tensor, k: int) -> torch.Tensor:
    for i in range(k):
        x = x.sin() + i
    return x.sum()


def cycle(compile: Callable[..., Any], reset: Callable[[], None]) -> None:
    compiled = compile(program, backend="eager")
    compiled(torch.ones(3), 3)
    reset()


def measure(name: str, compile: Any, reset: Any, cycles: int) -> None:
    for _ in range(20):
        cycle(compile, reset)
    gc.collect()
    before, objects = resident(), len(gc.get_objects())
    for _ in range(cycles):
        cycle(compile, reset)
    gc.collect()
    grown = len(gc.get_objects()) - objects
    print(f"{name:14} {cycles} cycles: {resident() - before:+8.2f} MiB, {grown:+7} objects")


def freed(name: str, compile: Any) -> None:
    model = nn.Sequential(*(nn.Linear(64, 64) for _ in range(8)))
    weight = weakref.ref(model[0].weight)
    compiled = compile(model, backend="eager")
    compiled(torch.ones(1, 64))
    del model, compiled
    gc.collect()
    print(f"{name:14} deleted model freed: {weight() is None}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cycles", type=int, default=1000)
    cycles = parser.parse_args().cycles
    measure("suture", suture.compile, suture.reset, cycles)
    freed("suture", suture.compile)
    measure("torch.compile", torch.compile, torch._dynamo.reset, max(cycles // 10, 1))
    freed("torch.compile", torch.compile)


if __name__ == "__main__":
    main()
