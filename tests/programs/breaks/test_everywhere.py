"""Programs with a break at every instruction that can have one, and at every third of them.

What Python runs is then each operation of the program in turn, and each is a place to go on from.
"""

from __future__ import annotations

import pytest
import torch

import suture
from suture.breaks import Break, calls
from suture.compiler.interpreter import run
from suture.compiler.interpreter.opcodes.table import HANDLERS
from tests.programs.breaks import test_exceptions, test_managers, test_state
from tests.programs.breaks.comparing import check_program, load
from tests.programs.breaks.matrix import PLACES, program

X = torch.tensor([1.0, 2.0])


def _break_at_every(every, monkeypatch):
    plain = run.execute

    def execute(trace, frame, inst):
        handler = HANDLERS.get(inst.op)
        if trace.progress.base_depth == 0 and handler is not None and handler.run is not None:
            if frame.ip % every == 0:
                raise Break(calls.GRAPH_BREAK_CALL, reason="everywhere")
        plain(trace, frame, inst)

    monkeypatch.setattr(run, "execute", execute)


@pytest.fixture
def breaks_everywhere(monkeypatch):
    _break_at_every(1, monkeypatch)


@pytest.fixture
def breaks_at_every_third(monkeypatch):
    _break_at_every(3, monkeypatch)


PROGRAMS = [*test_exceptions.PROGRAMS, *test_managers.PROGRAMS, *test_state.PROGRAMS]

# Calls that look at the frame they are made from have breaks of their own.
LOOK_AT_FRAMES = ("locals_of_the_function", "evaluated_text", "frame_of_the_function")
PROGRAMS = [fn for fn in PROGRAMS if fn.__name__ not in LOOK_AT_FRAMES]


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
@pytest.mark.usefixtures("breaks_everywhere")
def test_programs_go_on_behind_any_instruction(fn):
    log = fn.__globals__["LOG"]
    with suture.config.patch(recompile_limit=100):
        check_program(fn, X, log=log, recompiles=True, calls=2)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.usefixtures("breaks_at_every_third")
def test_places_go_on_behind_any_instruction(place, tmp_path):
    name = f"everywhere_{place}"
    module = load(tmp_path / f"{name}.py", program(place, "print"), name)
    with suture.config.patch(recompile_limit=100):
        check_program(module.fn, X, log=module.LOG, recompiles=True, calls=2)
