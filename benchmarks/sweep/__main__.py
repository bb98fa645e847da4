"""Compile every model of a corpus and compare it with eager and with torch.compile.

    python -m sweep --corpus ../shared/corpus            all models, eval and train
    python -m sweep --only Bert,GPT2 --modes eval        some of them
    python -m sweep --frontends suture                   without torch.compile
    python -m sweep --jobs 8                             eight models at a time
    python -m sweep --strict                             all equal and none given up, or it fails

A corpus is a folder with a models.py that has ALL (names) and build(name) -> (module, inputs),
where inputs() gives fresh (args, kwargs). Each model runs in a process of its own with a time
limit. What is done is kept in OUT/results.json: a second call goes on where the first stopped.
OUT/index.html shows the comparison.
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import sys
import time
import traceback
import warnings
from collections import deque
from collections.abc import Iterator
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import rich.progress

from sweep import page

Key = tuple[str, str, str]


def main() -> None:
    options = _options()
    build, names = _corpus(options.corpus)
    if options.only:
        names = [n for n in names if any(part in n for part in options.only.split(","))]
    out = pathlib.Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    rows = {} if options.again else _load(out)
    todo = [
        (n, mode, frontend)
        for mode in options.modes.split(",")
        for n in names
        for frontend in options.frontends.split(",")
        if (n, mode, frontend) not in rows
    ]
    with rich.progress.Progress(*_columns()) as progress:
        task = progress.add_task("", total=len(todo))
        for key, row in _measured(build, todo, options.jobs, options.timeout):
            rows[key] = row
            progress.update(task, description=" ".join(key))
            _save(out, rows)
            page.write(out / "index.html", rows)
            if row["status"] != "ok":
                progress.console.print(f"{' '.join(key)}: {_trouble(row)}", markup=False)
            progress.advance(task)
    page.write(out / "index.html", rows)
    for line in page.summary(rows):
        rich.print(line)
    if options.strict and (short := page.short_of_eager(rows)):
        raise SystemExit("not equal to eager, or given up: " + ", ".join(short))


def _options() -> Any:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    here = pathlib.Path(__file__).resolve()
    corpus = here.parents[3] / "shared" / "corpus"
    parser.add_argument("--corpus", default=str(corpus), help="folder with models.py")
    parser.add_argument("--out", default=str(here.parents[2] / "build" / "sweep"))
    parser.add_argument("--only", default="", help="parts of names, with commas")
    parser.add_argument("--modes", default="eval,train")
    parser.add_argument("--frontends", default="suture,dynamo")
    parser.add_argument("--timeout", type=float, default=180, help="seconds per model")
    parser.add_argument("--jobs", type=int, default=1, help="models measured at a time")
    parser.add_argument("--strict", action="store_true", help="all equal, none given up, or fail")
    parser.add_argument("--again", action="store_true", help="forget earlier results")
    return parser.parse_args()


def _corpus(folder: str) -> tuple[Any, list[str]]:
    if not (pathlib.Path(folder) / "models.py").exists():
        raise SystemExit(f"{folder} has no models.py; name another corpus with --corpus")
    warnings.filterwarnings("ignore")
    import torch
    import torch._dynamo

    import suture  # noqa: F401  (loaded once, before the processes are forked)

    torch.set_num_threads(1)
    sys.path.insert(0, folder)
    models = importlib.import_module("models")
    return models.build, list(models.ALL)


class _Run:
    """A model measured in a process of its own, which may crash or hang."""

    def __init__(self, build: Any, key: Key, limit: float) -> None:
        context: Any = multiprocessing.get_context("fork")
        self.key, self.limit = key, limit
        self.end = time.monotonic() + limit
        self.pipe, theirs = context.Pipe(duplex=False)
        self.child = context.Process(target=_child, args=(theirs, build, key))
        self.child.start()
        theirs.close()

    def row(self) -> dict[str, Any]:
        """What the process sent, or why it sent nothing. The process is gone afterwards."""
        row = {"status": "timeout", "error": f"more than {self.limit:.0f} s"}
        if self.pipe.poll():
            try:
                row = self.pipe.recv()
            except EOFError:
                self.child.join()
                row = {"status": "crash", "error": f"the process ended with {self.child.exitcode}"}
        self.child.kill()
        self.child.join()
        self.pipe.close()
        return row


def _measured(
    build: Any, keys: list[Key], jobs: int, limit: float
) -> Iterator[tuple[Key, dict[str, Any]]]:
    """The rows of `keys`, as they are done, with `jobs` processes at a time."""
    waiting, running = deque(keys), list[_Run]()
    while waiting or running:
        while waiting and len(running) < jobs:
            running.append(_Run(build, waiting.popleft(), limit))
        soonest = min(run.end for run in running) - time.monotonic()
        told = multiprocessing.connection.wait([r.pipe for r in running], max(0.0, soonest))
        now = time.monotonic()
        for run in [r for r in running if r.pipe in told or r.end <= now]:
            running.remove(run)
            yield run.key, run.row()


def _child(pipe: Any, build: Any, key: Key) -> None:
    import logging

    from sweep.measure import measure

    logging.disable(logging.WARNING)
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    try:
        name, mode, frontend = key
        row = measure(build, name, mode, frontend)
    except BaseException as error:
        text = "".join(traceback.format_exception(error))
        row = {
            "status": "error",
            "error": f"{type(error).__name__}: {error}"[:500],
            "at": text[-3000:],
        }
    pipe.send(row)
    pipe.close()


def _trouble(row: dict[str, Any]) -> str:
    return f"{row['status']} {row.get('error') or '; '.join(row.get('wrong', []))}"[:300]


def _load(out: pathlib.Path) -> dict[Key, dict[str, Any]]:
    file = out / "results.json"
    if not file.exists():
        return {}
    return {
        (r.pop("model"), r.pop("mode"), r.pop("frontend")): r for r in json.loads(file.read_text())
    }


def _save(out: pathlib.Path, rows: dict[Key, dict[str, Any]]) -> None:
    listed = [
        {"model": model, "mode": mode, "frontend": frontend, **row}
        for (model, mode, frontend), row in rows.items()
    ]
    new = out / "results.json.new"
    new.write_text(json.dumps(listed, indent=1))
    new.replace(out / "results.json")


def _columns() -> list[Any]:
    return [
        rich.progress.BarColumn(),
        rich.progress.MofNCompleteColumn(),
        rich.progress.TimeRemainingColumn(),
        rich.progress.TextColumn("{task.description}"),
    ]


if __name__ == "__main__":
    main()
