"""One rank that trains with a cache that all ranks share: `kept_training.py RANK OUT NAME...`. Each
name is a scenario; says how many of its variants came from the cache and were kept."""

from __future__ import annotations

import importlib
import json
import logging
import os
import sys
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

import suture
from tests.distributed.worker import Side

LINES: list[str] = []


class KeptSide(Side):
    """The backend is one whose graphs can be kept."""

    def compile(self, model: Any, **options: Any) -> Any:
        if self.name == "plain":
            return model
        return suture.compile(model, backend=os.environ["TEST_BACKEND"])


def trained(name: str, rank: int) -> dict[str, Any]:
    """The scenario, plainly and compiled: both do the same."""
    module, _, function = name.partition(":")
    scenario = getattr(importlib.import_module(f"tests.distributed.{module}"), function)
    suture.reset()
    LINES.clear()
    found = []
    for which in ("plain", "suture"):
        torch.manual_seed(0)
        dist.barrier()
        found.append(scenario(KeptSide(which, rank, dist.get_world_size())))
    torch.testing.assert_close(found[1], found[0])
    counts = [sum(said in line for line in LINES) for said in ("comes from", "kept as", "not kept")]
    return {"counts": counts, "lines": list(LINES)}


def main() -> None:
    rank, out, names = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    torch.set_num_threads(1)
    world = int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo", rank=rank, world_size=world, timeout=timedelta(seconds=180))
    handler = logging.Handler()
    handler.emit = lambda record: LINES.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger("suture.cache")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    options = {"agree_across_ranks": True, "agree_timeout": 180}
    with suture.config.patch(cache_dir=os.environ["TEST_CACHE"], **options):
        told = {name.partition(":")[2]: trained(name, rank) for name in names}
    with open(out, "w") as file:
        json.dump(told, file)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
