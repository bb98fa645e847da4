"""One rank of a group that agrees, or does not: run as `agree.py RANK OUT CASE`."""

from __future__ import annotations

import json
import logging
import os
import sys
import time
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

import suture
from suture.runtime import agreement


def other_sizes(rank: int, told: dict[str, Any]) -> None:
    """Each rank sees another size from the second call on: one compilation, a symbol on all."""
    graphs = []
    before = agreement.messages()

    def backend(gm: Any, inputs: Any) -> Any:
        graphs.append(str(gm.code))
        return gm.forward

    f = suture.compile(lambda x: x * 2, backend=backend)
    for size in (4, 4, 5 if rank else 4, 6 if rank else 7, 4):
        torch.testing.assert_close(f(torch.ones(size)), 2 * torch.ones(size))
    told["graphs"] = graphs
    told["recompiled"] = [one.reason for one in suture.stats().recompilations]
    after = agreement.messages()  # none if nobody is to agree any more
    told["messages"] = after and after - before


def other_place(rank: int, told: dict[str, Any]) -> None:
    """One rank calls another function."""
    f = suture.compile(lambda x: x * 2, backend="eager")
    g = suture.compile(lambda x: x * 3, backend="eager")
    f(torch.ones(2))
    (g if rank else f)(torch.ones(2))


def does_not_come(rank: int, told: dict[str, Any]) -> None:
    """One rank stops calling; it is alive."""
    f = suture.compile(lambda x: x * 2, backend="eager")
    f(torch.ones(2))
    if rank == 1:
        time.sleep(5)
        return
    with suture.config.patch(agree_timeout=3):
        f(torch.ones(2))


def breaks_elsewhere(rank: int, told: dict[str, Any]) -> None:
    """One rank breaks where the other does not."""

    def f(x: torch.Tensor) -> torch.Tensor:
        if dist.get_rank() == 1:
            suture.graph_break("only here")
        return x.sin() + 1

    suture.compile(f, backend="eager")(torch.ones(2))


def fails_to_compile(rank: int, told: dict[str, Any]) -> None:
    """The backend of one rank raises: the other one hears of it."""

    def backend(gm: Any, inputs: Any) -> Any:
        if rank == 1:
            raise ValueError("no room")
        return gm.forward

    with suture.config.patch(raise_backend_errors=True):
        suture.compile(lambda x: x * 2, backend=backend)(torch.ones(2))


def guard_collectives(rank: int, told: dict[str, Any]) -> None:
    """torch's own switch, set before and after install(); without it nobody asks anybody."""
    with suture.config.patch(agree_across_ranks=False):
        for before in (True, False):
            if before:
                torch.compiler.set_enable_guard_collectives(True)
            suture.install()
            try:
                if not before:
                    told["was on"] = torch.compiler.set_enable_guard_collectives(True)
                told[f"set before install: {before}"] = found = {}
                other_sizes(rank, found)
                torch.compiler.set_enable_guard_collectives(False)
            finally:
                suture.uninstall()
            suture.reset()
        other_sizes(rank, told)


def one_compiles(rank: int, told: dict[str, Any]) -> None:
    """With a cache rank 0 compiles, and the other one loads. A function that asks which rank it is
    is compiled by each."""
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger("suture.cache")
    log.addHandler(handler)
    log.setLevel(logging.INFO)

    with suture.config.patch(cache_dir=os.environ["TEST_CACHE"]):
        for call in (_summed, _of_this_rank):
            compiled = suture.compile(call, backend="eager")
            values = [compiled(torch.ones(3) * (i + rank)) for i in range(2)]
            told[call.__name__] = {
                "values": [value.tolist() for value in values],
                "loaded": sum("comes from" in line for line in lines),
                "kept": sum("kept as" in line for line in lines),
                "lines": list(lines),
            }
            lines.clear()


def one_compiles_training(rank: int, told: dict[str, Any]) -> None:
    """A loss and its gradients, by Inductor: rank 0 compiles both, the other one loads them."""
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger("suture.cache")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    weight = torch.full((3, 3), 0.5, requires_grad=True)
    with suture.config.patch(cache_dir=os.environ["TEST_CACHE"]):
        compiled = suture.compile(_loss)
        losses = []
        for step in range(2):
            loss = compiled(torch.ones(2, 3) * (step + rank + 1), weight)
            loss.backward()
            losses.append(loss.item())
    dist.barrier()  # the store lives in rank 0
    told["losses"], told["grad"] = losses, weight.grad.tolist()
    told["loaded"] = sum("comes from" in line for line in lines)
    told["kept"] = sum("kept as" in line for line in lines)
    told["lines"] = lines


def _loss(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return (x @ weight).tanh().pow(2).mean()


def _summed(x: torch.Tensor) -> torch.Tensor:
    x = x * dist.get_world_size()
    dist.all_reduce(x)
    return x + 1


def _of_this_rank(x: torch.Tensor) -> torch.Tensor:
    return x * 10 + dist.get_rank()


def killed(rank: int, told: dict[str, Any]) -> None:
    f = suture.compile(lambda x: x * 2, backend="eager")
    f(torch.ones(2))
    if rank == 1:
        os._exit(17)
    with suture.config.patch(agree_timeout=3):
        f(torch.ones(2))


def main() -> None:
    rank, out, cases = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=2, timeout=timedelta(seconds=120))
    suture.config.agree_across_ranks = True
    suture.config.agree_timeout = 120  # a machine that does much else takes its time
    told: dict[str, dict[str, Any]] = {}
    for case in cases:
        told[case] = {}
        suture.reset()
        try:
            globals()[case](rank, told[case])
        except Exception as error:
            told[case]["error"] = f"{type(error).__name__}: {error}"
        with open(out, "w") as file:
            json.dump(told, file)
    os._exit(0)  # a group that lost a rank may wait for it at the end


if __name__ == "__main__":
    main()
