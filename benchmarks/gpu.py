"""Captured programs with real backends on a GPU, next to eager and torch.compile.

    python benchmarks/gpu.py                 print the table
    python benchmarks/gpu.py --quick         smaller models, fewer samples: some eight minutes
    python benchmarks/gpu.py --only llama    cases whose name has this in it, or one of several
                                             texts with commas between
    python benchmarks/gpu.py --models        models as people train and serve them: another table
    python benchmarks/gpu.py --device cpu    where there is no GPU: whether it runs, no more
    python benchmarks/gpu.py --at-once 15    so many processes compile at once: faster, but kernels
                                             are tuned beside others, and may be chosen worse
    python benchmarks/gpu.py --write         and put the table into docs/benchmarks.md

One process per case and front end, with caches of its own. Nothing else runs while a process takes
its times: the others have not begun, or have compiled and wait. The front ends of a case take
turns, and the best of their turns counts. `first` is the time from the start of the process to the
first result, `peak` the most memory that tensors took. What the first calls give is compared
with eager's, and a line says where it is another result.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
from typing import Any

FRONTS = ("eager", "torch.compile", "suture")
READY = "ready"
TURNS = 3
COMPARED = 3  # calls whose results are compared with eager's
WARM = 8  # calls before the clock starts: kernels are tuned, CUDA graphs recorded


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", help="parts of the names of cases, by commas")
    parser.add_argument("--models", action="store_true", help="the cases of gpu_models.py")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--limit", type=int, default=180, help="seconds for one process")
    parser.add_argument("--at-once", type=int, default=1, help="processes that compile at once")
    parser.add_argument("--write", action="store_true", help="put the table into the docs")
    parser.add_argument("--case", type=int, default=-1, help=argparse.SUPPRESS)
    parser.add_argument("--front", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case >= 0:
        print(json.dumps(measure(options)))
        return
    table(options)


def _cases(options: Any) -> Any:
    if options.models:
        from gpu_models import MODELS

        return MODELS
    from gpu_cases import CASES

    return CASES


# ---- one case in one front end, in a process of its own


def measure(options: Any) -> dict[str, Any]:
    """Microseconds a call, seconds to the first result, megabytes, graphs."""
    import torch

    case = _cases(options)[options.case]
    torch.manual_seed(0)
    on_gpu = options.device == "cuda"
    wait = torch.cuda.synchronize if on_gpu else (lambda: None)
    with torch.set_grad_enabled(case.grad):
        fn, args = case.make(options.device, options.quick)
        compiled, graphs = _compiled(options.front, fn, case)
        call = case.around(compiled, args) if case.around else (lambda: compiled(*args))
        seen = [_numbers(call())]
        wait()
        first = time.time() - float(os.environ["BENCHMARK_BEGAN"])
        seen += [_numbers(call()) for _ in range(COMPARED - 1)]
        for _ in range(WARM):
            call()
        wait()
        if on_gpu:
            torch.cuda.reset_peak_memory_stats()
        took = math.inf
        for _ in range(TURNS):
            print(READY, flush=True)
            sys.stdin.readline()
            took = min(took, _best(call, wait, case.count, 3 if options.quick else 10))
        peak = torch.cuda.max_memory_allocated() / 2**20 if on_gpu else 0.0
    return {"us": took, "first": first, "peak": peak, "graphs": graphs(), "seen": seen}


def _numbers(result: Any) -> list[float]:
    """What is compared of a result: two means of each tensor in it."""
    import torch

    tensors = [one for one in torch.utils._pytree.tree_leaves(result) if torch.is_tensor(one)]
    return [
        mean.item() for one in tensors for mean in (one.double().mean(), one.double().abs().mean())
    ]


def _compiled(front: str, fn: Any, case: Any) -> tuple[Any, Any]:
    """The function under a front end, and what tells its number of graphs."""
    import torch

    if front == "eager":
        if case.installed:
            torch.compiler.set_stance("force_eager")
        return fn, lambda: 0
    if front == "suture":
        import suture

        if case.installed:
            suture.install()
            return fn, lambda: suture.stats().graphs
        return suture.compile(fn, mode=case.mode), lambda: suture.stats().graphs
    from torch._dynamo.utils import counters

    compiled = fn if case.installed else torch.compile(fn, mode=case.mode)
    return compiled, lambda: counters["stats"]["unique_graphs"]


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
    head = ["case", *(f"{front}, µs" for front in FRONTS), "of torch", "of eager"]
    head += ["first, s: torch", "suture", "peak, MB: torch", "suture", "graphs: torch", "suture"]
    rows = []
    print(" | ".join(head), flush=True)
    left = [
        (number, case)
        for number, case in enumerate(_cases(options))
        if any(part in case.name.lower() for part in options.only.lower().split(","))
        and _has_what_it_needs(case)
    ]
    while left:
        several = max(1, options.at_once // len(FRONTS))
        now, left = left[:several], left[several:]
        with tempfile.TemporaryDirectory() as caches:
            begun: dict[tuple[int, str], Measured] = {}
            asked = [(number, front) for number, _ in now for front in FRONTS]
            for at in range(0, len(asked), options.at_once):
                for number, front in (some := asked[at : at + options.at_once]):
                    cache = f"{caches}/{number}-{front}"
                    begun[number, front] = Measured(options, number, front, cache)
                for one in some:
                    begun[one].wait_until_ready()
            for number, case in now:
                fronts = {front: begun[number, front] for front in FRONTS}
                for _ in range(TURNS - 1):
                    for measured in fronts.values():
                        measured.take_turn()
                made = {front: measured.result() for front, measured in fronts.items()}
                rows.append(_row(case.name, made))
                print(" | ".join(rows[-1]), flush=True)
                _compare(case.name, made)
    if options.write:
        from table import markdown, write

        write("gpu-models" if options.models else "gpu", markdown(head, rows))


def _compare(name: str, made: dict[str, dict[str, Any]]) -> None:
    """Says where a front end's results are not eager's. Kernels round in other places."""
    expected = made["eager"].get("seen", [])
    for front in FRONTS[1:]:
        for number, (one, two) in enumerate(zip(expected, made[front].get("seen", []))):
            close = [math.isclose(a, b, rel_tol=0.02, abs_tol=1e-3) for a, b in zip(one, two)]
            if len(one) != len(two) or not all(close):
                print(f"{name} | {front}, call {number}: {two}, eager {one}", flush=True)


def _has_what_it_needs(case: Any) -> bool:
    missing = [name for name in case.needs if importlib.util.find_spec(name) is None]
    if missing:
        print(f"{case.name} | left out: needs {', '.join(missing)}", flush=True)
    return not missing


class Measured:
    """A process that runs `measure` with empty caches: it compiles, says that it is ready, and
    takes its times when it is told to."""

    def __init__(self, options: Any, number: int, front: str, cache: str) -> None:
        here = pathlib.Path(__file__).resolve()
        command = [sys.executable, str(here), "--case", str(number), "--front", front]
        command += ["--device", options.device, *(["--quick"] if options.quick else [])]
        command += ["--models"] if options.models else []
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
        os.makedirs(cache)
        self.front = front
        self.limit = options.limit
        self.errors = pathlib.Path(cache, "errors")
        self.late = False
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        self.clock = threading.Timer(self.limit, self._stop)
        self.clock.start()

    def _stop(self) -> None:
        self.late = True
        self.process.kill()

    def wait_until_ready(self) -> None:
        """Reads up to the line that says so; nothing is left to read where the process failed."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.strip() == READY:
                break
        self.clock.cancel()

    def take_turn(self) -> None:
        """It takes times, and is ready again."""
        assert self.process.stdin is not None
        with contextlib.suppress(OSError):  # it failed: `result` says how
            self.process.stdin.write("go\n")
            self.process.stdin.flush()
        self.wait_until_ready()

    def result(self) -> dict[str, Any]:
        """The figures after the last turn; the error if it failed."""
        try:
            lines = self.process.communicate("go\n", timeout=self.limit)[0].strip().splitlines()
        except BrokenPipeError:  # it failed before
            self.process.wait()
            lines = []
        except subprocess.TimeoutExpired:
            self._stop()
            self.process.wait()
            lines = []
        if self.late:
            return {"error": f"more than {self.limit} s"}
        if self.process.returncode or not lines:
            errors = self.errors.read_text()
            print(f"--- {self.front}\n{errors[-2000:]}", file=sys.stderr, flush=True)
            return {"error": (errors.strip().splitlines() or ["failed"])[-1][:80]}
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
