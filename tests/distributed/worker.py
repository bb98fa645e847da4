"""One rank: runs scenarios plainly, under torch.compile and under suture, and saves what it saw.

A scenario is a function of `scenarios.py` or `parallel.py` that takes a `Side` and trains; what it
returns is kept for the test to compare. Run as `worker.py RANK OUT NAME...`.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

import suture


class Side:
    """How a scenario is run: `compile` is the identity, torch's or suture's."""

    def __init__(self, name: str, rank: int, world: int) -> None:
        self.name, self.rank, self.world = name, rank, world
        self.graphs: list[torch.fx.GraphModule] = []
        self.seen: dict[str, Any] = {}  # more than what is compared

    def compile(self, model: Any, **options: Any) -> Any:
        if self.name == "plain":
            return model
        made = torch.compile if self.name == "torch" else suture.compile
        return made(model, **{"backend": self.backend, **options})

    def backend(self, gm: torch.fx.GraphModule, inputs: Any) -> Any:
        """Keeps the graphs; AOTAutograd traces them, as every compiler behind it does."""
        from torch._dynamo.backends.debugging import aot_eager

        self.graphs.append(gm)
        return aot_eager(gm, inputs)


def _run(name: str, rank: int, world: int) -> dict[str, Any]:
    module, _, function = name.partition(":")
    scenario = getattr(importlib.import_module(f"tests.distributed.{module}"), function)
    found: dict[str, Any] = {}
    for which in ("plain", "torch", "suture"):
        side = Side(which, rank, world)
        torch._dynamo.reset()
        suture.reset()
        torch.manual_seed(0)
        dist.barrier()
        found[which] = scenario(side)
        found[f"{which} seen"] = side.seen
        found[f"{which} graphs"] = len(side.graphs)
        found[f"{which} operations"] = sum(
            node.op in ("call_function", "call_method", "call_module")
            for gm in side.graphs
            for node in gm.graph.nodes
        )
    stats = suture.stats()
    found["breaks"] = [f"{b.number} {b.function}:{b.line} {b.reason}" for b in stats.breaks]
    found["interpreted"] = [f"{b.number} {b.function} {b.reason}" for b in stats.interpreted]
    return found


def main() -> None:
    rank, out, names = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    world = int(os.environ["WORLD_SIZE"])
    torch.set_num_threads(1)
    backend = os.environ.get("TEST_BACKEND", "gloo")
    if backend == "nccl":
        torch.cuda.set_device(rank)
    dist.init_process_group(backend, rank=rank, world_size=world, timeout=timedelta(seconds=180))
    try:
        results = {name.partition(":")[2]: _run(name, rank, world) for name in names}
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)  # the other ranks would wait for it
    torch.save(results, out)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
