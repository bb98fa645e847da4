"""Which way a graph is called, and that what is left out on the way would have done nothing."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
import torch
from torch.autograd.graph import saved_tensors_hooks

import suture
from suture.runtime.callers import direct, plain


@pytest.fixture(autouse=True)
def never_plain(monkeypatch):
    """What is tested here are the ways through the backend."""
    monkeypatch.setattr(plain, "_GAIN", 0.0)


def ways(compiled: Any) -> list[str]:
    """The ways into the graphs of a compiled function, in order."""
    return re.findall(r"# the graph is called (\w+):", suture.code(compiled))


def agrees(fn: Any, *args: Any, way: str, calls: int = 3) -> Any:
    """Compiled and eager do the same, call by call, the graph being called this way."""
    compiled = suture.compile(fn)
    for _ in range(calls):
        torch.testing.assert_close(compiled(*args), fn(*args))
    assert ways(compiled) == [way]
    return compiled


def test_a_graph_that_only_computes_is_called_directly():
    x, w = torch.randn(4), torch.randn(4)
    agrees(lambda x, w: (x * w + 1, x.sum()), x, w, way="direct")


def test_arguments_are_not_used_up():
    x = torch.randn(4)
    rows = [x, x + 1]
    agrees(lambda rows: torch.stack(rows).sin(), rows, way="direct")
    assert len(rows) == 2


def test_no_derivative_is_recorded_where_an_input_requires_one():
    x, w = torch.randn(3, 3, requires_grad=True), torch.randn(3, 3)
    compiled = suture.compile(lambda x, w: x.detach() @ w)
    for _ in range(3):
        out = compiled(x, w)
        assert not out.requires_grad
        torch.testing.assert_close(out, x.detach() @ w)
    with torch.no_grad():
        agrees(lambda x, w: x @ w + 1, x, w, way="direct")
    assert torch.is_grad_enabled()


def test_grad_mode_that_changes_inside():
    def fn(x):
        with torch.no_grad():
            y = x * 2
        return y + 1

    compiled = suture.compile(fn)
    for grad in (False, True, False):
        x = torch.ones(3, requires_grad=grad)
        out = compiled(x)
        assert out.requires_grad is fn(x).requires_grad
        torch.testing.assert_close(out, fn(x))
        assert torch.is_grad_enabled()


def test_autocast_stays_around_the_graph():
    def fn(a, b):
        return a @ b

    a, b = torch.randn(4, 4), torch.randn(4, 4)
    compiled = suture.compile(fn)
    with torch.autocast("cpu", torch.bfloat16):
        for _ in range(3):
            assert compiled(a, b).dtype is torch.bfloat16
            assert torch.is_autocast_enabled("cpu")
    assert ways(compiled) == ["direct"]
    assert compiled(a, b).dtype is torch.float32


def test_autocast_is_off_on_both_sides_of_training():
    """What was compiled has its casts; operations of its own kernels get no others."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Tanh(), torch.nn.Linear(8, 8))
    eager = copy.deepcopy(net)
    compiled = suture.compile(net)
    for _ in range(3):
        x = torch.randn(4, 8)
        both = []
        for one in (compiled, eager):
            with torch.autocast("cpu", torch.bfloat16):
                loss = one(x).float().square().sum()
                loss.backward()
            both.append([loss.detach(), *(p.grad for p in one.parameters())])
        torch.testing.assert_close(*both, rtol=2e-2, atol=2e-2)
    assert ways(compiled) == ["training"]


def test_a_graph_that_switches_grad_mode_is_called_as_short_as_others():
    def fn(x, w):
        with torch.no_grad():
            y = x * 2
        return (y @ w).sin()

    agrees(fn, torch.randn(4, 4), torch.randn(4, 4), way="direct")
    agrees(fn, torch.randn(4, 4), torch.randn(4, 4, requires_grad=True), way="training")


def test_autograd_notices_what_a_graph_writes():
    compiled = suture.compile(lambda x: x.add_(1) * 2)
    compiled(torch.zeros(3))
    compiled(torch.zeros(3))
    assert ways(compiled) == ["direct"]
    leaf, x = torch.ones(3, requires_grad=True), torch.ones(3)
    kept = leaf * x
    assert compiled(x).tolist() == [4, 4, 4]
    assert x._version == 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        kept.sum().backward()


def test_results_that_are_views_of_inputs_stay_views():
    compiled = suture.compile(lambda x: (x[0], x * 2))
    x = torch.zeros(2, 3)
    for _ in range(3):
        row, _ = compiled(x)
        row.add_(1)
    assert x[0].tolist() == [3, 3, 3]
    assert ways(compiled) == ["direct"]


def test_results_that_share_memory_with_each_other():
    def fn(x):
        y = x * 2
        return y, y[0]

    compiled = suture.compile(fn)
    for _ in range(3):
        whole, row = compiled(torch.ones(2, 2))
        row.zero_()
        assert whole.tolist() == [[0, 0], [2, 2]]


def test_shapes_that_a_graph_changes():
    def fn(x):
        x.t_()
        return x + 1

    compiled = suture.compile(fn)
    for _ in range(3):
        x, same = torch.randn(2, 3), torch.empty(0)
        same = x.clone()
        torch.testing.assert_close(compiled(x), fn(same))
        assert x.shape == same.shape == (3, 2)


def test_random_numbers_go_on():
    compiled = suture.compile(lambda x: torch.nn.functional.dropout(x, 0.5))
    x = torch.ones(64)
    results = [compiled(x) for _ in range(4)]
    assert any(not torch.equal(results[2], other) for other in results[3:])
    torch.manual_seed(3)
    first = compiled(x)
    torch.manual_seed(3)
    assert torch.equal(compiled(x), first)


def test_one_tensor_twice():
    x = torch.randn(3)
    compiled = agrees(lambda a, b: a * b + 1, x, x, way="direct")
    torch.testing.assert_close(compiled(x, x + 1), x * (x + 1) + 1)


def test_the_profiler_sees_the_graph():
    compiled = suture.compile(lambda x: x.sin() + 1)
    for _ in range(3):
        compiled(torch.ones(4))
    with torch.profiler.profile(acc_events=True) as profile:
        compiled(torch.ones(4))
    assert any("CompiledFxGraph" in event.name for event in profile.events())


def test_wrapper_subclasses_are_taken_apart():
    nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged)
    compiled = suture.compile(lambda x: x * 2)
    for _ in range(3):
        pieces = compiled(nested).unbind()
        assert [p.tolist() for p in pieces] == [[2, 2], [2, 2, 2]]
    assert "direct" not in ways(compiled)


def test_inputs_that_are_not_aligned():
    base = torch.arange(33.0)
    agrees(lambda x: x * 2 + 1, base[1:], way="direct")


def test_training_goes_straight_to_the_autograd_function():
    x, w = torch.randn(4), torch.randn(4, requires_grad=True)
    compiled = agrees(lambda x, w: x * w + 1, x, w, way="training")
    for _ in range(3):
        w.grad = None
        compiled(x, w).sum().backward()
        torch.testing.assert_close(w.grad, x)


def test_training_with_inputs_that_get_no_derivative():
    def fn(x, w):
        return x.detach() * w

    x, w = torch.randn(3, requires_grad=True), torch.randn(3, requires_grad=True)
    compiled = suture.compile(fn)
    for _ in range(3):
        compiled(x, w).sum().backward()
    assert x.grad is None
    torch.testing.assert_close(w.grad, 3 * x.detach())


def test_training_notices_what_was_written_since():
    x, w = torch.randn(4), torch.randn(4, requires_grad=True)
    compiled = suture.compile(lambda x, w: (x * w).sin())
    for _ in range(2):
        compiled(x, w)
    out = compiled(x, w)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        out.sum().backward()


def test_a_second_derivative_is_refused_as_by_torch():
    w = torch.randn(4, requires_grad=True)
    compiled = suture.compile(lambda w: (w * w * w).sin())
    for _ in range(3):
        out = compiled(w)
    (first,) = torch.autograd.grad(out.sum(), w, create_graph=True)
    with pytest.raises(RuntimeError, match="does not currently support double backward"):
        first.sum().backward()


def test_hooks_on_what_autograd_saves():
    w = torch.randn(4, requires_grad=True)
    compiled = suture.compile(lambda w: w.sin() * 2)
    for _ in range(3):
        compiled(w)
    packed = []

    def pack(value):
        packed.append(value)
        return value

    with saved_tensors_hooks(pack, lambda value: value):
        out = compiled(w)
    assert packed
    out.sum().backward()
    torch.testing.assert_close(w.grad, 2 * w.detach().cos())


def test_transforms_see_the_operations():
    compiled = suture.compile(lambda x: x.sin() * 2)
    rows = torch.randn(3, 4)
    for _ in range(3):
        compiled(rows)
    torch.testing.assert_close(torch.func.vmap(compiled)(rows), rows.sin() * 2)
    torch.testing.assert_close(torch.func.grad(lambda x: compiled(x).sum())(rows), 2 * rows.cos())


def test_inference_mode():
    compiled = suture.compile(lambda x: x + 1)
    for _ in range(3):
        with torch.inference_mode():
            assert compiled(torch.ones(2)).is_inference()
        assert not compiled(torch.ones(2)).is_inference()


def test_metadata_that_say_it_otherwise(monkeypatch):
    from suture.torch_private import aot_facts

    class Other:
        """Metadata of another release."""

    facts = aot_facts._facts(Other(), len, Other())
    assert facts.reasons and "nothing is known" in facts.reasons[0]
    monkeypatch.setattr(aot_facts, "_read_facts", lambda *args: Other().missing)
    compiled = suture.compile(lambda x: x.cos() + 2)
    for _ in range(3):
        torch.testing.assert_close(compiled(torch.ones(3)), torch.ones(3).cos() + 2)
    assert ways(compiled) == ["wrapped"]


def test_other_backends_are_called_as_they_are():
    compiled = suture.compile(lambda x: x + 1, backend="aot_eager")
    compiled(torch.ones(2))
    assert ways(compiled) == ["wrapped"]


def test_a_model_whose_parameters_are_bound():
    model = torch.nn.Linear(3, 2)
    compiled = suture.compile(model)
    with torch.no_grad():
        for _ in range(3):
            x = torch.randn(2, 3)
            torch.testing.assert_close(compiled(x), model(x))
        model.weight.add_(1)
        torch.testing.assert_close(compiled(x), model(x))
    assert ways(compiled) == ["direct"]


def test_the_forward_side_is_ours_and_the_backward_side_torchs():
    def fn(w):  # more operations than are measured against running them one by one
        y = w.sin().cos().tanh().sigmoid().exp().sin().cos().tanh()
        return y * 2, w.detach() + 1, w.argmax()

    w = torch.randn(4, requires_grad=True)
    compiled = suture.compile(fn)
    kept = [compiled(w), compiled(w)]  # their graphs live as long as they do
    first, later = (outputs[0].grad_fn for outputs in kept)
    assert type(later).__name__ == type(first).__name__
    assert issubclass(later._forward_cls, first._forward_cls)
    assert later._forward_cls is not first._forward_cls
    assert later.__dict__ == first.__dict__
    assert len(later.saved_tensors) == len(first.saved_tensors)


def test_results_without_a_derivative():
    def fn(w, x):
        return w * x, x * 2, w.argmax(), 3

    w, x = torch.randn(4, requires_grad=True), torch.randn(4)
    compiled = suture.compile(fn)
    for _ in range(3):
        w.grad = None
        made, wanted = compiled(w, x), fn(w, x)
        torch.testing.assert_close(made, wanted)
        assert [getattr(o, "requires_grad", None) for o in made] == [True, False, False, None]
        made[0].sum().backward()
        torch.testing.assert_close(w.grad, x)


def test_a_graph_kept_for_a_second_backward():
    w = torch.randn(4, requires_grad=True)
    compiled = suture.compile(lambda w: w.sin().square())
    for _ in range(3):
        w.grad = None
        out = compiled(w).sum()
        out.backward(retain_graph=True)
        out.backward()
        torch.testing.assert_close(w.grad, 4 * w.detach().sin() * w.detach().cos())
        with pytest.raises(RuntimeError, match="second time"):
            out.backward()


def test_training_a_model_step_by_step():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 2))
    twin = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.GELU(), torch.nn.Linear(8, 2))
    twin.load_state_dict(model.state_dict())
    compiled = suture.compile(model)
    for run, of in ((compiled, model), (twin, twin)):
        optimizer = torch.optim.SGD(of.parameters(), lr=0.1)
        torch.manual_seed(1)
        for rows in (3, 3, 5, 5):
            optimizer.zero_grad()
            run(torch.randn(rows, 4)).square().sum().backward()
            optimizer.step()
    torch.testing.assert_close(list(model.parameters()), list(twin.parameters()))


def test_a_step_of_an_optimizer_is_called_directly_with_grad_mode_off(monkeypatch):
    """Its inputs require grad while grad mode is on; what it computes is not followed."""
    torch.manual_seed(0)
    start, made, seen = [torch.randn(3, 3), torch.randn(3)], direct.without_grad, []

    def watched(call: Any) -> Any:
        return made(lambda args: seen.append(torch.is_grad_enabled()) or call(args))

    monkeypatch.setattr(direct, "without_grad", watched)

    def steps(compiled: bool) -> Any:
        params = [torch.nn.Parameter(one.clone()) for one in start]
        optimizer = torch.optim.Adam(params, lr=0.1, foreach=True)
        for one in params:
            one.grad = one.detach() * 2
        call = suture.compile(optimizer.step) if compiled else optimizer.step
        for _ in range(3):
            call()
            assert torch.is_grad_enabled()
        assert not any(t.requires_grad for s in optimizer.state.values() for t in s.values())
        kept = params[0] * params[1]
        call()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            kept.sum().backward()
        return params

    torch.testing.assert_close(steps(True), steps(False))
    assert seen == [False, False]  # the first call of each of two variants goes the long way
    assert not suture.stats().breaks
