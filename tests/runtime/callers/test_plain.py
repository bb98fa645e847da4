"""Small graphs whose operations are faster one by one."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import suture
from suture import events
from suture.backends.small_graphs import small
from suture.runtime.callers import plain
from tests.backends.graphs import traced


@pytest.fixture
def slow_backend(monkeypatch):
    """Whatever is measured, the operations win; gives the list of what was timed."""
    monkeypatch.setattr(plain, "_GAIN", float("inf"))


def way(compiled: Any) -> str:
    text = suture.code(compiled)
    return text.partition("# the graph is called ")[2].partition(":")[0]


@pytest.mark.usefixtures("slow_backend")
def test_operations_are_run_one_by_one_where_that_is_faster():
    def fn(x, y):
        return (x + y).relu(), x.sum()

    compiled = suture.compile(fn)
    x, y = torch.randn(4), torch.randn(4)
    with events.recorded(events.RunPlainly) as seen:
        before = suture.stats().plain
        for _ in range(4):
            torch.testing.assert_close(compiled(x, y), fn(x, y), rtol=0, atol=0)
    assert way(compiled) == "plain"
    assert [event.ops for event in seen] == [3]
    assert "one by one in" in seen[0].reason
    assert suture.stats().plain == before + 1


def test_what_the_backend_made_stays_where_it_is_faster(monkeypatch):
    monkeypatch.setattr(plain, "_GAIN", 0.0)
    compiled = suture.compile(lambda x: x + 1)
    for _ in range(3):
        assert compiled(torch.ones(2)).tolist() == [2, 2]
    assert way(compiled) == "direct"


def test_all_results_come_from_the_way_that_is_kept(monkeypatch):
    """The first result too: no program sees two roundings of one variant."""
    for gain, kept in ((0.0, "direct"), (float("inf"), "plain")):
        monkeypatch.setattr(plain, "_GAIN", gain)
        compiled = suture.compile(lambda x: (x * 1.1 + 0.3).sigmoid() / 3, isolate_recompiles=True)
        x = torch.linspace(-3, 3, 1000)
        results = [compiled(x) for _ in range(4)]
        assert way(compiled) == kept
        assert all(torch.equal(results[0], other) for other in results)


@pytest.mark.usefixtures("slow_backend")
@pytest.mark.parametrize(
    "fn",
    [
        lambda x: x.add_(1),
        lambda x: torch.rand(3) + x,
        lambda x: torch.nn.functional.dropout(x, 0.5),
        lambda x: torch.nn.functional.relu(x, inplace=True),
        lambda x: torch.add(x, 1, out=x),
        lambda x: x.bernoulli(),
        lambda x: sum((x.sin() for _ in range(20)), x),
    ],
)
def test_what_changes_something_or_is_long_is_not_run_twice(fn):
    compiled = suture.compile(fn)
    with torch.no_grad():
        for _ in range(2):
            compiled(torch.full((3,), 0.5))
    assert way(compiled) != "plain"


@pytest.mark.usefixtures("slow_backend")
def test_derivatives_are_those_of_the_operations():
    def fn(x, w):
        return (x * w).sin() + 1, x.sum()

    compiled, grads = suture.compile(fn), []
    for call in (fn, compiled, compiled):
        x, w = torch.linspace(0, 1, 5), torch.full((5,), 2.0, requires_grad=True)
        out, rest = call(x, w)
        assert out.requires_grad and not rest.requires_grad
        (first,) = torch.autograd.grad(out.sum(), w, create_graph=True)
        grads.append((first.detach(), *torch.autograd.grad(first.sum(), w)))
    assert way(compiled) == "plain"
    torch.testing.assert_close(grads[1:], [grads[0]] * 2, rtol=0, atol=0)


def test_a_backend_that_is_faster_keeps_derivatives(monkeypatch):
    monkeypatch.setattr(plain, "_GAIN", 0.0)
    compiled = suture.compile(lambda w: w * 2, isolate_recompiles=True)
    compiled(torch.ones(2, requires_grad=True))
    assert way(compiled) == "training"


@pytest.mark.usefixtures("slow_backend")
def test_hooks_on_saved_tensors_see_one_run():
    from torch.autograd.graph import saved_tensors_hooks

    packed = []
    compiled = suture.compile(lambda w: w.exp() * 2, isolate_recompiles=True)
    with saved_tensors_hooks(lambda t: packed.append(1) or t, lambda t: t):
        compiled(torch.ones(2, requires_grad=True))
    assert len(packed) == 1


@pytest.mark.usefixtures("slow_backend")
def test_symbolic_sizes_are_plain_only_up_to_a_multiple_of_what_was_measured():
    compiled = suture.compile(lambda x: x * 2 + 1, dynamic=True)
    for size in (100, 120, 5000, 7, 100):
        x = torch.randn(size)
        torch.testing.assert_close(compiled(x), x * 2 + 1)
    assert way(compiled) == "plain"
    caller = next(
        v.caller for p in suture.look.unit_of(compiled).points.values() for v in p.data.variants
    )
    taken = []
    limited = plain._up_to(
        lambda *a: taken.append("plain"), lambda *a: taken.append("other"), (0,), (torch.ones(100),)
    )
    for size in (100, 400, 401):
        limited(torch.ones(size))
    assert taken == ["plain", "plain", "other"]
    assert caller.run is not caller.plain


@pytest.mark.usefixtures("slow_backend")
def test_errors_of_the_operations_are_the_programs():
    compiled = suture.compile(lambda i, x: x[i] + 1)
    x = torch.ones(3)
    assert compiled(torch.tensor([0, 2]), x).tolist() == [2, 2]
    with pytest.raises((IndexError, RuntimeError)):
        compiled(torch.tensor([0, 5]), x)


def test_a_device_is_waited_for_after_several_calls(monkeypatch):
    """What a call takes of the program's time counts, not how long its result is on the way."""
    done = []
    monkeypatch.setattr(plain, "_on_gpu", lambda args: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: done.append("wait"))
    assert plain._seconds(lambda: done.append("call"), ()) >= 0
    sample = ["wait", *["call"] * plain._AHEAD, "wait"]
    assert done == sample * plain._TURNS


def test_a_copy_that_the_backend_cannot_change():
    gm = traced(lambda x: (torch.sin(x) + 1,), torch.ones(2)).module
    copied = small(gm)
    assert copied is not None
    for node in list(gm.graph.nodes)[::-1]:
        gm.graph.erase_node(node)
    torch.testing.assert_close(copied.forward(torch.ones(2))[0], torch.ones(2).sin() + 1)
