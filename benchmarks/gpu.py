"""Captured programs with real backends on a GPU, next to eager and torch.compile.

    python benchmarks/gpu.py                 print the table
    python benchmarks/gpu.py --quick         smaller models, fewer samples: some eight minutes
    python benchmarks/gpu.py --only llama    cases whose name has this in it
    python benchmarks/gpu.py --device cpu    where there is no GPU: whether it runs, no more
    python benchmarks/gpu.py --write         and put the table into docs/benchmarks.md

One process per case and front end, with caches of its own, one after the other. `first` is the time
from the start of the process to the first result, `peak` the most memory that tensors took.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from typing import Any

FRONTS = ("eager", "torch.compile", "suture")
WARM = 8  # calls before the clock starts: kernels are tuned, CUDA graphs recorded


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", help="part of the names of the cases to run")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--limit", type=int, default=180, help="seconds for one process")
    parser.add_argument("--write", action="store_true", help="put the table into the docs")
    parser.add_argument("--case", type=int, default=-1, help=argparse.SUPPRESS)
    parser.add_argument("--front", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case >= 0:
        print(json.dumps(measure(options)))
        return
    table(options)


# ---- one case in one front end, in a process of its own


def measure(options: Any) -> dict[str, Any]:
    """Microseconds a call, seconds to the first result, megabytes, graphs."""
    import torch
    from gpu_cases import CASES

    case = CASES[options.case]
    torch.manual_seed(0)
    on_gpu = options.device == "cuda"
    wait = torch.cuda.synchronize if on_gpu else (lambda: None)
    with torch.set_grad_enabled(case.grad):
        fn, args = case.make(options.device, options.quick)
        compiled, graphs = _compiled(options.front, fn, case.mode)
        call = case.around(compiled, args) if case.around else (lambda: compiled(*args))
        call()
        wait()
        first = time.time() - float(os.environ["BENCHMARK_BEGAN"])
        for _ in range(WARM):
            call()
        wait()
        if on_gpu:
            torch.cuda.reset_peak_memory_stats()
        took = _best(call, wait, case.count, 5 if options.quick else 20)
        peak = torch.cuda.max_memory_allocated() / 2**20 if on_gpu else 0.0
    return {"us": took, "first": first, "peak": peak, "graphs": graphs()}


def _compiled(front: str, fn: Any, mode: str | None) -> tuple[Any, Any]:
    """The function under a front end, and what tells its number of graphs."""
    import torch

    if front == "eager":
        return fn, lambda: 0
    if front == "suture":
        import suture

        return suture.compile(fn, mode=mode), lambda: suture.stats().graphs
    from torch._dynamo.utils import counters

    return torch.compile(fn, mode=mode), lambda: counters["stats"]["unique_graphs"]


def _best(call: Any, wait: Any, count: int, samples: int) -> float:
    """Microseconds of a call, the best sample of several."""
    found = []
    for _ in range(samples):
        wait()
        began = time.perf_counter()
        for _ in range(count):
            call()
        wait()
        found.append((time.perf_counter() - began) / count * 1e6)
    return min(found)


# ---- all of them


def table(options: Any) -> None:
    from gpu_cases import CASES

    head = ["case", *(f"{front}, µs" for front in FRONTS), "of torch", "of eager"]
    head += ["first, s: torch", "suture", "peak, MB: torch", "suture", "graphs: torch", "suture"]
    rows = []
    print(" | ".join(head), flush=True)
    for number, case in enumerate(CASES):
        if options.only.lower() not in case.name.lower():
            continue
        if any(importlib.util.find_spec(name) is None for name in case.needs):
            print(f"{case.name} | left out: needs {', '.join(case.needs)}", flush=True)
            continue
        made = {front: _in_process(options, number, front) for front in FRONTS}
        rows.append(_row(case.name, made))
        print(" | ".join(rows[-1]), flush=True)
    if options.write:
        from table import markdown, write

        write("gpu", markdown(head, rows))


def _in_process(options: Any, number: int, front: str) -> dict[str, Any]:
    """What `measure` says in a fresh process with empty caches; its error if it failed."""
    here = pathlib.Path(__file__).resolve()
    command = [sys.executable, str(here), "--case", str(number), "--front", front]
    command += ["--device", options.device, *(["--quick"] if options.quick else [])]
    with tempfile.TemporaryDirectory() as cache:
        path = os.pathsep.join(
            [str(here.parent.parent), str(here.parent), os.environ.get("PYTHONPATH", "")]
        )
        environment = {
            **os.environ,
            "PYTHONPATH": path,
            "TORCHINDUCTOR_CACHE_DIR": f"{cache}/inductor",
            "TRITON_CACHE_DIR": f"{cache}/triton",
            "BENCHMARK_BEGAN": str(time.time()),
        }
        try:
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=options.limit
            )
        except subprocess.TimeoutExpired:
            return {"error": f"more than {options.limit} s"}
    lines = done.stdout.strip().splitlines()
    if done.returncode or not lines:
        print(f"--- {front}\n{done.stderr[-2000:]}", file=sys.stderr, flush=True)
        return {"error": (done.stderr.strip().splitlines() or ["failed"])[-1][:80]}
    result: dict[str, Any] = json.loads(lines[-1])
    return result


def _row(name: str, made: dict[str, dict[str, Any]]) -> list[str]:
    def number(front: str, key: str, form: str) -> str:
        one = made[front]
        return format(one[key], form) if key in one else "failed"

    def ratio(to: str) -> str:
        both = made["suture"].get("us"), made[to].get("us")
        return f"{both[0] / both[1]:.2f}" if all(both) else ""

    row = [name, *(number(front, "us", ".1f") for front in FRONTS)]
    row += [ratio("torch.compile"), ratio("eager")]
    for key, form in (("first", ".1f"), ("peak", ".0f"), ("graphs", "d")):
        row += [number(front, key, form) for front in FRONTS[1:]]
    return row


if __name__ == "__main__":
    main()
