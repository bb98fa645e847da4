"""A mistake of suture's costs a break at its instruction, not the function."""

from __future__ import annotations

import logging

import pytest
import torch

import suture
from suture import events
from suture.compiler.torch import tensor_attributes
from tests.harness import Graphs


def fn(x):
    y = x.sin()
    steps = y.stride()
    return y.cos() * len(steps)


@pytest.fixture
def failing(monkeypatch):
    def fail(*args):
        raise ValueError("no strides today")

    monkeypatch.setattr(tensor_attributes, "_measure", fail)
    suture.reset()


def test_python_runs_the_instruction_and_capture_goes_on(failing, caplog):
    graphs, seen = Graphs(), []
    stop = events.subscribe(lambda e: seen.append(e) if isinstance(e, events.Broke) else None)
    x = torch.ones(2, 3)
    try:
        with caplog.at_level(logging.WARNING), suture.config.patch(strict=False):
            compiled = suture.compile(fn, backend=graphs)
            assert torch.equal(compiled(x), fn(x))
            assert torch.equal(compiled(x + 1), fn(x + 1))
    finally:
        stop()
    assert graphs.ops() == [["sin"], ["cos", "mul"]]
    assert [e.number for e in seen] == ["GB2090"]
    assert "no strides today" in caplog.text
    assert not suture.stats().interpreted


def test_a_mistake_is_an_error_where_it_is_asked_for(failing):
    with suture.config.patch(strict=True):
        with pytest.raises(suture.exc.InternalError, match="no strides today"):
            suture.compile(fn, backend="eager")(torch.ones(2, 3))
