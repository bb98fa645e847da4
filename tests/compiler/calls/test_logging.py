"""Log messages nobody listens to do not break a graph; those somebody listens to are written."""

from __future__ import annotations

import functools
import logging
import warnings

import torch

import suture
from tests.harness import check

log = logging.getLogger("tests.compiler.calls.logged")
loud = logging.getLogger("tests.compiler.calls.loud")


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


def _old():
    warnings.warn("old", DeprecationWarning, stacklevel=2)


def test_who_looks_at_the_caller_finds_the_line_of_the_program():
    seen = []
    handler = logging.Handler()
    handler.emit = lambda r: seen.append((r.pathname, r.lineno, r.funcName, r.getMessage()))
    placed = logging.getLogger("tests.compiler.calls.placed")
    placed.addHandler(handler)
    placed.propagate = False

    def helper(x):
        placed.warning("inside")
        return x + 1

    def fn(x):
        placed.error("first")
        x = helper(x + 1)
        _old()
        placed.error("last")
        return x

    def told(call):
        seen.clear()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            call(torch.ones(2))
        return list(seen), [(w.filename, w.lineno) for w in caught if str(w.message) == "old"]

    assert told(suture.compile(fn, backend="eager")) == told(fn)
