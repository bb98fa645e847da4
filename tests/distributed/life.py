"""Groups that come and go in one rank: run as `life.py RANK OUT`."""

from __future__ import annotations

import json
import multiprocessing
import os
import sys
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

import suture


def _scaled(x: torch.Tensor) -> torch.Tensor:
    x = x * dist.get_world_size()
    dist.all_reduce(x)
    return x


def _in_a_child(queue: Any) -> None:
    f = suture.compile(lambda x: x.sin() + 1, backend="aot_eager")
    queue.put(torch.allclose(f(torch.ones(3)), torch.ones(3).sin() + 1))


_compiled = suture.compile(_scaled, backend="aot_eager")


def _as_a_rank(rank: int, port: int, queue: Any) -> None:
    """A rank of a group of children. Forked, it has what the parent has compiled for its group."""
    torch.set_num_threads(1)
    before = suture.stats().graphs
    _start(rank, 2, port)
    values = [_compiled(torch.full((1,), i + rank + 1.0)).item() for i in range(2)]
    queue.put((rank, values, suture.stats().graphs - before))
    dist.barrier()
    dist.destroy_process_group()


def _children(method: str, port: int) -> list[Any]:
    """What the ranks of a group told that this process has started."""
    context = multiprocessing.get_context(method)
    queue = context.Queue()
    started = [context.Process(target=_as_a_rank, args=(rank, port, queue)) for rank in range(2)]
    for child in started:
        child.start()
    told = sorted(queue.get(timeout=150) for _ in started)
    for child in started:
        child.join(100)
    return [*told, [child.exitcode for child in started]]


def _start(rank: int, world: int, port: int) -> None:
    dist.init_process_group(
        "gloo",
        init_method=f"tcp://127.0.0.1:{port}",
        rank=rank,
        world_size=world,
        timeout=timedelta(seconds=120),
    )


def main() -> None:
    rank, out = int(sys.argv[1]), sys.argv[2]
    port = int(os.environ["MASTER_PORT"])
    torch.set_num_threads(1)
    call = _compiled
    told: dict[str, Any] = {"values": []}
    _start(rank, 2, port)
    told["values"].append(call(torch.ones(1)).item())
    told["values"].append(call(torch.ones(1)).item())
    told["before"] = suture.stats().graphs
    dist.destroy_process_group()
    _start(0, 1, port + 1 + rank)  # each rank is alone now
    told["values"].append(call(torch.ones(1)).item())
    told["after"] = suture.stats().graphs
    dist.destroy_process_group()
    for method in ("fork", "spawn"):
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        child = context.Process(target=_in_a_child, args=(queue,))
        child.start()
        told[method] = queue.get(timeout=150)
        child.join(100)
    if rank == 0:
        ports = json.loads(os.environ["TEST_PORTS"])
        told["groups"] = [_children(m, p) for m, p in zip(("fork", "spawn"), ports, strict=True)]
    with open(out, "w") as file:
        json.dump(told, file)


if __name__ == "__main__":
    main()
