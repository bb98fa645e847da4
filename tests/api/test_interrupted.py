"""Ctrl-C while compiling, pickling and copying what was compiled, and what reaches the terminal."""

from __future__ import annotations

import contextlib
import copy
import inspect
import logging
import pickle
import signal
import subprocess
import sys
import textwrap

import pytest
import torch

import suture
from suture.errors import RaisedWhileCompiling
from suture.runtime.signals import interruptible

PROGRAM = """
    import signal, sys, threading, time, os
    import torch, suture

    def fn(x):
        return (x + 1).relu().sum()

    compiled = suture.compile(fn, backend={backend!r})
    threading.Timer({after}, os.kill, (os.getpid(), signal.SIGINT)).start()
    told = ""
    try:
        compiled(torch.ones(4))
        time.sleep({after} + 1)
    except KeyboardInterrupt:
        told = "interrupted"
    assert compiled(torch.ones(4)).item() == 8.0
    print(told)
"""


@pytest.mark.parametrize(("backend", "after"), [("eager", 0.05), ("aot_eager", 0.4)])
def test_an_interrupt_while_compiling_arrives_and_the_next_call_works(backend, after):
    program = textwrap.dedent(PROGRAM).format(backend=backend, after=after)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "interrupted\n"


def test_an_interrupt_in_an_import_waits_for_its_end(tmp_path, monkeypatch):
    (tmp_path / "slow_to_import.py").write_text(
        "import signal, time\nsignal.raise_signal(signal.SIGINT)\ntime.sleep(0.1)\ndone = True\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(RaisedWhileCompiling) as info, interruptible():
        import time

        import slow_to_import

        assert slow_to_import.done
        time.sleep(5)
    assert type(info.value.raised) is KeyboardInterrupt
    assert sys.modules["slow_to_import"].done
    assert signal.getsignal(signal.SIGINT) is before


class Late(Exception):
    """What a program's own timeout raises."""


class RunsOut:
    """A timeout: the handler of SIGALRM, as a method."""

    def __init__(self):
        self.calls = 0

    def handler(self, number, frame):
        self.calls += 1
        raise Late(self.calls)


@pytest.fixture
def runs_out():
    timeout = RunsOut()
    before = signal.signal(signal.SIGALRM, timeout.handler)
    yield timeout
    signal.signal(signal.SIGALRM, before)


def test_what_a_handler_raises_while_compiling_arrives(runs_out):
    def backend(module, inputs):
        signal.raise_signal(signal.SIGALRM)
        return module.forward

    compiled = suture.compile(lambda x: x + 1, backend=backend)
    with pytest.raises(Late, match="1"):
        compiled(torch.ones(2))
    assert runs_out.calls == 1
    assert signal.getsignal(signal.SIGALRM) == runs_out.handler
    signal.signal(signal.SIGALRM, signal.SIG_IGN)
    assert torch.equal(compiled(torch.ones(2)), torch.ones(2) + 1)
    assert suture.stats().graphs == 1
    assert not suture.stats().interpreted


@contextlib.contextmanager
def at_call(number):
    """The signal comes at this one of the calls of Python functions. Not of generators: Python
    drops what is raised while one is closed."""
    left = number

    def look(frame, event, arg):
        nonlocal left
        left -= event == "call" and not frame.f_code.co_flags & inspect.CO_GENERATOR
        if not left:
            sys.setprofile(None)
            signal.raise_signal(signal.SIGALRM)

    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(None)


@pytest.mark.parametrize("number", [50, 200, 400, 800, 1200, 1600, 2000, 2400, 2800, 3200])
def test_a_handler_that_raises_while_tracing_is_no_fault_of_suture(runs_out, number, caplog):

    def fn(x):
        y = (x @ x.t()).relu().sum(-1)
        return torch.cat([y, y.sin()]) + len(x.shape)

    suture.reset()  # what was compiled for an earlier step serves no longer
    compiled = suture.compile(fn, backend="eager")
    with at_call(number), pytest.raises(Late):
        compiled(torch.ones(2, 3))
    assert torch.equal(compiled(torch.ones(2, 3)), fn(torch.ones(2, 3)))
    assert not suture.stats().interpreted
    assert not told(caplog)


def told(caplog):
    return [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_handler_that_raises_in_a_graph_is_no_failure_of_the_graph(runs_out, caplog):
    alarm = [False]

    def backend(module, inputs):
        def run(*args):
            if alarm[0]:
                signal.raise_signal(signal.SIGALRM)
            return module.forward(*args)

        return run

    def fn(x):
        try:
            suture.graph_break()
            x = (x + 1) * 2
        except Late as late:
            return late
        return x

    compiled = suture.compile(fn, backend=backend)
    assert torch.equal(compiled(torch.ones(2)), torch.ones(2) * 4)
    alarm[0] = True
    assert isinstance(compiled(torch.ones(2)), Late)
    plain = suture.compile(lambda x: x + 1, backend=backend)
    alarm[0] = False
    plain(torch.ones(2))
    alarm[0] = True
    with pytest.raises(Late):
        plain(torch.ones(2))
    assert runs_out.calls == 2
    assert not told(caplog)


@suture.compile(backend="eager")
def compiled_by_name(x):
    return x + 1


def test_a_compiled_function_is_pickled_by_its_name():
    assert pickle.loads(pickle.dumps(compiled_by_name)) is compiled_by_name


def test_copies_of_what_was_compiled_work():
    class Holder:
        def __init__(self):
            self.run = suture.compile(lambda x: x + 2, backend="eager")
            self.model = suture.compile(torch.nn.Linear(2, 2), backend="eager")

    holder = Holder()
    x = torch.ones(2)
    for _ in range(2):
        made = copy.deepcopy(holder)
        assert torch.equal(made.run(x), holder.run(x))
        assert torch.equal(made.model(x), holder.model(x))
        assert made.model.weight is not holder.model.weight


def test_failures_that_a_program_handles_are_not_logged(caplog):
    def fn(x):
        try:
            return x @ torch.ones(7)
        except RuntimeError:
            pass
        try:
            return torch.cat([x, torch.ones(1, 2, 3)])
        except RuntimeError:
            return x + 1

    suture.reset()
    with caplog.at_level(logging.INFO, "torch._subclasses.fake_tensor"):
        assert torch.equal(
            suture.compile(fn, backend="eager")(torch.ones(2, 3)), torch.ones(2, 3) + 1
        )
    told = [r for r in caplog.records if r.name == "torch._subclasses.fake_tensor"]
    assert [r for r in told if r.levelno >= logging.ERROR] == []


def test_failures_outside_of_tracing_are_logged(caplog):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode(), pytest.raises(RuntimeError):
        torch.ones(2, 3) @ torch.ones(2, 3)
    assert any("failed while attempting" in r.getMessage() for r in caplog.records)
