"""Log messages nobody listens to do not break a graph; those somebody listens to are written."""

from __future__ import annotations

import functools
import logging

import torch

import suture
from tests.harness import check

log = logging.getLogger("tests.calls.quiet")
loud = logging.getLogger("tests.calls.loud")


def test_a_level_that_is_off_is_part_of_one_graph():
    log.setLevel(logging.ERROR)

    def fn(x):
        x = x + 1
        log.info("at %s", x.shape)
        log.debug("and %s", x)
        return x * 2

    check(fn, torch.ones(2), graphs=1)


def test_a_level_switched_on_is_noticed():
    seen = []
    handler = logging.Handler()
    handler.emit = lambda record: seen.append(record.getMessage())
    loud.addHandler(handler)
    loud.propagate = False
    loud.setLevel(logging.ERROR)

    def fn(x):
        loud.info("size %d", x.shape[0])
        return x + 1

    compiled = suture.compile(fn, backend="eager")
    x = torch.ones(2)
    compiled(x)
    assert seen == []
    loud.setLevel(logging.INFO)
    assert torch.equal(compiled(x), x + 1)
    assert seen == ["size 2"]
    loud.setLevel(logging.ERROR)
    compiled(x)
    assert seen == ["size 2"]


def test_a_cached_method():
    class Model(torch.nn.Module):
        @functools.lru_cache
        def scale(self):
            return 0.5

        def forward(self, x):
            return x * self.scale()

    check(Model(), torch.ones(2), graphs=1)
