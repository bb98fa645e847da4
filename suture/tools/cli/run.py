"""suture run: an unmodified script, with torch.compile meaning suture, and a report at the end."""

from __future__ import annotations

import argparse
import functools
import importlib.util
import os
import signal
import sys
import traceback
import types
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from suture import config
from suture.install import install, uninstall
from suture.messages.texts import shorten
from suture.tools.cli.common import err, fail, nearest, progress
from suture.tools.report import Report, recording
from suture.tools.report.html import render


def add(commands: Any) -> None:
    made = commands.add_parser(
        "run",
        help="run a script with torch.compile meaning suture, then show the report",
        description="Runs a script unchanged, with torch.compile meaning suture.compile. The report"
        " goes to standard error; the script's output, exit code and traceback are its own.",
    )
    made.add_argument("--backend", help="use this backend whatever the script asks for")
    made.add_argument(
        "--html", metavar="FILE", help="save the report as a page ({rank} in it: the rank)"
    )
    made.add_argument(
        "--json",
        metavar="FILE",
        help="save the report as JSON ('-': print it); {rank} as above",
    )
    made.add_argument(
        "--cache",
        nargs="?",
        const="~/.cache/suture",
        metavar="DIR",
        help="keep what is compiled in this folder, and use what is kept there"
        " (without DIR: ~/.cache/suture); write --cache=DIR before the script",
    )
    made.add_argument("-q", "--quiet", action="store_true", help="do not print the report")
    made.add_argument("-m", dest="module", action="store_true", help="SCRIPT is a module's name")
    made.add_argument("script")
    made.add_argument("arguments", nargs=argparse.REMAINDER, help="passed to the script")
    made.set_defaults(do=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the script and give back its exit code."""
    path, source, package = find(arguments.script, arguments.module)
    rank = os.environ.get("RANK", "")  # torchrun and its kin say it
    for name in ("html", "json"):
        if getattr(arguments, name):
            setattr(arguments, name, getattr(arguments, name).replace("{rank}", rank or "0"))
    for target in (arguments.html, arguments.json):
        if target and target != "-":
            writable(Path(target))
    if arguments.cache:
        config.cache_dir = arguments.cache
    install()
    restore = _force_backend(arguments.backend) if arguments.backend else None
    try:
        with recording() as recorder, progress(), _terminated():
            ended = execute(path, source, package, arguments.arguments)
        report = recorder.report(shorten(str(path)))
    finally:
        if restore is not None:
            restore()
        uninstall()
    report.file, report.line, report.calls = str(path), 1, 1
    report.rank = int(rank) if rank.isdecimal() else None
    report.ended, report.error = ended.how or report.ended, ended.text
    if not report.regions:
        report.note = _NOTHING_BEFORE if ended.how else _NOTHING
    _show(report, arguments)
    return ended.code


_NOTHING = "Nothing was compiled: the script called no function that torch.compile made."
_NOTHING_BEFORE = "Nothing was compiled before that."


@dataclass(frozen=True, slots=True)
class Ended:
    """How a script ended: its exit code, and what ended it early ("" and "" if nothing did)."""

    code: int = 0
    how: str = ""
    text: str = ""


def writable(path: Path) -> None:
    """End the command unless a file can be written there. Nothing that is there is changed."""
    there = path.exists()
    try:
        with path.open("ab"):
            pass
        if not there:
            path.unlink()
    except OSError as error:
        fail(f"the report cannot be written to {path}: {error.strerror or error}")


@contextmanager
def _terminated() -> Iterator[None]:
    """A script that is told to end (SIGTERM) ends as by sys.exit(143), so that there is a report.
    A handler that the script sets is the script's own affair."""

    def end(number: int, frame: Any) -> None:
        raise SystemExit(128 + number)

    try:
        before = signal.signal(signal.SIGTERM, end)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def find(name: str, is_module: bool) -> tuple[Path, str, str | None]:
    """The path and the text of a script, and the package it is in if it is a module."""
    package = None
    path = Path(name)
    if is_module:
        try:
            spec = importlib.util.find_spec(name)
            if spec is not None and spec.submodule_search_locations is not None:
                spec = importlib.util.find_spec(f"{name}.__main__")
        except ModuleNotFoundError:
            spec = None
        if spec is None or not spec.origin:
            fail(f"there is no module {name}")
        path, package = Path(spec.origin), spec.parent
    if not path.is_file():
        near = [str(one) for one in Path(path.parent).glob("*.py")] if path.parent.is_dir() else []
        fail(f"there is no file {name}", nearest(name, near))
    try:
        return path, path.read_text(encoding="utf-8"), package
    except (UnicodeDecodeError, OSError) as error:
        fail(f"{name} cannot be read: {error}")


def execute(path: Path, source: str, package: str | None, arguments: list[str]) -> Ended:
    """Run a script as `python script` does. Tracebacks are printed as Python prints them, without
    a frame of ours."""
    module = types.ModuleType("__main__")
    module.__file__ = str(path)
    module.__package__ = package
    sys.modules["__main__"], before = module, sys.modules["__main__"]
    argv, sys.argv = sys.argv, [str(path), *arguments]
    if package is None:
        sys.path.insert(0, str(path.resolve().parent))
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)
    except SystemExit as leaving:
        code = _exit_code(leaving)
        return Ended(code, "exited", f"with code {code}") if code else Ended()
    except KeyboardInterrupt as error:
        _print_traceback(error)
        return Ended(130, "interrupted", _line(error))
    except BaseException as error:
        _print_traceback(error)
        return Ended(1, "raised", "".join(traceback.format_exception_only(error)).strip())
    finally:
        sys.stdout.flush()
        sys.argv, sys.modules["__main__"] = argv, before
        _kept.append(module)
    return Ended()


def _line(error: BaseException) -> str:
    """The line of the script at which an interrupt came."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"at {shorten(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""


# A script's globals live until the process ends, as they do under `python script`.
_kept: list[types.ModuleType] = []


def _exit_code(leaving: SystemExit) -> int:
    if leaving.code is None:
        return 0
    if isinstance(leaving.code, int):
        return leaving.code
    print(leaving.code, file=sys.stderr)
    return 1


def _print_traceback(error: BaseException) -> None:
    trace = error.__traceback__
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:
        trace = trace.tb_next
    sys.excepthook(type(error), error.with_traceback(trace), trace)


def _force_backend(name: str) -> Any:
    """Make torch.compile use this backend; the result undoes it."""
    before = torch.compile

    @functools.wraps(before)
    def compile(model: Any = None, **kwargs: Any) -> Any:
        return before(model, **kwargs | {"backend": name, "mode": None, "options": None})

    def restore() -> None:
        torch.compile = before

    torch.compile = compile
    return restore


def _show(report: Report, arguments: argparse.Namespace) -> None:
    if arguments.html:
        Path(arguments.html).write_text(render(report), encoding="utf-8", errors="backslashreplace")
    if arguments.json and arguments.json != "-":
        Path(arguments.json).write_text(report.to_json(), encoding="utf-8")
    elif arguments.json:
        print(report.to_json(), end="")
    if not arguments.quiet:
        console = err()
        console.print()
        console.print(report.__rich__())
