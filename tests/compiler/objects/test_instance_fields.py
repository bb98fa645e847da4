"""Deleting an attribute asks whether it is there, not what it is."""

from __future__ import annotations

import torch

import suture
from tests.harness import Graphs

X = torch.ones(2)


class Holder:
    held = "of the class"

    def __init__(self):
        self.held = None


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.held = None

    def forward(self, x):
        del self.held
        self.held = x.sin()
        return self.held + 1


def test_a_module_forgets_what_the_last_call_left():
    graphs = Graphs()
    layer = Layer()
    compiled = suture.compile(layer, backend=graphs)
    for _ in range(3):
        assert torch.equal(compiled(X), X.sin() + 1)
        assert torch.equal(layer.held, X.sin())
    assert len(graphs) == 1


def test_an_object_whose_attribute_is_something_else_each_time():
    def fn(x, holder):
        del holder.held
        told = holder.held
        holder.held = x.sin()
        return told, holder.held + 1

    graphs = Graphs()
    compiled = suture.compile(fn, backend=graphs)
    holder = Holder()
    for held in (None, X, "text", [1]):
        holder.held = held
        told, made = compiled(X, holder)
        assert told == "of the class" and torch.equal(made, X.sin() + 1)
    assert len(graphs) == 1


def test_one_that_is_gone_is_an_error():
    def fn(x, holder):
        try:
            del holder.held
        except AttributeError as error:
            return x.cos(), str(error)
        return x.sin(), ""

    compiled = suture.compile(fn, backend="eager")
    for there in (True, False, True, False):
        holder, plain = Holder(), Holder()
        if not there:
            del holder.held, plain.held
        made, text = compiled(X, holder)
        wanted, words = fn(X, plain)
        assert torch.equal(made, wanted) and text == words
        assert vars(holder) == vars(plain) == {}


class Slotted:
    __slots__ = ("held",)

    def __init__(self):
        self.held = None


def test_a_slot_whose_object_is_something_else_each_time():
    def fn(x, holder):
        del holder.held
        try:
            told = holder.held
        except AttributeError as error:
            told = str(error)
        holder.held = x.sin()
        return told, holder.held + 1

    graphs = Graphs()
    compiled = suture.compile(fn, backend=graphs)
    holder = Slotted()
    for held in (None, X, "text", [1]):
        holder.held = held
        told, made = compiled(X, holder)
        assert "held" in told and torch.equal(made, X.sin() + 1)
    assert len(graphs) == 1
