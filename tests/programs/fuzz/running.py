"""One random program, plainly and compiled, compared in everything a user can see."""

from __future__ import annotations

import linecache
import sys
import types
from typing import Any

import torch

import suture
from tests.harness import Outcome, compare


def load(source: str) -> Any:
    """The module of a program, with source that tracebacks can find."""
    module = types.ModuleType("random_program")
    filename = "<random program>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    sys.modules[module.__name__] = module
    exec(compile(source, filename, "exec", dont_inherit=True), module.__dict__)
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
    """How compiled calls of a program differ from plain ones; "" if they do not."""
    fn = load(source).fn
    suture.reset()
    compiled = suture.compile(fn, backend=backend)
    for turn, (plain, ours) in enumerate(zip(arguments(), arguments())):
        want = Outcome(fn, plain, {})
        with suture.config.patch(strict=True):
            got = Outcome(compiled, ours, {})
        try:
            compare(want, got, grads=False)
        except AssertionError as error:
            return f"call {turn}: {error}"
    return ""
