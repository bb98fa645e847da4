"""Graphs that run as they are while a thread compiles them."""

from __future__ import annotations

import threading

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import suture
from suture import config, errors, events
from suture.backends import background, inductor
from suture.runtime.callers import Background, Wrapped

LONG = 300  # seconds; nothing takes so long unless it never comes


class Gate:
    """Stands in for Inductor: waits until it is opened, then runs the graph and counts calls."""

    def __init__(self, monkeypatch, error=None):
        self.open, self.calls, self.error, self.threads = threading.Event(), 0, error, []
        monkeypatch.setattr(inductor.Inductor, "__call__", lambda own, gm, inputs: self(gm))

    def __call__(self, gm):
        self.threads.append(threading.current_thread())
        if self.threads[-1] is not threading.main_thread():
            assert self.open.wait(LONG)
        if self.error is not None:
            raise self.error

        def run(*args):
            self.calls += 1
            return gm.forward(*args)

        return run

    def finish(self):
        self.open.set()
        assert suture.wait_for_background(LONG)


@pytest.fixture(autouse=True)
def anew():
    suture.reset()  # a variant of the same code would be adopted


@pytest.fixture
def gate(monkeypatch):
    with config.patch(background_compile=True):
        made = Gate(monkeypatch)
        yield made
        made.finish()


def test_calls_do_not_wait_and_the_compiled_graph_is_used_when_ready(gate):
    fn = suture.compile(lambda x: x.sin() * 2 + 1)
    x = torch.randn(5)
    for _ in range(3):
        torch.testing.assert_close(fn(x), x.sin() * 2 + 1)
    assert gate.calls == 0
    gate.finish()
    torch.testing.assert_close(fn(x), x.sin() * 2 + 1)
    assert gate.calls == 1
    assert gate.threads[0] is not threading.main_thread()
    assert suture.stats().recompilations == []


def test_gradients_and_random_numbers_are_the_programs_own(gate):
    def step(x):
        return F.dropout(x, 0.5) * x

    compiled = suture.compile(step)
    found = []
    for run in (step, compiled):
        torch.manual_seed(0)
        x = torch.ones(64, requires_grad=True)
        y = run(x)
        y.sum().backward()
        found.append((y.detach(), x.grad, torch.rand(3)))
    for one, other in zip(*found):
        torch.testing.assert_close(one, other)
    # what is drawn while the other thread is at work stays drawn when that is done
    torch.manual_seed(1)
    first = torch.rand(3)
    gate.finish()
    second = torch.rand(3)
    torch.manual_seed(1)
    torch.testing.assert_close(torch.rand(6), torch.cat((first, second)))


def test_writes_to_inputs_are_seen_once(gate):
    def fn(x):
        x.add_(1)
        return x * 2

    compiled = suture.compile(fn)
    x = torch.zeros(3)
    compiled(x)
    gate.finish()
    compiled(x)
    assert x.tolist() == [2.0, 2.0, 2.0]


def test_symbolic_graphs_are_waited_for(gate):
    fn = suture.compile(lambda x: x.sin() + x.shape[0], dynamic=True)
    for size in (3, 4):
        fn(torch.ones(size))
    assert gate.threads == [threading.main_thread()]


def test_other_backends_are_waited_for():
    seen = []

    def backend(gm, inputs):
        seen.append(threading.current_thread())
        return gm.forward

    with config.patch(background_compile=True):
        suture.compile(lambda x: x.sin() + 1, backend=backend)(torch.ones(3))
    assert seen == [threading.main_thread()]


def test_nothing_is_compiled_in_the_background_unless_asked(monkeypatch):
    made = Gate(monkeypatch)
    suture.compile(lambda x: x.sin() + 1)(torch.ones(3))
    assert made.threads == [threading.main_thread()]


@pytest.mark.parametrize("raises", [False, True])
def test_a_failure_is_told_as_it_is_without_a_thread(monkeypatch, caplog, raises):
    with config.patch(background_compile=True, raise_backend_errors=raises):
        gate = Gate(monkeypatch, ValueError("no such kernel"))
        fn = suture.compile(lambda x: x.sin() + 1)
        x = torch.ones(3)
        torch.testing.assert_close(fn(x), x.sin() + 1)
        gate.finish()
        if raises:
            with pytest.raises(errors.BackendFailed, match="no such kernel"):
                fn(x)
        else:
            torch.testing.assert_close(fn(x), x.sin() + 1)
            assert "the graph runs uncompiled" in caplog.text


def test_a_setting_that_changes_meanwhile_keeps_the_graph_as_it_is(gate):
    fn = suture.compile(lambda x: x.sin() + 1)
    x = torch.ones(3)
    fn(x)
    torch.set_default_dtype(torch.float64)
    try:
        gate.finish()
    finally:
        torch.set_default_dtype(torch.float32)
    fn(x)
    assert gate.calls == 0


def test_graphs_are_compiled_one_after_the_other(gate):
    fns = [*map(suture.compile, (lambda x: x.sin(), lambda x: x.cos(), lambda x: x.exp()))]
    x = torch.ones(3)
    with events.recorded(events.PhaseTimed) as seen:
        for fn in fns:
            fn(x)
        gate.finish()
    assert [e.phase for e in seen].count("background") == 3
    assert len({t.ident for t in gate.threads}) == 1


def test_many_threads_may_call_while_one_compiles(gate):
    module = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))
    fn, x = suture.compile(module), torch.randn(2, 4)
    wanted, wrong = module(x), []

    def call():
        for _ in range(20):
            if not torch.allclose(fn(x), wanted):
                wrong.append(1)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for i, thread in enumerate(threads):
        thread.start()
        if i == 1:
            gate.open.set()
    for thread in threads:
        thread.join(LONG)
    gate.finish()
    assert not wrong and len(gate.threads) <= 4
    fn(x)
    assert gate.calls >= 1


def test_reset_while_a_graph_is_compiled(gate):
    fn = suture.compile(lambda x: x.sin() + 1)
    x = torch.ones(3)
    fn(x)
    suture.reset()
    gate.finish()
    torch.testing.assert_close(fn(x), x.sin() + 1)


def test_who_follows_late_gets_the_compiled_graph():
    caller, seen = Background(lambda: "plain"), []
    caller.follow(lambda run: seen.append(run()))
    caller.ready(Wrapped(lambda: "compiled"))
    caller.follow(lambda run: seen.append(run()))
    assert seen == ["plain", "compiled", "compiled"] and caller() == "compiled"


def test_waiting_for_nothing_returns_at_once():
    assert suture.wait_for_background(LONG) and background.wait(0)


def test_inductor_compiles_a_training_step_in_the_background():
    module = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 2))
    x = torch.randn(3, 4)
    with config.patch(background_compile=True):
        fn = suture.compile(module)
        found = []
        for run in (module, fn, None, fn):
            if run is None:
                assert suture.wait_for_background(LONG)
                continue
            module.zero_grad()
            run(x).square().sum().backward()
            found.append([p.grad.clone() for p in module.parameters()])
    for others in found[1:]:
        torch.testing.assert_close(found[0], others)
    assert "background" in suture.stats().seconds and "backward" not in suture.stats().seconds
