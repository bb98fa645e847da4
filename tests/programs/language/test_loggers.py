"""Levels of loggers, which compiled code asks while it is traced."""

from __future__ import annotations

import logging

import pytest
import torch

from tests.harness import check

PARENT = logging.getLogger("suture_tests.levels")
CHILD = logging.getLogger("suture_tests.levels.child")


@pytest.fixture(autouse=True)
def levels():
    """Each test starts with the levels as they were, and without remembered answers."""
    PARENT.setLevel(logging.DEBUG)
    yield
    PARENT.setLevel(logging.NOTSET)


def test_a_level_that_the_function_sets_on_the_logger_above_counts():
    def fn(x):
        PARENT.level = logging.ERROR
        CHILD._cache.clear()
        on = CHILD.isEnabledFor(logging.INFO)
        PARENT.level = logging.DEBUG
        CHILD._cache.clear()
        return x.sin() if on else x.cos()

    check(fn, torch.ones(2), graphs=None, breaks=None, recompiles=None)


def test_asking_for_a_level_is_in_the_graph():
    def fn(x):
        return x.sin() if CHILD.isEnabledFor(logging.INFO) else x.cos()

    check(fn, torch.ones(2), ops=[["sin"]])
    PARENT.setLevel(logging.ERROR)
    check(fn, torch.ones(2), ops=[["cos"]])


def test_tracing_and_guards_leave_no_answers_in_the_loggers():
    import suture

    compiled = suture.compile(
        lambda x: x.sin() if CHILD.isEnabledFor(logging.INFO) else x.cos(), backend="eager"
    )
    assert CHILD._cache == {}
    for _ in range(2):
        compiled(torch.ones(2))
    assert CHILD._cache == {}
    PARENT.level = logging.ERROR  # nothing tells the loggers below it
    torch.testing.assert_close(compiled(torch.ones(2)), torch.ones(2).cos())
