"""Operators without a kernel for some dtype are refused where they stand: Python raises there."""

from __future__ import annotations

import traceback

import pytest
import torch

import suture
from tests.harness import Outcome, check, compare

REFUSED = {
    "a bitwise operator of floats": lambda f, i, b: f | 1,
    "one in place": lambda f, i, b: f.__ior__(1),
    "one of two dtypes": lambda f, i, b: i & f,
    "one of one operand": lambda f, i, b: ~f,
    "rounding of truth values": lambda f, i, b: b.round(),
    "a magnitude of truth values": lambda f, i, b: b.abs(),
    "a function of floats": lambda f, i, b: torch.hypot(i, b),
    "what is added at an index": lambda f, i, b: i.index_add_(0, torch.tensor([0]), f[:1]),
    "where truth is greatest": lambda f, i, b: b.argmax(),
}
TAKEN = {
    "a bitwise operator": lambda f, i, b: (i | b, i & 1, ~b, b ^ b),
    "functions of integers": lambda f, i, b: (i.abs(), i.round(), i // 2, i % 2, i.float().round()),
    "what is added at an index": lambda f, i, b: i.index_add_(0, torch.tensor([0]), i[:1].clone()),
    "where a number is greatest": lambda f, i, b: (i.argmax(), f.argmin()),
    "a condition": lambda f, i, b: (torch.where(b, i, f), i.clamp(0, 1), f.masked_fill(b, 2)),
}


def given():
    return torch.tensor([1.5, -2.5]), torch.tensor([3, -4]), torch.tensor([True, False])


def lines(error):
    """The lines of this file that an exception came through, and its notes."""
    found = [line for frame, line in traceback.walk_tb(error.__traceback__) if is_here(frame)]
    return found, getattr(error, "__notes__", [])


def is_here(frame):
    return frame.f_code.co_filename == __file__


@pytest.mark.parametrize("operation", REFUSED.values(), ids=REFUSED)
def test_an_operator_is_refused_behind_a_write(operation):
    """The traceback has its line, and what stands behind it has not happened."""

    def fn(f, i, b):
        f += 1
        made = operation(f, i, b)
        f += 1
        return made

    plain, ours = (Outcome(call, given(), {}) for call in (fn, suture.compile(fn, backend="eager")))
    compare(plain, ours, grads=False)
    assert lines(plain.error) == lines(ours.error)


@pytest.mark.parametrize("operation", TAKEN.values(), ids=TAKEN)
def test_an_operator_is_taken(operation):
    check(lambda f, i, b: operation(f, i, b), make=given)
