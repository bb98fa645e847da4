"""What a program is traced to, region by region, for tests that look inside."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest

import suture
from suture.compiler import pipeline
from suture.compiler.plan import Retry
from tests.harness import operations


@dataclass(frozen=True)
class Region:
    """One traced region.

    ops      the operations that its trace put into the graph, in order
    guards   (kind, path of the source) in the order in which they were added, torch's state aside
    touched  the changed objects, as messages describe them, in the order of their first change
    globals  the names of the global variables that were set or deleted
    calls    the functions to call when the region ends
    exit     the capture's exit
    frames   the names of the functions in the chain at the exit, outermost first
    """

    ops: list[str]
    guards: list[tuple[str, str]]
    touched: list[str]
    globals: list[str]
    calls: list[str]
    exit: Any
    frames: list[str]

    def guarded(self, path: str) -> list[str]:
        """The kinds of the guards on one source."""
        return [kind for kind, at in self.guards if at == path]

    def paths(self, kind: str) -> list[str]:
        """The sources with a guard of one kind."""
        return [path for found, path in self.guards if found == kind]


def regions(fn: Any, *args: Any, **options: Any) -> list[Region]:
    """The regions that one call of `fn` is traced to, in order."""
    return _call(fn, args, options)[0]


def region(fn: Any, *args: Any, **options: Any) -> Region:
    """The only region of a call."""
    (found,) = regions(fn, *args, **options)
    return found


def variants(fn: Any, *args: Any, **options: Any) -> list[list[str]]:
    """The bodies of the variants that one call of `fn` is compiled to, in the order of their
    points. Lines that every variant has around a call of a graph or of Python are left out, and
    numbers of lines and offsets of instructions."""
    source = suture.code(_call(fn, args, options)[1])
    texts = [line.strip() for line in source.splitlines() if line.strip()]
    found: list[list[str]] = []
    for text in texts:
        if text.startswith("def "):
            found.append([])
        elif not text.startswith(("#", *AROUND)):
            found[-1].append(_NUMBERS.sub(r"\1", text))
    return found


def variant(fn: Any, *args: Any, **options: Any) -> list[str]:
    """The body of the only variant of a call."""
    (found,) = variants(fn, *args, **options)
    return found


AROUND = ("try:", "except BaseException", "return failed(", "clean_traceback(", "add_traceback(")
_NUMBERS = re.compile(r"\b(point|at|line|leave\()[_ ]?(?:\d+|None)(?:, (?=unbound))?")


def _call(fn: Any, args: Any, options: Any) -> tuple[list[Region], Any]:
    suture.reset()
    found: list[Region] = []
    finish = pipeline.finish_capture

    def look(miss: Any, plan: Any, capture: Any) -> Any:
        found.append(_seen(capture))
        done = finish(miss, plan, capture)
        if isinstance(done, Retry):
            found.pop()
        return done

    compiled = suture.compile(fn, backend="eager", **options)
    with pytest.MonkeyPatch.context() as patch, suture.config.patch(strict=True):
        patch.setattr(pipeline, "finish_capture", look)
        compiled(*args)
    return found, compiled


def _seen(capture: Any) -> Region:
    effects = capture.effects
    return Region(
        ops=operations(capture.graph.graph),
        guards=[
            (guard.kind, guard.source.path() if guard.source is not None else "")
            for guard in capture.guards.entries
            if guard.kind != "torch_state"
        ],
        touched=[value.describe() for value in effects.touched.values()],
        globals=[name for _, name in effects.globals],
        calls=[fn.__name__ for fn, _, _ in effects.calls],
        exit=capture.exit,
        frames=[frame.code.code.co_name for frame in capture.frames],
    )
