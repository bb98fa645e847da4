"""An exception thrown into a generator goes to the one that `yield from` waits for."""

from __future__ import annotations

import contextlib
import traceback

import pytest
import torch

import suture
from tests.harness import check


def inner(x):
    try:
        yield x.sin()
        yield x.tan()
    except ValueError:
        yield x.exp()
        return x.cos()


def outer(x):
    try:
        got = yield from inner(x)
    except KeyError:
        got = x + 1
    yield got


def test_the_inner_generator_handles_it_and_returns():
    def fn(x):
        steps = outer(x)
        return next(steps), steps.throw(ValueError()), next(steps)

    check(fn, torch.randn(4))


def test_what_the_inner_generator_does_not_handle_reaches_the_outer():
    def fn(x):
        steps = outer(x)
        return next(steps), steps.throw(KeyError())

    check(fn, torch.randn(4))


def test_closing_closes_the_inner_generator_first():
    def noting(x, log):
        try:
            yield x.sin()
        finally:
            log.append("inner")

    def around(x, log):
        try:
            yield from noting(x, log)
        finally:
            log.append("outer")

    def fn(x):
        log = []
        steps = around(x, log)
        first = next(steps)
        steps.close()
        return first, log

    check(fn, torch.randn(4))


def _elements(x):
    yield from (x, x + 1)


@pytest.mark.parametrize("started", [True, False])
def test_the_traceback_has_the_line_of_the_generator_once(started):
    def fn(x):
        steps = _elements(x)
        if started:
            next(steps)
        try:
            with contextlib.suppress(StopIteration):
                steps.throw(TypeError("thrown"))
        except TypeError as error:
            return error, x + 1
        return None, x

    def lines(error):
        found = traceback.extract_tb(error.__traceback__)
        return [(entry.name, entry.lineno) for entry in found if entry.filename == __file__]

    compiled = suture.compile(fn, backend="eager")
    for _ in range(2):
        assert lines(compiled(torch.ones(2))[0]) == lines(fn(torch.ones(2))[0])
