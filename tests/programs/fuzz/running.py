"""One random program, plainly and compiled, compared in everything a user can see."""

from __future__ import annotations

import linecache
import sys
import traceback
import types
from typing import Any

import torch

import suture
from tests.harness import Outcome, compare, same

FILENAME = "<random program>"


def load(source: str) -> Any:
    """The module of a program, with source that tracebacks can find."""
    module = types.ModuleType("random_program")
    linecache.cache[FILENAME] = (len(source), None, source.splitlines(True), FILENAME)
    sys.modules[module.__name__] = module
    exec(compile(source, FILENAME, "exec", dont_inherit=True), module.__dict__)
    return module


def arguments() -> list[Any]:
    """The arguments of the calls, made anew each time: other numbers, a view, an empty list."""
    x = torch.tensor([0.5, -1.0, 2.0, 0.25])
    return [
        (x.clone(), x * 2, 3, [1, 2, 5]),
        (x.clone(), x * 2, 3, [1, 2, 5]),
        (x * -1, x.clone(), 2, []),
        (torch.arange(6.0)[1:5], x + 1, 4, [x.clone()]),
    ]


def differences(source: str, backend: str = "eager") -> str:
    """How compiled calls of a program differ from plain ones; "" if they do not.

    The program is loaded twice, so that each way has globals of its own. If it has a function
    `between(turn)`, that is called before each call; what `state()` gives is compared behind it;
    `given()` makes the arguments of all calls."""
    plain, ours = load(source), load(source)
    suture.reset()
    compiled = suture.compile(ours.fn, backend=backend)
    made = [getattr(module, "given", arguments)() for module in (plain, ours)]
    for turn, (left, right) in enumerate(zip(*made)):
        for module in (plain, ours):
            getattr(module, "between", int)(turn)
        want = Outcome(plain.fn, left, {})
        with suture.config.patch(strict=True):
            got = Outcome(compiled, right, {})
        try:
            compare(want, got, grads=False)
            assert trail(want.error) == trail(got.error), f"{trail(want.error)}, {trail(got.error)}"
            same(*(getattr(module, "state", int)() for module in (plain, ours)), "state")
        except AssertionError as error:
            return f"call {turn}: {error}"
        except RuntimeError:
            if _is_comparable(want):
                raise
            return ""
        for outcome in (want, got):  # now, not when a collection comes
            if outcome.error is not None:
                traceback.clear_frames(outcome.error.__traceback__)
    return ""


def _is_comparable(outcome: Outcome) -> bool:
    """Whether a result can be read at all. torch refuses a view made in inference mode whose base
    was written outside of it: such a program has nothing to compare."""
    try:
        compare(outcome, outcome, grads=False)
    except RuntimeError:
        return False
    return True


def trail(error: BaseException | None) -> Any:
    """An exception as its class, its text and notes, the lines of the program that it came through,
    and the exceptions behind it."""
    if error is None:
        return None
    lines = [
        (frame.f_code.co_name, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename == FILENAME
    ]
    if isinstance(error, UnboundLocalError):  # CPython has it in the line of the store before
        lines = [name for name, _ in lines]
    inner = [trail(e) for e in getattr(error, "exceptions", ())]
    behind = trail(error.__cause__), error.__suppress_context__, trail(error.__context__)
    notes = getattr(error, "__notes__", [])
    return type(error).__name__, str(error), notes, lines, inner, behind
