"""One rank with a cache, whose functions know meshes and groups: run as `kept.py RANK OUT`."""

from __future__ import annotations

import json
import logging
import os
import sys
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh

import suture

LINES: list[str] = []


def over_mesh(x: torch.Tensor, mesh: Any) -> torch.Tensor:
    y = x * mesh.size()
    dist.all_reduce(y, group=mesh.get_group("columns"))
    return y + mesh.get_local_rank("columns")


def over_group(x: torch.Tensor, group: Any) -> torch.Tensor:
    y = x * 2
    work = dist.all_reduce(y, group=group, async_op=True)
    z = x.sin()
    work.wait()
    return y / dist.get_world_size(group) + z


def _seen(backend: str, call: Any, *args: Any) -> dict[str, Any]:
    """What two calls give, compiled from nothing but the cache, and what the cache said."""
    suture.reset()
    LINES.clear()
    compiled = suture.compile(call, backend=backend)
    values = [compiled(*args).tolist() for _ in range(2)]
    assert values[0] == values[1]
    torch.testing.assert_close(torch.tensor(values[0]), call(*args))
    counts = (sum(said in line for line in LINES) for said in ("comes from", "kept as"))
    return {"counts": list(counts), "lines": list(LINES)}


def main() -> None:
    rank, out = int(sys.argv[1]), sys.argv[2]
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=2, timeout=timedelta(seconds=120))
    handler = logging.Handler()
    handler.emit = lambda record: LINES.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger("suture.cache")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    x = torch.arange(4.0) + rank
    with suture.config.patch(cache_dir=os.environ["TEST_CACHE"] + str(rank)):
        mesh = init_device_mesh("cpu", (1, 2), mesh_dim_names=("rows", "columns"))
        told = {"mesh": _seen("aot_eager", over_mesh, x, mesh)}
        told["group"] = _seen("inductor", over_group, x, dist.new_group([0, 1]))
        if os.environ.get("TEST_OTHERS"):
            turned = init_device_mesh("cpu", (2, 1), mesh_dim_names=("rows", "columns"))
            told["other mesh"] = _seen("aot_eager", over_mesh, x, turned)
    with open(out, "w") as file:
        json.dump(told, file)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
