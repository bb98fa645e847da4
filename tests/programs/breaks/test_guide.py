"""The nine programs of torch.compile's guide on skipped functions: suture skips none of them."""

from __future__ import annotations

import contextlib

import torch

import suture
from tests.programs.breaks.comparing import check_program

X = torch.ones(3)


def count(recorder, op="add"):
    """How often an operation stands in the graphs."""
    nodes = [node for module in recorder.modules for node in module.graph.nodes]
    return sum(op in str(getattr(node.target, "__name__", node.target)) for node in nodes)


class CustomCtxManager:
    def __init__(self):
        self.x = 0

    def __enter__(self):
        self.x += 1
        return self.x

    def __exit__(self, kind, value, traceback):
        self.x -= 1


def test_a_skipped_frame_calls_compiled_functions():
    def inner1(x):
        return x + 1

    def inner2(x):
        return x * 2

    def fn(x):
        x = inner1(x)
        suture.skip_frame()
        x = x - 1
        return inner2(x)

    recorder = check_program(fn, X)
    assert count(recorder, "add") == 1
    assert count(recorder, "mul") == 1
    assert count(recorder, "sub") == 0


def test_b_break_in_a_loop():
    def fn(x):
        for i in range(5):
            x = x + 1
            if i == 3:
                suture.graph_break()
        return x

    assert count(check_program(fn, X)) == 5


def test_c_break_in_calls_that_change_a_nonlocal():
    def fn(x):
        def inner(i):
            nonlocal x
            x = x + 1
            if i == 3:
                suture.graph_break()

        inner(0)
        inner(1)
        inner(2)
        inner(3)
        inner(4)
        return x

    assert count(check_program(fn, X)) == 5


def test_d_break_in_a_users_manager():
    def fn(x):
        with CustomCtxManager():
            x = x + 1
            suture.graph_break()
            return x + 1

    assert count(check_program(fn, X, graphs=2)) == 2


def test_e_break_between_two_managers():
    def fn(x):
        with CustomCtxManager():
            x = x + 1
        suture.graph_break()
        with CustomCtxManager():
            return x + 1

    assert count(check_program(fn, X, graphs=2)) == 2


def test_f_break_under_managers_of_libraries():
    def fn(x):
        with contextlib.nullcontext(), torch.no_grad():
            x = x + 1
            suture.graph_break()
            return x + 1

    assert count(check_program(fn, X, graphs=2)) == 2


def test_g_break_in_try():
    def fn(x):
        try:
            x = x + 1
            suture.graph_break()
            return x + 1
        except Exception:
            pass

    assert count(check_program(fn, X, graphs=2)) == 2


def test_h_break_between_two_tries():
    def fn(x):
        try:
            x = x + 1
        except Exception:
            pass
        suture.graph_break()
        try:
            return x + 1
        except Exception:
            pass

    assert count(check_program(fn, X, graphs=2)) == 2


def test_i_skipped_frame_in_a_nested_function():
    def fn(x):
        def problematic_code():
            suture.skip_frame()
            return x * 5

        x = x + 1
        problematic_code()
        return x + 1

    recorder = check_program(fn, X)
    assert count(recorder) == 2
    assert count(recorder, "mul") == 0
