"""The way into a compiled graph: `x * w + 1` through Inductor, on the processor.

    python benchmarks/callpath.py            print the table
    python benchmarks/callpath.py --write    and put it into docs/benchmarks.md

Eager, a bare autograd function, torch.compile and suture run in this process, in turns; times are
of the processor. Ratios are to eager.
"""

from __future__ import annotations

import argparse
import os
import time
import timeit
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import torch._dynamo
from programs import low
from table import finish

import suture

COUNT = 500


def fn(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x * w + 1


class Bare(torch.autograd.Function):
    """The least that a front end with derivatives of its own can do in Python."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * w + 1

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[None, torch.Tensor]:
        return None, grad * ctx.saved_tensors[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help="put the table into the docs")
    parser.add_argument("--repeat", type=int, default=20)
    options = parser.parse_args()
    torch.set_num_threads(1)
    runs: dict[str, Callable[..., Any]] = {
        "eager": fn,
        "bare": Bare.apply,
        "torch.compile": torch.compile(fn),
        "suture": suture.compile(fn),
    }
    cases = {
        "inference": (False, False),
        "forward, with a derivative": (True, False),
        "forward and backward": (True, True),
    }
    rows = [_row(name, runs, *case, options.repeat) for name, case in cases.items()]
    head = ["x * w + 1, µs", "eager", "bare function", "torch.compile", "suture", "of eager"]
    finish(options, "callpath", head, rows)
    print(suture.code(runs["suture"]))


def _row(name: str, runs: dict[str, Any], grad: bool, backward: bool, repeat: int) -> list[str]:
    x, w = torch.randn(64), torch.randn(64, requires_grad=grad)
    ones = torch.ones(64)
    calls = {front: _call(run, x, w, ones, backward) for front, run in runs.items()}
    if not grad:
        del calls["bare"]
    samples: dict[str, list[float]] = {front: [] for front in calls}
    for call in calls.values():
        for _ in range(5):
            call()
    for _ in range(repeat):
        for front, call in calls.items():
            spent = timeit.timeit(call, timer=time.process_time, number=COUNT)
            samples[front].append(spent / COUNT * 1e6)
    best = {front: low(kept) for front, kept in samples.items()}
    times = [f"{best[front]:.1f}" if front in best else "" for front in runs]
    return [name, *times, f"{best['suture'] / best['eager']:.2f}"]


def _call(run: Any, x: Any, w: Any, ones: Any, backward: bool) -> Callable[[], Any]:
    if backward:
        return lambda: run(x, w).backward(ones)
    return lambda: run(x, w)


if __name__ == "__main__":
    main()
