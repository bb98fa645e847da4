"""Random programs do compiled what they do plainly, in everything a user can see.

`SUTURE_FUZZ=5000` runs that many; a failure prints the program.
"""

from __future__ import annotations

import linecache
import os
import sys
import types
from typing import Any

import torch
from hypothesis import HealthCheck, given, note, settings

import suture
from tests.harness import check
from tests.programs.language.programs import programs

COUNT = int(os.environ.get("SUTURE_FUZZ", "300"))


def load(source: str) -> Any:
    """The function of a program, with source that tracebacks can find."""
    module = types.ModuleType("random_program")
    filename = "<random program>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    sys.modules[module.__name__] = module
    exec(compile(source, filename, "exec", dont_inherit=True), module.__dict__)
    return module


def run(source: str) -> None:
    module = load(source)
    args = (torch.tensor([0.5, -1.0, 2.0]), 3, [1, 2, 5], {"a": 1, "b": 4}, module.Box(1))
    check(module.fn, *args, graphs=None, breaks=None, recompiles=None, interpreted=None)
    suture.reset()


@settings(
    max_examples=COUNT,
    deadline=None,
    derandomize=COUNT == 300,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(programs())
def test_random_programs(source):
    note(source)
    run(source)
