"""Ranks that fail while the others are in a collective: run as `bad_days.py RANK OUT`."""

from __future__ import annotations

import inspect
import json
import os
import sys
import time
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.distributed_c10d import _set_pg_timeout

import suture

TIMEOUT = 4


class Wrong(Exception):
    pass


def _summed(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    dist.all_reduce(y)
    return y + 1


def _checked(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    if float(x[0]) < 0:
        raise Wrong("negative")
    dist.all_reduce(y)
    return y


# Of the older torches a barrier has the timeout of its group only.
OWN_TIMEOUT = "timeout" in inspect.signature(dist.barrier).parameters


@suture.compile(backend="aot_eager", fullgraph=True)
def met(x: torch.Tensor) -> torch.Tensor:
    y = x * 2
    dist.barrier(**({"timeout": timedelta(seconds=TIMEOUT)} if OWN_TIMEOUT else {}))
    return y + 1


def late(rank: int, summed: Any, checked: Any) -> None:
    """One rank is in other work for longer than the group waits."""
    if rank == 1:
        time.sleep(TIMEOUT + 2)
        return
    summed(torch.ones(2))


def raises(rank: int, summed: Any, checked: Any) -> None:
    """One rank raises before its collective, and leaves the group."""
    checked(torch.ones(2) * (1 - 2 * rank))


def does_not_come(rank: int, summed: Any, checked: Any) -> None:
    """One rank does not come to a barrier with a timeout of its own until the other one has got its
    error; the group would wait for longer."""
    store = dist.distributed_c10d._get_default_store()
    _set_pg_timeout(timedelta(seconds=120 if OWN_TIMEOUT else TIMEOUT), dist.group.WORLD)
    if rank == 1:
        store.wait(["told"], timedelta(seconds=120))
        return
    try:
        met(torch.ones(2))
    finally:
        store.set("told", "yes")


def killed(rank: int, summed: Any, checked: Any) -> None:
    if rank == 1:
        os._exit(17)
    summed(torch.ones(2))


def _start(rank: int, port: int) -> None:
    dist.init_process_group(
        "gloo",
        init_method=f"tcp://127.0.0.1:{port}",
        rank=rank,
        world_size=2,
        timeout=timedelta(seconds=120),  # one rank may compile while the other one waits for it
    )


def main() -> None:
    rank, out, ports = int(sys.argv[1]), sys.argv[2], json.loads(os.environ["TEST_PORTS"])
    torch.set_num_threads(1)
    summed = suture.compile(_summed, backend="aot_eager")
    checked = suture.compile(_checked, backend="aot_eager")
    told: dict[str, Any] = {}
    for port, case in zip(ports, (late, raises, does_not_come, killed), strict=True):
        _start(rank, port)
        assert summed(torch.ones(2)).tolist() == [5.0, 5.0]  # both are there, and have compiled
        assert checked(torch.ones(2)).tolist() == [4.0, 4.0]
        dist.barrier()
        _set_pg_timeout(timedelta(seconds=TIMEOUT), dist.group.WORLD)
        try:
            case(rank, summed, checked)
        except Exception as error:
            told[case.__name__] = {"error": type(error).__name__, "text": str(error)}
        with open(out, "w") as file:
            json.dump({**told, "interpreted": len(suture.stats().interpreted)}, file)
        dist.destroy_process_group()
    os._exit(0)


if __name__ == "__main__":
    main()
