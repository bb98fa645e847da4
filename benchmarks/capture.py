"""First-call time: how long it takes to turn a program into graphs, next to torch.compile.

    python benchmarks/capture.py            print the table
    python benchmarks/capture.py --write    and put it into docs/benchmarks.md

The backend runs the graph as it is, so nearly all of the time is the front-end's. Both
front-ends run in this process, in turns, and have compiled something before.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import torch._dynamo
from programs import CAPTURE, Program, low, nothing, timed
from table import finish

import suture


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help="put the table into the docs")
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    torch.set_num_threads(1)
    _first(Program("warm up", lambda: (lambda x: x + 1, (torch.ones(2),))))
    rows = []
    for program in CAPTURE:
        pairs = [_first(program) for _ in range(options.repeat)]
        ours, theirs = low([a for a, _ in pairs]), low([b for _, b in pairs])
        rows.append([program.name, f"{ours:.3f}", f"{theirs:.3f}", f"{ours / theirs:.2f}"])
    finish(
        options, "capture", ["first call, CPU seconds", "suture", "torch.compile", "ratio"], rows
    )


def _first(program: Program) -> tuple[float, float]:
    """CPU seconds of the first call under suture and under torch.compile."""
    return _time(program, suture), _time(program, torch)


@torch.no_grad()
def _time(program: Program, frontend: Any) -> float:
    suture.reset()
    torch._dynamo.reset()
    fn, args = program.make()
    fn(*args)
    compiled = frontend.compile(fn, backend=nothing)
    return timed(lambda: compiled(*args))


if __name__ == "__main__":
    main()
