"""Whoever waits for a compiler sees what it is doing, and finds out afterwards where time went."""

from __future__ import annotations

import contextlib
import io
import sys
import threading
import types

import pytest
import torch

import suture
from suture import config, events
from suture.runtime import progress_line
from suture.torch_private.stages import stage_of

LONG = 60  # seconds; nothing takes so long unless it never comes


class Terminal(io.StringIO):
    """A terminal that remembers what it showed, and tells when something is shown."""

    def __init__(self):
        super().__init__()
        self.texts, self.showed = [], threading.Event()

    def isatty(self):
        return True

    def write(self, text):
        self.texts.append(text)
        if "backend" in text:
            self.showed.set()
        return len(text)


@pytest.fixture
def terminal(monkeypatch):
    made = Terminal()
    monkeypatch.setattr(progress_line, "PATIENCE", -1.0)
    monkeypatch.setattr(progress_line, "_TURN", 0.001)
    return made


def compile_under(stream, fn, backend="eager"):
    """Compile while `stream` is standard error, until nothing is going to be shown any more."""
    with contextlib.redirect_stderr(stream):
        suture.compile(fn, backend=backend)(torch.ones(3))
    for thread in threading.enumerate():
        if thread.name == "suture progress":
            thread.join(LONG)
            assert not thread.is_alive()


def test_a_line_says_what_is_being_done_and_goes_away(terminal):
    def slow(gm, inputs):
        assert terminal.showed.wait(LONG)
        return gm.forward

    compile_under(terminal, lambda x: x.sin() + 1, slow)
    assert any("compiling" in text and "backend" in text for text in terminal.texts)
    assert terminal.texts[-1] == progress_line._CLEAR


def test_nothing_is_shown_before_somebody_waits(terminal, monkeypatch):
    monkeypatch.setattr(progress_line, "PATIENCE", LONG)
    compile_under(terminal, lambda x: x.cos() + 1)
    assert terminal.texts == []


def test_nothing_is_shown_where_that_is_switched_off(terminal):
    with config.patch(show_progress=False):
        compile_under(terminal, lambda x: x.cos() + 2)
    assert terminal.texts == []


def test_nothing_is_shown_where_there_is_no_terminal(terminal):
    stream = io.StringIO()
    compile_under(stream, lambda x: x.cos() + 3)
    assert stream.getvalue() == ""


def test_what_torchs_compilers_do_is_read_off_the_stack():
    def look(name):
        code = (lambda: sys._getframe()).__code__
        return stage_of(types.FunctionType(code, {"__name__": name, "sys": sys})())

    assert look("torch._inductor.codecache") == "kernels"
    assert look("torch._inductor.graph") == "lowering"
    assert look("torch._functorch.aot_autograd") == "derivatives"
    assert look("somewhere") == ""


def test_the_line_tells_how_far_it_is():
    now = events.Now("trace", "fn:1", 0.0, 0, lambda: "7 operations so far")
    assert progress_line.described(now, 4.2) == (
        "suture: compiling fn:1 for 4 s: tracing, 7 operations so far"
    )


def test_times_are_told_by_phase():
    suture.reset()
    suture.compile(lambda x: x.cos() + 4, backend="eager")(torch.ones(3))
    seconds = suture.stats().seconds
    assert {"trace", "emit", "backend", "guard"} <= set(seconds)
    assert all(value >= 0 for value in seconds.values())
    suture.reset()
    assert suture.stats().seconds == {}


def test_the_backward_graph_has_a_time_of_its_own():
    x = torch.ones(3, requires_grad=True)
    with events.recorded(events.PhaseTimed) as seen:
        y = suture.compile(lambda x: x.cos() * x, backend="aot_eager")(x)
        forward = [e.phase for e in seen]
        y.sum().backward()
    later = seen[len(forward) :]
    assert "backend" in forward and "backward" not in forward
    assert [e.phase for e in later] == ["backward"]
    assert later[0].point in {e.point for e in seen if e.phase == "backend"}
    assert suture.stats().seconds["backward"] > 0
