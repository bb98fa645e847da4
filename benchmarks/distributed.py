"""Training steps of two processes: DDP, and FSDP2 per block, against torch.compile.

    python benchmarks/distributed.py            print the table
    python benchmarks/distributed.py --write    and put it into docs/benchmarks.md

Two ranks with gloo on the loopback interface. Plain, torch.compile and suture train copies of one
model in the same processes, in turns of one step each; a step is forward, backward and SGD. Times
are wall time, since ranks wait for each other; the least of the rounds is shown. The last column
compares the time on the processor, all threads of a rank together, on which what else the machine
does shows less.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import torch.distributed as dist
from table import finish
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

import suture

ROUNDS = 150
SIDES: dict[str, Any] = {
    "plain": lambda model, **_: model,
    "torch.compile": torch.compile,
    "suture": suture.compile,
}


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(nn.functional.gelu(self.up(self.norm(x))))


def ddp(compile: Any, backend: str) -> tuple[Any, Any]:
    model = nn.Sequential(*(Block(64) for _ in range(6)))
    return compile(DistributedDataParallel(Whole(model)), backend=backend), model.parameters()


class Whole(nn.Module):
    """The program's own module around the blocks: torch.compile leaves torch's to Python."""

    def __init__(self, blocks: nn.Module) -> None:
        super().__init__()
        self.blocks = blocks

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.blocks(x)


def fsdp(compile: Any, backend: str) -> tuple[Any, Any]:
    model = nn.Sequential(*(Block(64) for _ in range(6)))
    for i, block in enumerate(model):
        model[i] = compile(block, backend=backend)
        fully_shard(model[i])
    fully_shard(model)
    return model, model.parameters()


CASES = {"DDP": ddp, "FSDP2, per block": fsdp}


def measure(rank: int, out: str, backend: str) -> None:
    """One rank: the least time of a step in µs, of the clock and on the processor, by case and
    side."""
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=2)
    found: dict[str, dict[str, list[float]]] = {}
    for case, make in CASES.items():
        steps = {}
        for side, compile in SIDES.items():
            torch.manual_seed(0)
            model, parameters = make(compile, backend)
            steps[side] = _step(model, torch.optim.SGD(parameters, lr=0.01))
        for _ in range(5):
            for step in steps.values():
                step()
        best = {side: [float("inf")] * 2 for side in steps}
        clocks = (time.perf_counter, time.process_time)
        for turn in range(ROUNDS):
            order = [*steps, *steps][turn % len(steps) :][: len(steps)]  # each follows each other
            for side, step in ((side, steps[side]) for side in order):
                dist.barrier()
                began = [clock() for clock in clocks]
                step()
                took = [(clock() - start) * 1e6 for clock, start in zip(clocks, began)]
                best[side] = list(map(min, best[side], took))
        found[case] = best
    Path(out).write_text(json.dumps(found))
    dist.destroy_process_group()


def _step(model: Any, optimizer: Any) -> Any:
    x = torch.randn(16, 64)

    def step() -> None:
        model(x).pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into the page")
    parser.add_argument("--backend", default="inductor")
    parser.add_argument("--rank", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--out", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank is not None:
        measure(options.rank, options.out, options.backend)
        return
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = str(s.getsockname()[1])
    env = {**os.environ, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    env["GLOO_SOCKET_IFNAME"] = "lo"
    with tempfile.TemporaryDirectory() as folder:
        outs = [Path(folder) / f"{rank}.json" for rank in range(2)]
        asked = [sys.executable, __file__, "--backend", options.backend]
        ranks = [
            subprocess.Popen([*asked, "--rank", str(r), "--out", str(outs[r])], env=env)
            for r in range(2)
        ]
        codes = [rank.wait(timeout=900) for rank in ranks]
        if any(codes):
            raise SystemExit("a rank failed")
        found = json.loads(outs[0].read_text())
    rows = [
        [
            case,
            *(f"{times[s][0]:.0f}" for s in SIDES),
            *(
                f"{ours / theirs:.2f}"
                for ours, theirs in zip(times["suture"], times["torch.compile"])
            ),
        ]
        for case, times in found.items()
    ]
    finish(
        options, "distributed", ["step of two ranks, µs", *SIDES, "ratio", "on the processor"], rows
    )


if __name__ == "__main__":
    main()
