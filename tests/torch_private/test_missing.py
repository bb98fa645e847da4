"""A private name that is gone costs the feature that needs it, and nothing else."""

from __future__ import annotations

import torch

import suture
from suture.torch_private import autograd_parts, compilers, torchdynamo
from suture.torch_private.table import absent
from tests.harness import check


def test_what_compiling_itself_needs_leaves_the_function_to_the_interpreter(monkeypatch, caplog):
    monkeypatch.setattr(compilers, "CompileContext", absent("torch._guards.CompileContext"))

    def fn(x):
        return x.sin() + 1

    x = torch.randn(3)
    with caplog.at_level("WARNING", "suture.compiler.pipeline"):
        assert torch.equal(suture.compile(fn, backend="eager")(x), fn(x))
    assert "torch._guards.CompileContext" in caplog.text


def test_an_operation_that_needs_it_breaks_and_the_rest_is_captured(monkeypatch):
    monkeypatch.setattr(autograd_parts, "data_of", absent("torch._C._autograd._get_data_attr"))

    def fn(x):
        y = x.sin()
        z = y.data
        return z + 1

    check(fn, torch.randn(3), graphs=2, breaks=["GB2094"])


def test_a_torch_without_a_compiler_has_nothing_to_hide_from(monkeypatch):
    monkeypatch.setattr(torchdynamo, "FrameAction", absent("torch._C._dynamo.eval_frame.x"))
    torchdynamo.hide((lambda: 1).__code__)
