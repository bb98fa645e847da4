"""Functions that start below compiled code: compiled if there is something to capture."""

from __future__ import annotations

import typing

import torch

import suture
from suture import events


def count(text):
    return len(text) + 1


def double(x):
    return x * 2


def outer(x, log):
    suture.skip_frame()
    for word in ("a", "bb", "ccc"):
        log.append(count(word))
    return double(x) + 1


def test_what_touches_no_tensor_runs_plainly_after_one_look():
    suture.reset()
    compiled = suture.compile(outer, backend="eager")
    log: list[int] = []
    with suture.config.patch(trace_tensor_free=True):
        assert torch.equal(compiled(torch.ones(2), log), torch.full((2,), 3.0))
    assert log == [2, 3, 4]
    unit = suture.look.unit_of(compiled)
    assert count.__code__ in unit.plain.values()
    stats = suture.stats()
    assert stats.graphs == 1 and not stats.recompilations and not stats.interpreted


def hinted(x):
    suture.skip_frame()
    typing.Generic[typing.TypeVar("T")]  # where typing_extensions has a function of its own
    return double(x)


def test_questions_about_types_are_nothing_to_compile():
    suture.reset()
    with events.recorded(events.Installed, events.Broke) as seen:
        suture.compile(hinted, backend="eager")(torch.ones(2))
    assert {event.where.function for event in seen} == {"hinted", "double"}
