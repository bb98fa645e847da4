"""`cls.__subclasses__()` gives the classes below one as they are at each call."""

from __future__ import annotations

import torch

import suture
from tests.harness import Graphs, check


def _below(cls, found):
    for one in cls.__subclasses__():
        found.append(one.__name__)
        _below(one, found)
    return found


def test_the_classes_below_one_are_known():
    class Base:
        pass

    class First(Base):
        pass

    class Second(First):
        pass

    def fn(x):
        names, waiting = [], Base.__subclasses__()
        while waiting:
            one = waiting.pop()
            waiting += one.__subclasses__()
            names.append(one.__name__)
        return x + len(names), names, First in Base.__subclasses__()

    check(fn, torch.ones(1), ops=[["add"]])


def test_a_new_class_is_seen():
    class Base:
        pass

    def fn(x):
        return x.sin(), _below(Base, [])

    graphs = Graphs()
    compiled = suture.compile(fn, backend=graphs)
    assert compiled(torch.ones(1))[1] == []
    kept = type("Late", (Base,), {})
    assert compiled(torch.ones(1))[1] == compiled(torch.ones(1))[1] == ["Late"]
    assert len(graphs) == 2 and kept


def test_a_class_that_the_function_makes_is_seen():
    class Base:
        pass

    def fn(x):
        class Late(Base):
            pass

        return x.sin(), Late in Base.__subclasses__(), len(Base.__subclasses__()) > 0

    compiled = suture.compile(fn, backend="eager")
    for _ in range(3):
        assert compiled(torch.ones(1))[1:] == (True, True)
