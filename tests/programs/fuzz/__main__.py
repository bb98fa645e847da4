"""Many random programs, from where the last run stopped: python -m tests.programs.fuzz

    --seconds 600        how long, or
    --rounds 5           how often each generator has its turn
    --only autograd      one generator
    --state FILE         where it stands, and what failed (default: build/fuzz.json)
    --again              run the failures of the state again

Prints programs a second, and each failure as the seed and the text that shows it. The generators
of the language and of the changing world are hypothesis strategies, run with the seeds of batches.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.programs.fuzz.running import differences
from tests.programs.fuzz.texts import GENERATORS
from tests.programs.language import test_random_changes, test_random_programs
from tests.programs.language.programs import programs
from tests.programs.language.wide_programs import wide_programs

BATCH = 20


def batch(strategy: Any, run: Callable[[str], None]) -> Callable[[int], str]:
    """BATCH programs of a strategy, all from one seed; gives the text of what failed."""

    def one(number: int) -> str:
        last = [""]

        @seed(number)
        @settings(
            max_examples=BATCH,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(strategy)
        def programs(source: str) -> None:
            last[0] = source
            run(source)

        try:
            programs()
        except Exception as error:
            return f"{type(error).__name__}: {error}\n{last[0]}"
        return ""

    return one


def single(make: Callable[[int], str]) -> Callable[[int], str]:
    def one(number: int) -> str:
        source = make(number)
        try:
            told = differences(source)
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
        return f"{told}\n{source}" if told else ""

    return one


RUNNERS: dict[str, tuple[Callable[[int], str], int]] = {
    "language": (batch(programs(), test_random_programs.run), BATCH),
    "world": (batch(wide_programs(), test_random_changes.run), BATCH),
    **{name: (single(make), 1) for name, make in GENERATORS.items()},
}


def main() -> int:
    made = argparse.ArgumentParser(prog="fuzz")
    made.add_argument("--seconds", type=float, default=600.0)
    made.add_argument("--rounds", type=int)
    made.add_argument("--only", choices=sorted(RUNNERS))
    made.add_argument("--state", type=Path, default=Path("build/fuzz.json"))
    made.add_argument("--again", action="store_true")
    asked = made.parse_args()
    state: dict[str, Any] = {"next": {}, "failed": []}
    if asked.state.exists():
        state = json.loads(asked.state.read_text())
    if asked.again:
        state["failed"] = [f for f in state["failed"] if RUNNERS[f[0]][0](f[1])]
        _save(asked.state, state)
        print(f"{len(state['failed'])} still fail: {state['failed']}")
        return bool(state["failed"])
    failed = _run(state, asked)
    return bool(failed)


def _run(state: dict[str, Any], asked: argparse.Namespace) -> int:
    """Take turns among the generators until the time is over."""
    names = [asked.only] if asked.only else list(RUNNERS)
    differences("def fn(x, y, n, items): return x + y")
    gc.freeze()  # what is loaded by now is not gone through at each collection
    begun = told = time.perf_counter()
    worked = time.process_time()
    count = failed = 0
    for turn in itertools.count():
        over = time.perf_counter() - begun > asked.seconds
        if turn == asked.rounds or (asked.rounds is None and over):
            break
        for name in names:
            runner, size = RUNNERS[name]
            for _ in range(1 if size > 1 else BATCH):
                number = state["next"].get(name, 0)
                state["next"][name] = number + 1
                trouble = runner(number)
                count += size
                if trouble:
                    failed += 1
                    state["failed"].append([name, number])
                    print(f"---- {name} {number}\n{trouble}", flush=True)
        _save(asked.state, state)
        if time.perf_counter() - told > 10:
            told = time.perf_counter()
            rate = count / (told - begun)
            print(f"{count} programs, {rate:.1f} a second, {failed} failed", flush=True)
    took = time.perf_counter() - begun
    worked = time.process_time() - worked
    print(f"{count} programs in {took:.0f} s, {worked:.0f} s of processor time, {failed} failed")
    print(state["next"])
    return failed


def _save(path: Path, state: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(state) + "\n")


if __name__ == "__main__":
    sys.exit(main())
