"""Marks on objects and calls of comptime, which TorchDynamo's tracer reads."""

from __future__ import annotations

import logging

import pytest
import torch
from torch._dynamo.comptime import comptime

import suture
import suture.errors
from suture.compiler.calls import torchdynamo_words

X = torch.ones(2)


class Twice:
    def __call__(self, x):
        return x * 2


class Thrice(torch.nn.Module):
    def forward(self, x):
        return x * 3


MARKED_CLASS = torch._dynamo.forbid_in_graph(type("Half", (Twice,), {}))
FORBIDDEN = {
    "object": torch._dynamo.forbid_in_graph(Twice()),
    "module": torch._dynamo.forbid_in_graph(Thrice()),
    "object of a class": MARKED_CLASS.__new__(MARKED_CLASS),
}


@pytest.mark.parametrize("kind", FORBIDDEN)
def test_a_forbidden_object_is_called_by_python(kind):
    called = FORBIDDEN[kind]

    def fn(x):
        return called(x.sin()) + 1

    suture.reset()
    assert torch.equal(suture.compile(fn, backend="eager")(X), fn(X))
    assert [b.number for b in suture.stats().breaks] == ["GB2001"]
    with pytest.raises(suture.errors.Unsupported, match="GB2001"):
        suture.compile(lambda x: called(x) + 2, backend="eager", fullgraph=True)(X)


def test_comptime_is_named_once(caplog, monkeypatch):
    monkeypatch.setattr(torchdynamo_words, "_told", set())

    def fn(x):
        y = x.sin()
        comptime.print_graph()
        comptime.print_locals()
        return y + 1

    with caplog.at_level(logging.WARNING, "suture"):
        assert torch.equal(suture.compile(fn, backend="eager")(X), fn(X))
    assert [r.getMessage() for r in caplog.records] == [
        "torch._dynamo.comptime.print_graph talks to TorchDynamo's tracer, which does not run; "
        "instead: the call does what it does in eager, see GB0030"
    ]
