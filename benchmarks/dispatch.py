"""What a warm call costs: guards, dispatch and the variant, next to torch.compile.

    python benchmarks/dispatch.py            print the table
    python benchmarks/dispatch.py --write    and put it into docs/benchmarks.md

The backend hands out results it computed once, so a call costs what the front-end costs.
Both front-ends run in this process, in turns.
"""

from __future__ import annotations

import argparse
import os
import time
import timeit
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import torch._dynamo
from programs import DISPATCH, Program, low, stub
from table import finish

import suture


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help="put the table into the docs")
    parser.add_argument("--repeat", type=int, default=20)
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    with torch.no_grad():
        for program in DISPATCH:
            ours, theirs = _warm(program, options.repeat)
            ratio = f"1/{theirs / ours:.0f}"
            rows.append([program.name, f"{ours:.2f}", f"{theirs:.2f}", ratio])
    finish(options, "dispatch", ["a warm call, µs", "suture", "torch.compile", "ratio"], rows)


def _warm(program: Program, repeat: int) -> tuple[float, float]:
    """Microseconds of a call under suture and under torch.compile, taken in turns."""
    suture.reset()
    torch._dynamo.reset()
    fn, args = program.make()
    calls = [prepared(frontend, fn, args) for frontend in (suture, torch)]
    samples: list[list[float]] = [[], []]
    for _ in range(repeat):
        for call, kept in zip(calls, samples):
            kept.append(sample(call))
    return low(samples[0]), low(samples[1])


def sample(call: Any) -> float:
    """Microseconds of processor time of one call, over a thousand."""
    count = 1000
    return timeit.timeit(call, timer=time.process_time, number=count) / count * 1e6


def prepared(frontend: Any, fn: Any, args: Any) -> Any:
    """A function without arguments that makes one warm call."""
    compiled = frontend.compile(fn, backend=stub)
    for _ in range(5):
        compiled(*args)
    names = ", ".join(f"a{i}" for i in range(len(args)))
    space = {"compiled": compiled, **{f"a{i}": arg for i, arg in enumerate(args)}}
    return eval(f"lambda: compiled({names})", space)


if __name__ == "__main__":
    main()
