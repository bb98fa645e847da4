"""Random programs called again and again while the world around them changes.

`SUTURE_FUZZ=5000` runs that many; a failure prints the program.
"""

from __future__ import annotations

import copy
import traceback
from typing import Any

import numpy
import torch
from hypothesis import HealthCheck, given, note, settings

import suture
from tests.harness import Outcome, _copies, compare, same
from tests.programs.language.test_random_programs import COUNT, load
from tests.programs.language.wide_programs import wide_programs

NAMES = ("LEVEL", "SHARED", "COUNTS", "RECENT")


def calls(box: Any) -> list[Any]:
    """The arguments of each call, and what the globals are set to before it."""
    x = torch.tensor([0.5, -1.0, 2.0])
    first = (x, 3, [1, 2, 5], {"a": 1, "b": 4}, box(1))
    return [
        (first, {}),
        (first, {}),
        ((x * 2, 2, [4], {"b": 0}, box(x)), {"LEVEL": 2}),
        ((x.double(), 3, [1, 2, 5], {"a": 1, "b": 4}, box(1)), {"SHARED": {"k": 5, "z": 1}}),
        ((x, True, [1.5, 2], {"a": 1, "b": 4, "c": 2}, box(None)), {"LEVEL": 0.5}),
        (first, {"LEVEL": 1}),
    ]


class World:
    """The state of a module that its program changes."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def get(self) -> Any:
        ticks = self.module.tick(0)
        return copy.deepcopy({name: vars(self.module)[name] for name in NAMES}), ticks

    def put(self, state: Any) -> None:
        table, ticks = copy.deepcopy(state)
        self.module.reset(ticks)
        for name, value in table.items():
            held = vars(self.module)[name]
            if name == "LEVEL":
                self.module.LEVEL = value
            else:
                held.clear()
                (held.extend if name == "RECENT" else held.update)(value)


def run(source: str, backend: str = "eager") -> None:
    module = load(source)
    world = World(module)
    compiled = suture.compile(module.fn, backend=backend)
    for args, changes in calls(module.Box):
        table, ticks = world.get()
        start = ({**table, **changes}, ticks)
        outcomes, ends = [], []
        for fn in (module.fn, compiled):
            world.put(start)
            numpy.random.seed(0)
            with suture.config.patch(strict=True):
                outcomes.append(Outcome(fn, *_copies(args, {})))
            ends.append(world.get())
        compare(*outcomes)
        same(*ends, "globals")
        for outcome in outcomes:  # now, not when a collection comes: it runs what is left of blocks
            if outcome.error is not None:
                traceback.clear_frames(outcome.error.__traceback__)
    suture.reset()


@settings(
    max_examples=COUNT // 4 if COUNT == 300 else COUNT,
    deadline=None,
    derandomize=COUNT == 300,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(wide_programs())
def test_random_programs_in_a_changing_world(source):
    note(source)
    run(source)
