"""`yield from` over objects with __next__: their values, what is sent, and what they end with."""

from __future__ import annotations

import torch

from tests.harness import check


class Steps:
    def __init__(self, n):
        self.n = n
        self.got = []

    def __iter__(self):
        return self

    def __next__(self):
        if self.n == 0:
            raise StopIteration("done")
        self.n -= 1
        return self.n

    def send(self, value):
        self.got.append(value)
        return next(self)


def test_the_value_of_the_stop_is_the_value_of_yield_from():
    def inner(steps):
        ended = yield from steps
        yield ended

    def fn(x):
        out = list(inner(Steps(2)))
        return x + out[0], out

    check(fn, torch.ones(2), graphs=1)


def test_what_is_sent_reaches_the_object():
    def inner(steps):
        yield from steps

    def fn(x):
        steps = Steps(3)
        gen = inner(steps)
        first = next(gen)
        second = gen.send("hello")
        return x * first + second, steps.got

    check(fn, torch.ones(2), graphs=1)
