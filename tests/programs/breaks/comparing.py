"""Running a module's `fn` in eager and compiled, and comparing all that a user can see of it,
the lines of tracebacks included."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

import suture
from tests.harness import Graphs, same


def load(path: Path, text: str, name: str) -> ModuleType:
    """A fresh module of this text."""
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class Seen:
    """What one call did: result, exception with its lines and its chain, log, stdout, modes."""

    def __init__(self, fn: Any, log: list[Any], args: Any) -> None:
        log.clear()
        self.result: Any = None
        self.error: Any = None
        self.raised: BaseException | None = None
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            try:
                self.result = fn(*args)
            except BaseException as error:
                self.raised = error
                self.error = describe(error)
        self.stdout = out.getvalue()
        self.log = list(log)
        self.exc_info = sys.exc_info()
        self.modes = (
            torch.is_grad_enabled(),
            torch.is_inference_mode_enabled(),
            torch.is_autocast_enabled("cpu"),
        )


def describe(error: BaseException | None, depth: int = 0) -> Any:
    """An exception, what it carries, and the lines it passed; without the caller's own frame."""
    if error is None or depth > 6:
        return None
    lines = [
        (frame.filename, frame.lineno, frame.name)
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.endswith(("comparing.py", "marks.py"))
        and "site-packages" not in frame.filename
    ]
    group = getattr(error, "exceptions", ())
    return {
        "type": type(error).__name__,
        "args": repr(error.args),
        "lines": lines,
        "cause": describe(error.__cause__, depth + 1),
        "context": describe(error.__context__, depth + 1),
        "suppress": error.__suppress_context__,
        "group": [describe(e, depth + 1) for e in group],
    }


def check_program(
    fn: Any,
    *args: Any,
    log: list[Any] | None = None,
    calls: int = 3,
    interpreted: int = 0,
    graphs: int | None = None,
    recompiles: bool = False,
    more: list[Any] | None = None,
    **options: Any,
) -> Graphs:
    """Call `fn` plainly and compiled; require the same, no frame finished in the interpreter, and
    that the last call compiles nothing. `more`: other arguments for the last call."""
    log = [] if log is None else log
    suture.reset()
    recorder = Graphs()
    compiled = suture.compile(fn, backend=recorder, **options)
    for turn in range(calls):
        args = more if more is not None and turn == calls - 1 else args
        eager = Seen(fn, log, clone(args))
        before = suture.stats().variants
        with suture.config.patch(strict=True):
            ours = Seen(compiled, log, clone(args))
        compare(eager, ours)
        if turn == calls - 1 and not recompiles:
            assert suture.stats().variants == before, suture.stats().recompilations
    stats = suture.stats()
    assert len(stats.interpreted) == interpreted, stats.interpreted
    if graphs is not None:
        assert len(recorder) == graphs, f"{len(recorder)} graphs, expected {graphs}"
    return recorder


def clone(args: Any) -> list[Any]:
    return [a.clone() if isinstance(a, torch.Tensor) else a for a in args]


def compare(eager: Seen, ours: Seen) -> None:
    if eager.error != ours.error:
        text = "".join(traceback.format_exception(ours.raised)) if ours.raised else "no exception"
        wanted = "".join(traceback.format_exception(eager.raised)) if eager.raised else "none"
        raise AssertionError(f"exceptions differ\nours:\n{text}\neager:\n{wanted}")
    same(eager.result, ours.result, "result")
    same(eager.log, ours.log, "log")
    assert eager.stdout == ours.stdout
    assert eager.modes == ours.modes
    assert eager.exc_info == ours.exc_info == (None, None, None)
