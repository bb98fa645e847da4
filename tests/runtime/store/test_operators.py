"""Graphs that call operators of the program are kept while what was traced of them is the same."""

from __future__ import annotations

import sys
import types

import pytest
import torch

import suture
from suture.runtime.store.literals import Unstorable
from suture.runtime.store.operators import operator_digest

X = torch.arange(6.0).reshape(2, 3)

OPERATOR = """
TIMES = 1
def rows(x):
    return x.shape[0] * TIMES
@torch.library.custom_op("suture_kept::scaled", mutates_args=())
def scaled(x: torch.Tensor, by: float) -> torch.Tensor:
    return torch.cat([x] * TIMES) * by
@scaled.register_fake
def _(x, by):
    return x.new_empty(rows(x), *x.shape[1:])
def keep(ctx, inputs, output):
    ctx.by = inputs[1]
def back(ctx, grad):
    return grad[:2] * ctx.by * TIMES, None
scaled.register_autograd(back, setup_context=keep)
def fn(x):
    y = scaled(x, 2.0)
    return y + y.shape[0], torch.ops.suture_kept.scaled(x, 3.0)
"""
# What tracing sees of the operator, each changed as one might change it between two starts.
OTHERS = {
    "the function of its shape": ("return x.new_empty(rows(x)", "return x.new_zeros(rows(x)"),
    "a function that this one calls": ("return x.shape[0] * TIMES", "return TIMES * x.shape[0]"),
    "a number that they name": ("TIMES = 1", "TIMES = 2"),
    "its derivative": ("grad[:2] * ctx.by * TIMES", "TIMES * grad[:2] * ctx.by"),
    "what its derivative keeps": ("ctx.by = inputs[1]", "ctx.by = inputs[-1]"),
}


_PROGRAMS = []


@pytest.fixture(autouse=True)
def programs_that_stay(cache, monkeypatch):
    """An operator that is freed takes its name with it, also from one that was defined since. Each
    process has one program; here they are many, and none is freed."""
    load = cache.load

    def loaded(text):
        _PROGRAMS.append(load(text))
        return _PROGRAMS[-1]

    monkeypatch.setattr(cache, "load", loaded)


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_operators_are_called_by_name(cache, backend):
    assert cache.run(OPERATOR, (X,), backend=backend) == (0, 1), cache.lines
    assert cache.run(OPERATOR, (X,), backend=backend) == (1, 0), cache.lines
    another = OPERATOR.replace("* TIMES) * by", "* TIMES) * (by + 1)")
    assert cache.run(another, (X,), backend=backend) == (1, 0), cache.lines  # its kernel alone


@pytest.mark.parametrize("what", OTHERS)
def test_a_graph_is_not_used_if_what_was_traced_is_another(cache, what):
    cache.run(OPERATOR, (X,))
    text = OPERATOR.replace(*OTHERS[what])
    assert text != OPERATOR
    assert cache.run(text, (X,)) == (0, 1), cache.lines
    assert any("is made of other code" in line for line in cache.lines)


WRAPPED = """
import functools
@functools.wraps(torch.empty_like)
def like(x):
    return torch.empty_like(x, dtype=torch.float32)
"""


def test_a_function_that_takes_the_name_of_another_is_looked_into(cache):
    text = WRAPPED + OPERATOR.replace("return x.new_empty(rows(x), *x.shape[1:])", "return like(x)")
    cache.run(text, (X,))
    text = text.replace("dtype=torch.float32)", "dtype=torch.float32, device=x.device)")
    assert cache.run(text, (X,)) == (0, 1), cache.lines


def test_modules_in_modules_are_looked_into(cache, monkeypatch):
    helper, package = types.ModuleType("suture_helper"), types.ModuleType("suture_package")
    package.helper = helper
    monkeypatch.setitem(sys.modules, "suture_package", package)
    text = "import suture_package\n" + OPERATOR.replace(
        "new_empty(rows(x)", "new_empty(suture_package.helper.ROWS"
    )
    helper.ROWS = 2
    cache.run(text, (X,))
    assert cache.run(text, (X,)) == (1, 0), cache.lines
    helper.ROWS = 4
    assert cache.run(text.replace("[x] * TIMES", "[x] * 2 * TIMES"), (X,))[0] == 0, cache.lines


def test_a_function_that_imports_when_it_runs_is_told(cache, monkeypatch):
    helper = types.ModuleType("suture_helper")
    helper.rows = lambda x: x.shape[0]
    monkeypatch.setitem(sys.modules, "suture_helper", helper)
    text = OPERATOR.replace(
        "    return x.new_empty", "    from suture_helper import rows\n    return x.new_empty"
    )
    assert cache.run(text, (X,)) == (0, 0)
    assert any("imports 'suture_helper'" in line for line in cache.lines), cache.lines


def test_an_operator_that_is_gone(cache):
    cache.run(OPERATOR, (X,))
    with pytest.raises(LookupError, match=r"no operator torch\.ops\.suture_kept\.nothing"):
        operator_digest("suture_kept.nothing")


def test_operators_of_which_it_cannot_be_told(cache):
    with torch.library._scoped_library("suture_loose", "DEF") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * 2, "CompositeExplicitAutograd")
        program = "def fn(x):\n    return torch.ops.suture_loose.twice(x) + 1\n"
        assert cache.run(program, (X,)) == (0, 0)
        assert any("custom_op has not made it" in line for line in cache.lines), cache.lines


def test_what_a_function_names_and_is_no_function_is_told():
    suture.reset()
    state = {"rows": 2}
    op = torch.library.custom_op(
        "suture_kept::rows", lambda x: x + 0, mutates_args=(), schema="(Tensor x) -> Tensor"
    )
    op.register_fake(lambda x: x.new_empty(state["rows"]))
    with pytest.raises(Unstorable, match=r"names an object of builtins\.dict"):
        operator_digest("suture_kept.rows.default")
