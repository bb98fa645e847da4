"""print() of values that are known does not end a graph."""

from __future__ import annotations

import contextlib
import io

import torch

from tests.harness import check


def test_prints_of_settled_values_are_put_back_in_order():
    def fn(x):
        print("shape", x.shape, x.dtype, sep=": ")
        y = x.sin()
        for i in range(2):
            print(f"turn {i}", end=";")
        return y + 1

    check(fn, torch.randn(4))


def test_a_print_before_a_break_comes_before_it():
    def fn(x):
        print("before")
        y = x.sin()
        print(y.sum() > 100)
        print("behind")
        return y

    check(fn, torch.randn(4), breaks=("GB0059",), graphs=1)


def test_a_list_is_printed_as_it_is_at_that_moment():
    def fn(x):
        log = [1]
        print(log)
        log.append(2)
        return x + len(log)

    check(fn, torch.randn(4), breaks=("GB0059",), graphs=1)


def test_nothing_is_printed_twice_when_the_function_raises():
    def fn(x):
        print("once")
        raise ValueError("no")

    check(fn, torch.randn(4), graphs=0, breaks=None, interpreted=None)


def test_what_is_printed_while_stdout_is_redirected_goes_there():
    def fn(x, out):
        with contextlib.redirect_stdout(out):
            print("inside")
            y = x + 1
        print("outside")
        return y, out.getvalue()

    make = lambda: (torch.ones(2), io.StringIO())  # noqa: E731
    check(fn, make=make, graphs=None, breaks=None, recompiles=None)
