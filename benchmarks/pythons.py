"""What a warm call of suture costs on several Pythons, as ratios to the first of them.

    python benchmarks/pythons.py PYTHON...            print the table
    python benchmarks/pythons.py PYTHON... --write    and put it into docs/benchmarks.md
    python benchmarks/pythons.py PYTHON... --limit 1.3    exit code 1 if a ratio is larger

A PYTHON is the path of one that has torch and suture's core, or a command that ends in one
("chroot DIR /venv/bin/python"). The programs are those of dispatch.py. Every Python gets several
processes, in turns, and of these the cheapest counts: where other work takes the processor's
caches, a process may cost half as much again.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("pythons", nargs="*", help="the first is what the others are compared with")
    parser.add_argument("--write", action="store_true", help="put the table into the docs")
    parser.add_argument("--turns", type=int, default=3, help="processes of each Python")
    parser.add_argument("--limit", type=float, help="the largest ratio that is no failure")
    parser.add_argument("--measure", action="store_true", help="measure this Python, print JSON")
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure()))
        return 0
    if len(options.pythons) < 2:
        parser.error("name two Pythons at least")
    found = [
        cheapest(runs)
        for runs in zip(*([asked(p) for p in options.pythons] for _ in range(options.turns)))
    ]
    head, rows = table(found)
    worst = max(ratio(one, found[0], name) for one in found[1:] for name in found[0]["calls"])
    report(head, rows, worst, options.write)
    return int(options.limit is not None and worst > options.limit)


def measure() -> dict[str, Any]:
    """The versions of this Python and its torch, and µs of a warm call of each program."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import platform

    import torch
    from dispatch import prepared, sample
    from programs import DISPATCH, low

    import suture

    torch.set_num_threads(1)
    calls = {}
    with torch.no_grad():
        for program in DISPATCH:
            suture.reset()
            call = prepared(suture, *program.make())
            calls[program.name] = low([sample(call) for _ in range(20)])
    return {"python": platform.python_version(), "torch": torch.__version__, "calls": calls}


def asked(python: str) -> dict[str, Any]:
    """What a process of that Python measures."""
    command = [*shlex.split(python), str(HERE), "--measure"]
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1])}
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{python} measured nothing: its exit code is {done.returncode}")
    return json.loads(done.stdout.splitlines()[-1])


def cheapest(runs: tuple[dict[str, Any], ...]) -> dict[str, Any]:
    """One result out of those of several processes of the same Python."""
    calls = {name: min(run["calls"][name] for run in runs) for name in runs[0]["calls"]}
    return {**runs[0], "calls": calls}


def ratio(one: dict[str, Any], first: dict[str, Any], name: str) -> float:
    """What the call costs on one Python, of what it costs on the first."""
    return one["calls"][name] / first["calls"][name]


def table(found: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Head and rows: microseconds, and behind them the ratio to the first Python."""
    first = found[0]
    head = ["a warm call, µs"]
    head += [f"{one['python']}, torch {one['torch'].split('+')[0]}" for one in found]
    rows = []
    for name, base in first["calls"].items():
        others = [f"{o['calls'][name]:.2f} ({ratio(o, first, name):.2f})" for o in found[1:]]
        rows.append([name, f"{base:.2f}", *others])
    return head, rows


def report(head: list[str], rows: list[list[str]], worst: float, write: bool) -> None:
    """Show the table, and write it to the page if asked to."""
    import table as tables

    tables.show("pythons", head, rows)
    said = f"The largest ratio to the first Python is {worst:.2f}."
    print(said)
    if write:
        lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
        lines += ["| " + " | ".join(row) + " |" for row in rows]
        tables.write("pythons", "\n".join([*lines, "", said]))


if __name__ == "__main__":
    sys.exit(main())
