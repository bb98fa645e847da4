"""Who wants to know is told when compiled code is entered from outside."""

from __future__ import annotations

import threading

import pytest
from core_under_test import core


def identity(x):
    return x


def compiled_with(variant):
    point = core.Point("identity", lambda point, state: pytest.fail("no variant fits"))
    point.add(variant)
    return core.Compiled(identity, point)


@pytest.fixture
def calls():
    told = []
    before = core.set_outermost_callback(lambda: told.append(core.hook_active()))
    yield told
    core.set_outermost_callback(before)


def test_each_call_from_outside_is_told_once(calls):
    inner = compiled_with(lambda fn, x: x + 1)
    outer = compiled_with(lambda fn, x: inner(inner(x)))
    assert outer(1) == 3
    assert calls == [False]
    assert inner(1) == 2 and outer(1) == 3
    assert calls == [False] * 3


def test_a_call_that_raised_is_over(calls):
    def fail(fn, x):
        raise KeyError(x)

    failing = compiled_with(fail)
    for _ in range(2):
        with pytest.raises(KeyError):
            failing(1)
    assert len(calls) == 2


def test_threads_have_calls_of_their_own(calls):
    inner = compiled_with(lambda fn, x: x + 1)

    def variant(fn, x):
        thread = threading.Thread(target=inner, args=(x,))
        thread.start()
        thread.join()
        return inner(x)

    assert compiled_with(variant)(1) == 2
    assert len(calls) == 2


def test_errors_of_who_is_told_are_reported_and_dropped(monkeypatch):
    reported = []
    monkeypatch.setattr("sys.unraisablehook", lambda args: reported.append(args.exc_type))

    def fail():
        raise OSError

    before = core.set_outermost_callback(fail)
    try:
        assert compiled_with(lambda fn, x: x)(5) == 5
    finally:
        assert core.set_outermost_callback(before) is fail
    assert reported == [OSError]
    with pytest.raises(TypeError):
        core.set_outermost_callback(3)
