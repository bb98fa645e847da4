"""Classes that the program changes between two calls: what is found in them is guarded."""

from __future__ import annotations

import pytest
import torch

import suture
from tests.harness import Graphs


class First:
    def scaled(self, x):
        return x


class Between(First):
    pass


class Other(First):
    def scaled(self, x):
        return x * 5


class Last(Between):
    def scaled(self, x):
        return super().scaled(x) + 100


def test_a_class_between_gets_a_method_of_its_own(monkeypatch):
    last = Last()
    compiled = suture.compile(lambda x: last.scaled(x), backend="eager")
    assert compiled(torch.ones(1)).item() == 101
    monkeypatch.setattr(Between, "scaled", lambda self, x: x * -1, raising=False)
    assert compiled(torch.ones(1)).item() == 99
    monkeypatch.undo()
    assert compiled(torch.ones(1)).item() == 101


def test_a_class_gets_other_bases():
    last = Last()
    compiled = suture.compile(lambda x: last.scaled(x), backend="eager")
    assert compiled(torch.ones(1)).item() == 101
    try:
        Last.__bases__ = (Other,)
        assert compiled(torch.ones(1)).item() == 105
    finally:
        Last.__bases__ = (Between,)
    assert compiled(torch.ones(1)).item() == 101


@pytest.fixture
def tensors(monkeypatch):
    """Sets attributes of the class of tensors until the test ends."""
    return lambda name, value: monkeypatch.setattr(torch.Tensor, name, value, raising=False)


def test_a_method_that_the_program_gives_to_tensors(tensors, monkeypatch):
    def fn(x):
        y = x + 1
        return y.doubled() if hasattr(y, "doubled") else None

    compiled = suture.compile(fn, backend="eager")
    assert compiled(torch.ones(1)) is None
    tensors("doubled", lambda self: self * 2)
    assert compiled(torch.ones(1)).item() == 4
    tensors("doubled", lambda self: self * 3)
    assert compiled(torch.ones(1)).item() == 6
    tensors("doubled", property(lambda self: lambda: self.shape))
    assert compiled(torch.ones(1)) == (1,)
    monkeypatch.undo()
    assert compiled(torch.ones(1)) is None


def test_a_method_of_tensors_that_the_program_replaces(tensors, monkeypatch):
    graphs, seen, real = Graphs(), [], torch.Tensor.relu
    compiled = suture.compile(lambda x: ((x - 2).relu(), len(seen)), backend=graphs)
    assert compiled(torch.ones(1)) == (0, 0)
    tensors("relu", lambda self: seen.append(1) or self * 5)
    assert [compiled(torch.ones(1)) for _ in range(3)] == [(-5, 1), (-5, 2), (-5, 3)]
    assert graphs.ops()[1] == ["sub", "mul"]
    tensors("relu", lambda self: seen.append(1) or real(self) + 7)
    assert [compiled(torch.ones(1)) for _ in range(3)] == [(7, 4), (7, 5), (7, 6)]
    monkeypatch.undo()
    assert compiled(torch.ones(1)) == (0, 6)


def test_operators_of_tensors_that_the_program_replaces(tensors, monkeypatch):
    def fn(x):
        return [x + 2, 2 - x, x < 2, -x, +x, x[0], len(x)]

    def plainly(values):
        return [v.tolist() if isinstance(v, torch.Tensor) else v for v in values]

    graphs, x, before = Graphs(), torch.arange(3), plainly(fn(torch.arange(3)))
    compiled = suture.compile(fn, backend=graphs)
    assert plainly(compiled(x)) == before
    tensors("__add__", lambda self, other: self * 5)
    tensors("__rsub__", lambda self, other: self.sin())
    tensors("__lt__", lambda self, other: self.exp())
    tensors("__neg__", lambda self: self.cos())
    tensors("__pos__", lambda self: self.tan())
    tensors("__getitem__", lambda self, key: self.sinh())
    tensors("__len__", lambda self: 7)
    assert [plainly(compiled(x)) for _ in range(2)] == [plainly(fn(x))] * 2
    assert graphs.ops()[1] == ["mul", "sin", "exp", "cos", "tan", "sinh"]
    monkeypatch.undo()
    assert plainly(compiled(x)) == before
    assert len(graphs) == 2


def test_operators_in_place_that_the_program_replaces(tensors, monkeypatch):
    def fn(x):
        y = x.clone()
        y += 1
        y[0] = 5
        return y

    graphs, real, written = Graphs(), torch.Tensor.__setitem__, []
    compiled = suture.compile(fn, backend=graphs)
    assert compiled(torch.zeros(2)).tolist() == [5, 1]
    tensors("__iadd__", lambda self, other: self - other)
    tensors("__setitem__", lambda self, *given: written.append(given) or real(self, *given))
    assert [compiled(torch.zeros(2)).tolist() for _ in range(2)] == [[5, -1]] * 2
    assert written == [(0, 5)] * 2 and graphs.ops()[1] == ["clone", "sub"]
    monkeypatch.undo()
    assert compiled(torch.zeros(2)).tolist() == [5, 1]
    assert written == [(0, 5)] * 2


def test_an_operator_in_torchs_class_is_also_that_of_subclasses(tensors):
    class Kind(torch.Tensor):
        def __mul__(self, other):
            return self.cos()

    compiled = suture.compile(lambda x: (x * 2, x @ x), backend="eager")
    x = torch.arange(3.0).as_subclass(Kind)
    compiled(x)
    tensors("__mul__", lambda self, other: self.sin())
    tensors("__matmul__", lambda self, other: self.tan())
    got = compiled(x)
    assert torch.equal(got[0], x.cos()) and torch.equal(got[1], x.tan())


class Constant:
    """A descriptor: what an object holds itself comes before it."""

    def __init__(self, value):
        self.value = value

    def __get__(self, obj, cls):
        return self.value


class Held:
    number = Constant(3)


def test_a_descriptor_of_a_class_that_changes(monkeypatch):
    held = Held()
    held.__dict__["number"] = 2
    compiled = suture.compile(lambda x: (x * held.number, x * Held.number), backend="eager")
    x = torch.ones(1)
    assert compiled(x) == (2, 3)
    monkeypatch.setattr(Constant, "__set__", lambda *given: None, raising=False)
    assert compiled(x) == (3, 3)
    monkeypatch.setattr(Constant, "__get__", lambda self, obj, cls: 7)
    assert compiled(x) == (7, 7)
    monkeypatch.undo()
    assert compiled(x) == (2, 3)
