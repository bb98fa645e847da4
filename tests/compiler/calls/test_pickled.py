"""pickle.dumps of constants is known while tracing."""

from __future__ import annotations

import functools
import pickle

import torch

from tests.harness import check


def cached(method):
    """A decorator that keys a cache by the pickled arguments."""

    @functools.wraps(method)
    def wrapper(self, **named):
        key = (method.__name__, pickle.dumps(named))
        if key not in self.cache:
            self.cache[key] = method(self, **named)
        return self.cache[key]

    return wrapper


class Kernel:
    def __init__(self, x):
        self.x, self.cache = x, {}

    @cached
    def value(self, diagonal=False):
        return self.x.diagonal() if diagonal else self.x.sin()


def test_a_cache_keyed_by_arguments():
    def fn(kernel):
        first = kernel.value(diagonal=True) + kernel.value().sum()
        return first * kernel.value(diagonal=True), kernel.x, len(kernel.cache)

    graphs = check(fn, make=lambda: (Kernel(torch.randn(3, 3)),))
    assert graphs.ops() == [["diagonal", "sin", "sum", "add", "mul"]]


def test_the_bytes_are_those_of_python():
    def fn(x, mode, sizes):
        return x.sin(), pickle.dumps({"mode": mode, 3: [sizes, (1.5, None, True), b"y", ()]})

    check(fn, torch.ones(2), "sum", (2, 3), ops=[["sin"]])


def test_what_may_be_one_object_or_two_is_left_to_python():
    def equal_texts(x, a, b):
        return x.sin(), pickle.dumps([a, b])

    def one_list_twice(x, a):
        return x.sin(), pickle.dumps((a, a))

    one, other = "".join(["p", "q"]), "".join(["p", "q"])
    check(equal_texts, torch.ones(2), one, other, breaks=["GB0177"], graphs=1)
    check(equal_texts, torch.ones(2), one, one, breaks=["GB0177"], graphs=1)
    check(one_list_twice, torch.ones(2), [1], breaks=["GB0177"], graphs=1)


def test_a_tensor_is_left_to_python():
    check(lambda x: len(pickle.dumps({"x": x})) > 9, torch.ones(2), breaks=None, graphs=None)
