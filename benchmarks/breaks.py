"""Programs with breaks: how much of them runs inside graphs, and what a call costs.

    python benchmarks/breaks.py            print the tables
    python benchmarks/breaks.py --write    and put them into docs/benchmarks.md

Captured: the share of the tensor operations of a warm call that ran inside graphs, by torch's
profiler. Eager, torch.compile and suture run in this process, in turns; times are of the
processor, so that what else the machine does counts little.
"""

from __future__ import annotations

import argparse
import logging
import os
import time
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import torch._dynamo
from programs import low
from table import finish
from torch import nn

import suture
from suture import _core

log = logging.getLogger("benchmark")
log.addHandler(logging.NullHandler())
log.propagate = False
log.setLevel(logging.INFO)


@torch.compiler.disable
def step_done() -> None:
    """What a program does between its steps: nothing that a graph could hold."""


def loop_with_breaks() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """64 turns over a 3-layer MLP, a break in each."""
    mlp = nn.Sequential(
        nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 32)
    )

    def fn(x: torch.Tensor) -> torch.Tensor:
        for _ in range(64):
            x = mlp(x) + x
            step_done()
        return x

    return fn, (torch.randn(8, 32),)


def try_with_logging() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A transformer layer inside `try`, with a logging call in the middle. In training mode, so
    that it runs operation by operation: the fused one of evaluation leaves nothing to capture."""
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True).train()

    def fn(x: torch.Tensor) -> torch.Tensor:
        try:
            y = layer(x)
            log.info("mean %s", y.mean())
            return layer(y) * 2
        except RuntimeError:
            log.exception("failed")
            return x

    return fn, (torch.randn(2, 8, 32),)


def generator_of_layers() -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A generator that makes a layer's input and hands it out, with a break in its body."""
    layers = nn.ModuleList(nn.Linear(32, 32) for _ in range(6))

    def outputs(x: torch.Tensor) -> Iterator[torch.Tensor]:
        for layer in layers:
            x = torch.relu(layer(x)) + x
            step_done()
            yield x

    def fn(x: torch.Tensor) -> torch.Tensor:
        total = torch.zeros_like(x)
        for y in outputs(x):
            total = total + y * 0.5
        return total

    return fn, (torch.randn(8, 32),)


PROGRAMS = {
    "loop of 64 turns, a break in each": loop_with_breaks,
    "try around a transformer layer, with logging": try_with_logging,
    "generator of layers, a break in each": generator_of_layers,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help="put the tables into the docs")
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument(
        "--no-inductor", action="store_true", help="only the backend that does nothing"
    )
    options = parser.parse_args()
    torch.set_num_threads(1)
    backends = {"none": plain} if options.no_inductor else {"none": plain, "inductor": "inductor"}
    rows = []
    with torch.no_grad():
        for name, make in PROGRAMS.items():
            shares = [f"{captured(frontend, make):.0%}" for frontend in (suture, torch)]
            for label, backend in backends.items():
                eager, ours, theirs = times(make, backend, options.repeat)
                spent = [f"{us:.0f}" for us in (eager, ours, theirs)]
                ratios = [f"{ours / eager:.2f}", f"{ours / theirs:.2f}"]
                rows.append([f"{name}; {label}", *shares, *spent, *ratios])
    head = [
        "program; backend", "captured", "captured by torch.compile", "eager, µs", "suture, µs",
        "torch.compile, µs", "suture / eager", "suture / torch.compile",
    ]  # fmt: skip
    finish(options, "breaks", head, rows)
    finish(options, "jump", ["one jump between points", "µs"], jump_rows())


def plain(module: torch.fx.GraphModule, inputs: Any) -> Any:
    """The backend that does nothing: the graph as it was captured."""
    return module.forward


def in_range(module: torch.fx.GraphModule, inputs: Any) -> Any:
    """The same, each run of the graph marked for the profiler."""

    def run(*args: Any) -> Any:
        with torch.profiler.record_function("graph"):
            return module.forward(*args)

    return run


def captured(frontend: Any, make: Any) -> float:
    """The share of the operations of a warm call that ran inside graphs."""
    compiled, args = prepared(frontend, make, in_range)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        compiled(*args)
    inside = outside = 0
    for event in profile.events():
        if not event.name.startswith("aten::"):
            continue
        parents = ancestors(event)
        if any(name.startswith("aten::") for name in parents):
            continue  # a part of another operation
        if "graph" in parents:
            inside += 1
        else:
            outside += 1
    return inside / max(inside + outside, 1)


def ancestors(event: Any) -> list[str]:
    found = []
    while (event := event.cpu_parent) is not None:
        found.append(event.name)
    return found


def prepared(frontend: Any, make: Any, backend: Any) -> tuple[Any, Any]:
    suture.reset()
    torch._dynamo.reset()
    torch.manual_seed(0)
    fn, args = make()
    compiled = frontend.compile(fn, backend=backend)
    for _ in range(4):
        compiled(*args)
    return compiled, args


def times(make: Any, backend: Any, repeat: int) -> tuple[float, ...]:
    """Microseconds of a call in eager, under suture and under torch.compile, taken in turns."""
    suture.reset()
    torch._dynamo.reset()
    torch.manual_seed(0)
    fn, args = make()
    calls = [fn, *(frontend.compile(fn, backend=backend) for frontend in (suture, torch))]
    for call in calls:
        for _ in range(4):
            call(*args)
    samples: list[list[float]] = [[] for _ in calls]
    for _ in range(repeat):
        for call, kept in zip(calls, samples):
            start = time.process_time()
            for _ in range(20):
                call(*args)
            kept.append((time.process_time() - start) / 20 * 1e6)
    return tuple(map(low, samples))


def jump_rows() -> list[list[str]]:
    """What it costs to leave a variant and to be in the next: the jump, the guards, the call."""
    turns = 200_000
    tensor = torch.ones(3)

    def missed(point: Any, state: Any) -> Any:
        raise LookupError("no variant fits")

    def run(guards: Any) -> float:
        point = _core.Point("bench", missed)

        def variant(left: int, x: Any) -> Any:
            return _core.jump(point, left - 1, x) if left else x

        point.add(variant, guards)
        start = time.process_time()
        _core.run_point(point, turns, tensor)
        return (time.process_time() - start) / turns * 1e6

    spec = _core.TensorSpec(tensor)
    nodes = (
        ("slot", 0, (("int",),), ()),
        ("slot", 1, (("tensor", spec),), ()),
    )
    guarded = _core.GuardProgram(nodes)
    rows = [("without guards", None), ("with guards on a tensor and an int", guarded)]
    return [[name, f"{low([run(guards) for _ in range(7)]):.2f}"] for name, guards in rows]


if __name__ == "__main__":
    main()
