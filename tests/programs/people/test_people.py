"""Programs of the kinds people write, called several times with other arguments, next to eager."""

from __future__ import annotations

import gc
import importlib

import numpy
import pytest
import torch

import suture
from tests.harness import Outcome, compare
from tests.programs.people.registry import PROGRAMS

KINDS = (
    "training",
    "learning",
    "text",
    "language",
    "library",
    "objects",
    "caches",
    "tensors",
    "derivatives",
    "decoding",
    "statements",
    "optimizing",
    "modules",
    "models",
    "corners",
    "protocols",
    "tools",
    "pipelines",
    "worlds",
    "tables",
    "builtin_parts",
)
for kind in KINDS:
    importlib.import_module(f"tests.programs.people.{kind}")


def outcomes(make, compiler):
    """What each call of a new copy of the program does."""
    torch.manual_seed(0)
    numpy.random.seed(0)
    fn, calls, *between = make()
    called = compiler(fn) if compiler else fn
    found = []
    for seed, args in enumerate(calls):
        for change in between:
            change(seed)
        found.append(Outcome(called, args, {}, seed))
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", PROGRAMS, ids=lambda make: make.__name__)
def test_a_program_does_what_it_does_in_eager(make):
    gc.disable()  # what a program frees, it frees at the same place in both
    try:
        plain = outcomes(make, None)
        ours = outcomes(make, lambda fn: suture.compile(fn, backend="eager"))
    finally:
        gc.enable()
    for eager, compiled in zip(plain, ours, strict=True):
        compare(eager, compiled, grads=False)
