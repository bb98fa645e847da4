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
