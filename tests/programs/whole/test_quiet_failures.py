"""What a program handles itself is told to nobody; a checkpoint draws anew what it says."""

from __future__ import annotations

import logging

import torch
from torch.utils.checkpoint import checkpoint

import suture
from tests.harness import check


def test_an_operation_that_fails_where_the_program_handles_it_is_not_logged():
    def fn(x, y):
        try:
            return x @ y
        except RuntimeError as error:
            return x + 1, "cannot be multiplied" in str(error)

    seen = []
    handler = logging.Handler()
    handler.emit = lambda record: seen.append(record.getMessage())
    logger = logging.getLogger("torch._subclasses.fake_tensor")
    logger.addHandler(handler)
    try:
        compiled = suture.compile(fn, backend="eager")
        for _ in range(2):
            made, told = compiled(torch.ones(2, 3), torch.ones(2, 3))
            assert told and torch.equal(made, torch.full((2, 3), 2.0))
    finally:
        logger.removeHandler(handler)
    assert [text for text in seen if "attempting to run meta" in text] == []


def test_dropout_in_a_checkpoint_that_keeps_no_random_state():
    def fn(x):
        def inner(a):
            return torch.nn.functional.dropout(a, 0.5) * 2

        made = checkpoint(inner, x, use_reentrant=False, preserve_rng_state=False)
        made.sum().backward()
        return made.detach(), x.grad

    check(fn, torch.ones(8, requires_grad=True), graphs=None, breaks=None)
