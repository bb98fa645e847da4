"""What the interpreter makes of Python: the operations of the graphs, and how regions end."""

from __future__ import annotations

import math

import pytest
import torch

import suture
from suture.compiler.capture import Interpret, Return, Run
from tests.compiler.regions import region, regions
from tests.harness import check

X = torch.ones(3)


class Base:
    def step(self, x):
        return x.sin()


class Derived(Base):
    def step(self, x):
        return super().step(x).cos()

    def __add__(self, other):
        return other.neg()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False


def test_a_loop_is_unrolled_turn_by_turn():
    def fn(x):
        for i in range(3):
            x = x.sin() if i % 2 else x.cos()
        return x

    check(fn, X, ops=[["cos", "sin", "cos"]])


def test_the_else_of_a_loop_and_what_a_break_statement_skips():
    def fn(x):
        for i in (1, 2, 3):
            if i == 2:
                break
            x = x.sin()
        else:
            x = x.exp()
        while True:
            x = x.cos()
            break
        else:
            x = x.exp()
        return x

    check(fn, X, ops=[["sin", "cos"]])


def test_try_except_else_finally():
    def fn(x, fails):
        try:
            x = x.sin()
            if fails:
                raise ValueError("no")
            x = x.exp()
        except ValueError:
            x = x.cos()
        else:
            x = x.log()
        finally:
            x = x.neg()
        return x

    check(fn, X, True, ops=[["sin", "cos", "neg"]])
    check(fn, X, False, ops=[["sin", "exp", "log", "neg"]])


def test_a_manager_and_super():
    def fn(x):
        with Derived() as derived:
            return derived.step(x)

    check(fn, X, ops=[["sin", "cos"]])


def test_an_operator_of_a_class_is_its_method():
    check(lambda x: Derived() + x, X, ops=[["neg"]])


def test_a_generator_runs_when_it_is_asked():
    def fn(x):
        def made():
            yield x.sin()
            yield x.cos()

        parts = made()
        x = x.neg()
        return next(parts) - next(parts) - x

    check(fn, X, ops=[["neg", "sin", "cos", "sub", "sub"]])


def test_a_match_statement_takes_one_case():
    def fn(x, value):
        match value:
            case {"op": "sin"}:
                return x.sin()
            case [a, b]:
                return x * a + b
            case _:
                return x.cos()

    check(fn, X, {"op": "sin"}, ops=[["sin"]])
    check(fn, X, [2, 3], ops=[["mul", "add"]])
    check(fn, X, "else", ops=[["cos"]])


def test_numbers_are_computed_while_tracing():
    check(lambda x: x * (2 * 3 + math.floor(1.5)), X, ops=[["mul"]])


def test_arguments_are_evaluated_from_left_to_right():
    def fn(x):
        def take(*args, **kwargs):
            return args[1] + kwargs["k"]

        return take(x.sin(), x.cos(), k=x.neg())

    check(fn, X, ops=[["sin", "cos", "neg", "add"]])


def test_a_deleted_local_is_unbound():
    def fn(x):
        y = x.sin()
        del y
        try:
            return y  # noqa: F821
        except UnboundLocalError:
            return x.cos()

    check(fn, X, ops=[["sin", "cos"]])


@pytest.mark.parametrize(("flag", "op"), [(True, "sin"), (0, "cos"), ("", "cos"), ([1], "sin")])
def test_the_truth_of_what_is_known_takes_one_branch(flag, op):
    check(lambda x, f: x.sin() if f else x.cos(), X, flag, ops=[[op]])


def test_a_break_three_calls_deep_makes_one_graph_of_the_rest():
    def inner(x):
        y = x.exp()
        suture.graph_break()
        return y.log()

    def middle(x):
        return inner(x.sin()).cos()

    def outer(x):
        return middle(x).neg()

    first, second = regions(outer, X)
    assert (first.ops, second.ops) == (["sin", "exp"], ["log", "cos", "neg"])
    assert first.frames == ["outer", "middle", "inner"]
    assert second.frames == ["outer"]
    assert (type(first.exit), type(second.exit)) == (Run, Return)


def test_the_instruction_that_breaks_is_the_one_python_runs():
    def fn(x):
        y = x.sin()
        if y.sum():
            return y.cos()
        return y.neg()

    first, second = regions(fn, X)
    assert first.ops == ["sin", "sum"]
    assert isinstance(first.exit, Run)
    assert first.exit.inst.op.startswith("POP_JUMP_IF") or first.exit.inst.op == "TO_BOOL"
    assert first.exit.reason.number == "GB0170"
    assert second.ops == ["cos"]


def test_a_break_in_an_argument_keeps_what_is_on_the_stack():
    def broken():
        suture.graph_break()
        return 2

    def fn(x):
        return (x.sin(), x.cos() * broken())

    first, second = regions(fn, X)
    assert (first.ops, second.ops) == (["sin", "cos"], ["mul"])


def test_an_exception_that_nobody_handles_interprets_the_frame():
    def fn(x):
        y = x.sin()
        raise KeyError(len(y.shape))

    with pytest.raises(KeyError):
        region(fn, X)
    check(fn, X, graphs=None, interpreted=None)


def test_an_exception_crosses_frames_to_its_handler():
    def inner(x):
        x.sin()
        raise KeyError("k")

    def fn(x):
        try:
            return inner(x)
        except LookupError:
            return x.cos()

    found = region(fn, X)
    assert found.frames == ["fn"]
    assert isinstance(found.exit, Return)
    check(fn, X, ops=[["sin", "cos"]])


def test_a_call_that_meets_no_tensor_is_left_out_as_a_whole():
    def note(n):
        for _ in range(n):
            suture.graph_break()

    def fn(x):
        y = x.sin()
        note(2)
        return y.cos()

    first, second = regions(fn, X)
    assert (first.ops, second.ops) == (["sin"], ["cos"])
    assert first.frames == ["fn"]
    assert not isinstance(first.exit, Interpret)
