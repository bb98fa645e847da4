"""Whole programs give the same numbers compiled as they do plainly, and no frame is given up."""

from __future__ import annotations

import pytest
import torch

import suture
from examples.programs import PROGRAMS
from tests.harness import same


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_program(program):
    torch.manual_seed(0)
    plain = program(lambda fn: fn)
    suture.reset()
    torch.manual_seed(0)
    with suture.config.patch(strict=True):
        ours = program(lambda fn: suture.compile(fn, backend="eager"))
    same(plain, ours, program.__name__)
    stats = suture.stats()
    assert stats.graphs > 0
    assert not stats.interpreted, stats.interpreted
