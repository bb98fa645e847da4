"""Ctrl-C while compiling, pickling and copying what was compiled, and what reaches the terminal."""

from __future__ import annotations

import copy
import logging
import pickle
import signal
import subprocess
import sys
import textwrap

import pytest
import torch

import suture
from suture.backends.interrupts import outside_imports

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
    with pytest.raises(KeyboardInterrupt), outside_imports():
        import time

        import slow_to_import

        assert slow_to_import.done
        time.sleep(5)
    assert sys.modules["slow_to_import"].done
    assert signal.getsignal(signal.SIGINT) is before


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
