"""A region that cannot be settled runs in the interpreter: our fault, and the program goes on."""

from __future__ import annotations

import pytest
import torch

import suture
from suture.compiler import pipeline
from suture.compiler.plan import Retry


def double(x):
    return x * 2


@pytest.mark.parametrize("settled", ["trace", "install_graph"])
def test_the_program_goes_on_and_is_told(settled, monkeypatch):
    suture.reset()
    monkeypatch.setattr(pipeline, settled, lambda miss, plan, *_: Retry(plan, "it was refused"))
    x = torch.ones(3)
    with suture.config.patch(strict=False):
        assert torch.equal(suture.compile(double, backend="eager")(x), x * 2)
    assert ["again and again" in record.reason for record in suture.stats().interpreted] == [True]
    suture.reset()
