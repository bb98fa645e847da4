"""suture compare: one script under eager, suture and torch.compile, side by side."""

from __future__ import annotations

import argparse
import functools
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from rich.table import Table

from suture import api
from suture.install import install, uninstall
from suture.tools.cli.common import FOUND, OK, out, print_json
from suture.tools.cli.run import execute, find
from suture.torch_private import torchdynamo

WAYS = ("eager", "suture", "torch.compile")


@dataclass(frozen=True, slots=True)
class Counts:
    """What a compiler did in a run: regions compiled, graphs handed to the backend, breaks seen
    (each time one was met while tracing), and places left to the interpreter."""

    compilations: int = 0
    graphs: int = 0
    breaks: int = 0
    interpreted: int | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """One run of the script: `printed` is its standard output, `last` the last line it wrote to
    standard error, which is where Python tells what ended it."""

    way: str
    code: int
    seconds: float
    printed: str
    last: str
    counts: Counts | None

    def same(self, other: Result) -> bool:
        """Whether a reader of the output and of the exit code sees no difference."""
        ended = self.code == other.code and (self.code == 0 or self.last == other.last)
        return ended and self.printed == other.printed


def add(commands: Any) -> None:
    made = commands.add_parser(
        "compare",
        help="run a script under eager, suture and torch.compile, and compare the three",
        description="Runs a script three times, each in a process of its own: torch.compile does"
        " nothing, means suture, means torch.compile. Compares output and exit code, and counts"
        " compilations, graphs and breaks. Exit code 1 if suture differs from eager, or compiles"
        " more often than torch.compile where that gives eager's result.",
    )
    made.add_argument("--backend", default="eager", help="for both compilers (default: eager)")
    made.add_argument("--timeout", type=float, default=600.0, help="seconds for each run")
    made.add_argument("--json", action="store_true")
    made.add_argument(
        "--only", choices=WAYS, help=argparse.SUPPRESS
    )  # what a child is started with
    made.add_argument("--counts", metavar="FILE", help=argparse.SUPPRESS)
    made.add_argument("script")
    made.add_argument("arguments", nargs=argparse.REMAINDER, help="passed to the script")
    made.set_defaults(do=run)


def run(arguments: argparse.Namespace) -> int:
    """Exit code 1 where suture is the odd one out; see `add`."""
    find(arguments.script, False)
    if arguments.only:
        return _run_one(arguments)
    with tempfile.TemporaryDirectory() as folder:
        eager, ours, torchs = (_start(arguments, way, Path(folder)) for way in WAYS)
    if arguments.json:
        print_json([_row(one, eager) for one in (eager, ours, torchs)])
    else:
        _show((eager, ours, torchs))
    return OK if ours.same(eager) and not _compiles_more(eager, ours, torchs) else FOUND


def _compiles_more(eager: Result, ours: Result, torchs: Result) -> bool:
    if ours.counts is None or torchs.counts is None or not torchs.same(eager):
        return False
    return ours.counts.compilations > torchs.counts.compilations


# ---- the parent


def _start(arguments: argparse.Namespace, way: str, folder: Path) -> Result:
    """Run the script in a process of its own."""
    told = folder / f"{WAYS.index(way)}.json"
    command = [sys.executable, "-m", "suture", "compare", "--only", way, "--counts", str(told)]
    command += ["--backend", arguments.backend, arguments.script, *arguments.arguments]
    begun = time.perf_counter()
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=arguments.timeout)
    except subprocess.TimeoutExpired:
        last = f"did not end in {arguments.timeout:.0f} s"
        return Result(way, 124, arguments.timeout, "", last, None)
    took = time.perf_counter() - begun
    counts = Counts(**json.loads(told.read_text())) if told.exists() else None
    lines = done.stderr.strip().splitlines()
    last = lines[-1] if lines else ""
    return Result(way, done.returncode, took, done.stdout, last, counts)


def _row(one: Result, eager: Result) -> dict[str, Any]:
    return {**asdict(one), "same": one.same(eager)}


def _show(results: tuple[Result, ...]) -> None:
    eager = results[0]
    table = Table(box=None, padding=(0, 2, 0, 0))
    for heading in ("", "result", "compilations", "graphs", "breaks", "interpreted", "seconds"):
        table.add_column(heading, justify="left" if heading in ("", "result") else "right")
    for one in results:
        table.add_row(one.way, _verdict(one, eager), *_cells(one.counts), f"{one.seconds:.1f}")
    console = out()
    console.print(table)
    for one in results[1:]:
        for line in _difference(eager, one):
            console.print(line, markup=False, soft_wrap=True)


def _cells(counts: Counts | None) -> tuple[str, ...]:
    if counts is None:
        return ("", "", "", "")
    return tuple("" if n is None else str(n) for n in asdict(counts).values())


def _verdict(one: Result, eager: Result) -> str:
    if one is eager:
        return "exit code 0" if one.code == 0 else f"exit code {one.code}"
    return "[green]equal[/]" if one.same(eager) else "[red]differs[/]"


def _difference(eager: Result, one: Result) -> list[str]:
    """The first line of the output that differs, and how the script ended if that does."""
    if one.same(eager):
        return []
    told = [f"{one.way}:"]
    expected, got = eager.printed.splitlines(), one.printed.splitlines()
    length = max(len(expected), len(got))
    missing = "(nothing)"
    expected += [missing] * (length - len(expected))
    got += [missing] * (length - len(got))
    for number, (a, b) in enumerate(zip(expected, got), 1):
        if a != b:
            told += [f"  line {number}, eager: {a}", f"  line {number}, here:  {b}"]
            break
    if one.code != eager.code or one.code:
        told.append(f"  exit code {one.code} (eager: {eager.code}): {one.last}")
    return told


# ---- the child


def _run_one(arguments: argparse.Namespace) -> int:
    """Run the script one way, and write what the compiler did to a file."""
    path, source, package = find(arguments.script, False)
    way = arguments.only
    if way == "eager":
        restore = _replace_compile(_unchanged)
    else:
        if way == "suture":
            install()
        restore = _replace_compile(_with_backend(torch.compile, arguments.backend))
    try:
        ended = execute(path, source, package, arguments.arguments)
        counts = _counted(way)
    finally:
        restore()
        if way == "suture":
            uninstall()
    if counts is not None:
        Path(arguments.counts).write_text(json.dumps(asdict(counts)))
    return ended.code


def _counted(way: str) -> Counts | None:
    if way == "eager":
        return None
    if way == "torch.compile":
        return Counts(*torchdynamo.counted())
    stats = api.stats()
    breaks = sum(record.count for record in stats.breaks)
    interpreted = sum(record.count for record in stats.interpreted)
    return Counts(stats.variants, stats.graphs, breaks, interpreted)


def _replace_compile(made: Any) -> Callable[[], None]:
    """Until the result is called, torch.compile is `made`; nn.Module.compile calls it too."""
    before, torch.compile = torch.compile, made

    def restore() -> None:
        torch.compile = before

    return restore


def _unchanged(model: Any = None, **kwargs: Any) -> Any:
    """torch.compile of the eager run: gives back what it is given, also as a decorator."""
    return (lambda fn: fn) if model is None else model


def _with_backend(before: Any, backend: str) -> Any:
    """torch.compile, with this backend where the script does not hand over a function as one."""

    @functools.wraps(before)
    def compile(model: Any = None, **kwargs: Any) -> Any:
        if not callable(kwargs.get("backend")):
            kwargs |= {"backend": backend, "mode": None, "options": None}
        return before(model, **kwargs)

    return compile
