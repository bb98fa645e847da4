"""Marks on objects, which TorchDynamo's tracer reads."""

from __future__ import annotations

import pytest
import torch

import suture
import suture.errors

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
