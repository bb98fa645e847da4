"""What dispatch costs where sizes and numbers change, next to torch.compile.

    python benchmarks/dynamic.py            print the table
    python benchmarks/dynamic.py --write    and put it into docs/benchmarks.md

The backend hands out results it computed once, so a call costs what the front-end costs. The
functions are called with two sets of sizes first, so that what differs is a symbol.
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
from programs import low, stub
from table import finish

import suture

VARIANTS = 8


def two_matrices(x: Any, y: Any) -> Any:
    return x.sin() + 1, y.cos() + 1


def matrix_product(x: Any, y: Any) -> Any:
    return x @ y


def four_ints(x: Any, a: int, b: int, c: int, d: int) -> Any:
    return x * a + b * c + d


def two_floats(x: Any, a: float, b: float) -> Any:
    return x * a + b


def by_name(x: Any, name: str) -> Any:
    return x + len(name)


def _sizes(*shapes: tuple[int, int]) -> tuple[Any, ...]:
    return tuple(torch.randn(*shape) for shape in shapes)


CASES: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]]]] = {
    "4 dynamic dimensions": (
        two_matrices,
        [_sizes((2, 3), (4, 5)), _sizes((6, 7), (8, 9)), _sizes((3, 4), (5, 6))],
    ),
    "4 dynamic dimensions, 2 equal": (
        matrix_product,
        [_sizes((2, 3), (3, 5)), _sizes((6, 7), (7, 9)), _sizes((3, 4), (4, 6))],
    ),
    "4 dynamic ints": (
        four_ints,
        [(torch.ones(2), 2, 3, 4, 5), (torch.ones(2), 6, 7, 8, 9), (torch.ones(2), 3, 4, 5, 6)],
    ),
    "2 dynamic floats": (
        two_floats,
        [(torch.ones(2), 0.5, 1.5), (torch.ones(2), 2.5, 3.5), (torch.ones(2), 4.5, 5.5)],
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help="put the table into the docs")
    parser.add_argument("--repeat", type=int, default=20)
    options = parser.parse_args()
    torch.set_num_threads(1)
    with torch.no_grad():
        rows = [_case(name, *case, options.repeat) for name, case in CASES.items()]
        rows.append(_oldest(options.repeat))
        rows.append(_misses(options.repeat))
    head = ["a warm call, µs", "suture", "torch.compile", "ratio"]
    finish(options, "dynamic", head, rows)


def _case(name: str, fn: Any, calls: list[tuple[Any, ...]], repeat: int) -> list[str]:
    suture.reset()
    torch._dynamo.reset()
    made = []
    for frontend in (suture, torch):
        compiled = frontend.compile(fn, backend=stub)
        for args in calls:
            compiled(*args)
        made.append(_call(compiled, calls[-1]))
    return _row(name, *_measure(made, repeat))


def _oldest(repeat: int) -> list[str]:
    """The first of eight variants and the newest in turns: the last that hit never fits."""
    suture.reset()
    torch._dynamo.reset()
    x = torch.ones(2)
    made = []
    for frontend in (suture, torch):
        compiled = frontend.compile(by_name, backend=stub)
        for i in range(VARIANTS):
            compiled(x, "a" * i)
        space = {"f": compiled, "x": x, "first": "", "last": "a" * (VARIANTS - 1)}
        made.append(eval("lambda: (f(x, first), f(x, last))", space))
    ours, theirs = _measure(made, repeat)
    return _row(f"one of {VARIANTS} variants, another each time", ours / 2, theirs / 2)


def _misses(repeat: int) -> list[str]:
    """A call that fits none of eight variants, beyond the plain call; per variant."""
    suture.reset()
    x = torch.ones(2)
    compiled = suture.compile(by_name, backend=stub)
    for i in range(VARIANTS + 1):
        compiled(x, "a" * i)
    missing = "a" * 100
    miss, plain = _measure([_call(compiled, (x, missing)), _call(by_name, (x, missing))], repeat)
    return [f"a miss, for each of {VARIANTS} variants", f"{(miss - plain) / VARIANTS:.2f}", "", ""]


def _call(compiled: Any, args: tuple[Any, ...]) -> Callable[[], Any]:
    names = ", ".join(f"a{i}" for i in range(len(args)))
    space = {"compiled": compiled, **{f"a{i}": arg for i, arg in enumerate(args)}}
    made: Callable[[], Any] = eval(f"lambda: compiled({names})", space)
    return made


def _measure(calls: list[Callable[[], Any]], repeat: int) -> tuple[float, float]:
    """Microseconds of two calls, taken in turns."""
    samples: list[list[float]] = [[], []]
    for _ in range(repeat):
        for call, kept in zip(calls, samples):
            spent = timeit.timeit(call, timer=time.process_time, number=1000)
            kept.append(spent / 1000 * 1e6)
    return low(samples[0]), low(samples[1])


def _row(name: str, ours: float, theirs: float) -> list[str]:
    return [name, f"{ours:.2f}", f"{theirs:.2f}", f"1/{theirs / ours:.0f}"]


if __name__ == "__main__":
    main()
