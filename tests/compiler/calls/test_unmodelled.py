"""Calls that only Python can make break with the number of what is called, and on what."""

from __future__ import annotations

import array
import datetime
import io
import sys
import unittest

import pytest
import torch

from suture import rules
from suture.compiler.calls import unmodelled
from suture.compiler.objects import Constant
from tests.harness import check

pause = datetime.timedelta(seconds=1)
numbers = array.array("d", [1.0, 2.0])
log = io.StringIO()
case = unittest.TestCase()


@pytest.mark.parametrize(
    ("act", "number"),
    [
        (lambda: (pause + pause) and 1, "GB2031"),
        (lambda: numbers[0], "GB2032"),
        (lambda: len(numbers), "GB2033"),
        (lambda: log.write("x"), "GB0156"),
        (lambda: sys.getrefcount(log) > 0, "GB0177"),
        (lambda: case.assertLogs() is None, "GB0060"),
    ],
)
def test_the_number_says_what_is_called(act, number):
    seen = check(
        lambda x: x.sin() * float(act()), torch.randn(4), breaks=None, graphs=None, recompiles=None
    )
    assert number in seen.numbers


def test_methods_of_events_have_a_number_of_their_own():
    real = torch.cuda.Event.synchronize
    reason = unmodelled.reason(real, rules.lookup(real), [Constant(None)])
    assert reason.number == "GB0146"


def test_a_value_that_is_thrown_away_is_not_guarded():
    import random

    def fn(x):
        y = x.sin()
        random.SystemRandom().random()
        return y + 1

    check(fn, torch.randn(4), breaks=None, graphs=None)
