"""Runs examples in a process of its own: jobs as JSON lines in, results as JSON lines out.

A program may crash, hang, leave a process group or a mode behind; whoever started this process
can end it and continue with the next job in a fresh one.

    {"kind": "page", "id": "GB0170", "source": ..., "config": {...}}
    {"kind": "guide", "id": "breaks", "blocks": [{"line": 3, "source": ..., "raises": false}]}
"""

from __future__ import annotations

import contextlib
import inspect
import io
import json
import linecache
import logging
import os
import shlex
import subprocess
import sys
import tempfile
import traceback
import types
import warnings
from pathlib import Path
from typing import Any

from suture import api, config, events, logs, messages

NAME = "example.py"


def main() -> None:
    """Answer jobs until standard input ends."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a program writes to the real standard output is no answer
    warnings.simplefilter("ignore")
    logging.getLogger().handlers.clear()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for line in sys.stdin:
            job = json.loads(line)
            result = {"page": run_page, "guide": run_guide}[job["kind"]](job)
            answers.write(json.dumps({"id": job["id"], **result}) + "\n")
            answers.flush()


def run_page(job: dict[str, Any]) -> dict[str, Any]:
    """The program of a break's page: what the terminal shows of its breaks, and its graphs."""
    module = _module(job["source"])
    shown = io.StringIO()
    error = ""
    api.reset()
    messages.reset()
    with (
        config.patch(**job.get("config", {})),
        events.recorded() as seen,
        _logging(shown),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        try:
            exec(compile(job["source"], NAME, "exec"), module.__dict__)
            _call(module)
        except Exception as raised:
            error = "".join(traceback.format_exception_only(raised)).strip()
    graphs = [event.text for event in seen if isinstance(event, events.Captured)]
    breaks = [event.number for event in seen if isinstance(event, events.Broke)]
    return {
        "output": shown.getvalue(),
        "graphs": graphs,
        "breaks": list(dict.fromkeys(breaks)),
        "error": error,
    }


def _call(module: types.ModuleType) -> None:
    backend = getattr(module, "backend", "eager")
    compiled = api.compile(module.fn, backend=backend)
    result = compiled(*module.args())
    if inspect.isgenerator(result):
        list(result)


@contextlib.contextmanager
def _logging(shown: io.StringIO) -> Any:
    """Log breaks as a terminal shows them."""
    logger = logging.getLogger("suture.breaks")
    handler = logging.StreamHandler(shown)
    handler.setFormatter(logging.Formatter("%(message)s\n"))
    logger.addHandler(handler)
    level, logger.propagate = logger.level, False
    logger.setLevel(logging.DEBUG)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = True


def _module(source: str) -> types.ModuleType:
    """A module whose source can be found under the name of the example."""
    Path(NAME).write_text(source, encoding="utf-8")
    linecache.checkcache()
    module = types.ModuleType("example")
    module.__file__ = NAME
    sys.modules["example"] = module
    return module


def run_guide(job: dict[str, Any]) -> dict[str, Any]:
    """The blocks of a guide's page, one after another in one namespace; an output for each.

    A block that raises although it does not say so ends the page: `failed` says where and why.
    """
    source = ""
    for block in job["blocks"]:
        if block["kind"] == "python":
            source += "\n" * (block["line"] - 1 - source.count("\n")) + block["source"]
    module = _module(source)
    api.reset()
    messages.reset()
    outputs = []
    failed = ""
    for block in job["blocks"]:
        text, error = _console(block) if block["kind"] == "console" else _block(block, module)
        outputs.append(text)
        if bool(error) != bool(block.get("raises")):
            failed = f"{job['id']} line {block['line']}: {error or 'raised nothing'}"
            break
    logs.set_logs()
    return {"outputs": outputs, "failed": failed}


def _block(block: dict[str, Any], module: types.ModuleType) -> tuple[str, str]:
    shown = io.StringIO()
    code = compile("\n" * (block["line"] - 1) + block["source"], NAME, "exec")
    error = ""
    with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(shown):
        try:
            exec(code, module.__dict__)
        except Exception as raised:
            error = "".join(traceback.format_exception_only(raised)).strip()
    return shown.getvalue() + (error if block.get("raises") else ""), error


def _console(block: dict[str, Any]) -> tuple[str, str]:
    """Lines such as `$ suture break GB0170`; the folder holds the page's program."""
    shown = ""
    for line in block["source"].splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if not words or words[0] != "suture":
            return shown, f"not a command of suture: {line}"
        environment = {**os.environ, "COLUMNS": "96"}
        done = subprocess.run(
            [sys.executable, "-m", "suture", *words[1:]],
            capture_output=True, text=True, env=environment, timeout=120,
        )  # fmt: skip
        if done.returncode == 2:
            return shown, done.stderr
        shown += done.stdout + done.stderr
    return shown, ""


if __name__ == "__main__":
    main()
