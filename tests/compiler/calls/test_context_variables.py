"""contextvars.ContextVar inside of a region: read, set, reset, and what operations see of it."""

from __future__ import annotations

import contextvars
import sys
import types

import pytest
import torch

import suture
from tests.harness import check

X = torch.randn(4)
LEVEL = contextvars.ContextVar("level", default=1)
UNSET = contextvars.ContextVar("unset")


def state():
    return LEVEL.get(None), UNSET.get(None)


def read(x):
    return x * LEVEL.get(), UNSET.get("nothing"), LEVEL.get("nothing"), LEVEL.name


def block(x):
    token = LEVEL.set(3)
    try:
        y = x * LEVEL.get()
    finally:
        LEVEL.reset(token)
    return y, LEVEL.get("unset again"), token.old_value is token.MISSING


def nested(x):
    outer = UNSET.set(True)
    inner = UNSET.set(1)
    seen = [UNSET.get(), inner.old_value, inner.var is UNSET]
    UNSET.reset(inner)
    seen.append(UNSET.get())
    UNSET.reset(outer)
    return x + 1, seen, UNSET.get("nothing")


@pytest.mark.parametrize("fn", [read, block, nested])
def test_no_break(fn):
    before = state()
    check(fn, X)
    assert state() == before


def test_a_value_that_changes_is_seen():
    compiled = suture.compile(read, backend="eager")
    for value in (2, 5, 2):
        token = LEVEL.set(value)
        assert compiled(X)[2] == value
        assert torch.equal(compiled(X)[0], X * value)
        LEVEL.reset(token)
    assert compiled(X)[2] == "nothing"


def test_what_is_not_reset_stays():
    def fn(x):
        LEVEL.set(7)
        return x + 1

    def run(one):
        one(X)
        return LEVEL.get()

    compiled = suture.compile(fn, backend="eager")
    for _ in range(2):
        assert contextvars.copy_context().run(run, compiled) == 7
    assert LEVEL.get(None) is None


def test_true_and_one_are_two_values():
    def fn(x):
        LEVEL.set(1)
        return x + 1

    def run(one):
        LEVEL.set(True)
        one(X)
        return LEVEL.get()

    left = contextvars.copy_context().run(run, suture.compile(fn, backend="eager"))
    assert (type(left), left) == (int, 1)


def test_a_token_that_leaves_is_made_by_python():
    def fn(x):
        y = x + 1
        return LEVEL.set(4), y * LEVEL.get()

    compiled = suture.compile(fn, backend="eager")
    for _ in range(2):
        token, y = compiled(X)
        assert LEVEL.get() == 4 and torch.equal(y, (X + 1) * 4)
        LEVEL.reset(token)
        assert LEVEL.get(None) is None


def test_a_break_inside_of_the_block():
    def fn(x):
        token = LEVEL.set(3)
        print(LEVEL.get())
        y = x * LEVEL.get()
        LEVEL.reset(token)
        return y

    check(fn, X, graphs=None, breaks=None)
    assert LEVEL.get(None) is None


def test_an_exception_leaves_the_variable_as_it_was():
    def fn(x):
        token = LEVEL.set(3)
        try:
            return x.reshape(3, 3)
        finally:
            LEVEL.reset(token)

    check(fn, X, graphs=None, breaks=None)
    assert LEVEL.get(None) is None


def test_an_operation_written_in_python_reads_it():
    @torch.library.custom_op("suture_tests::level", mutates_args=())
    def level(x: torch.Tensor) -> torch.Tensor:
        return x * LEVEL.get()

    @level.register_fake
    def _(x):
        return torch.empty_like(x)

    def fn(x):
        token = LEVEL.set(3)
        y = level(x)
        LEVEL.reset(token)
        return y, level(x)

    check(fn, X)


def test_values_that_are_no_constants():
    def fn(x):
        token = LEVEL.set(x + 1)
        y = LEVEL.get() * 2
        LEVEL.reset(token)
        return y

    check(fn, X, graphs=None, breaks=None)
    assert LEVEL.get(None) is None


def test_two_uses_of_a_token():
    def fn(x):
        token = LEVEL.set(2)
        LEVEL.reset(token)
        try:
            LEVEL.reset(token)
        except RuntimeError:
            return x + 1
        return x

    check(fn, X, graphs=None, breaks=None)


@pytest.mark.skipif(sys.version_info < (3, 14), reason="tokens are context managers since 3.14")
def test_a_token_as_a_context_manager():
    made = types.ModuleType("made")
    made.LEVEL = LEVEL
    lines = ("def fn(x):", " with LEVEL.set(3):", "  y = x * LEVEL.get()", " return y, LEVEL.get()")
    exec("\n".join(lines), made.__dict__)
    check(made.fn, X)
