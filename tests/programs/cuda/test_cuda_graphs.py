"""CUDA graphs: recorded once, replayed in order, never silently overwritten."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import suture

pytestmark = [
    pytest.mark.skipif(
        not torch.cuda.is_available(), reason="needs a CUDA GPU, and this machine has none"
    ),
    # torch's own: its trees begin with a graph that records nothing.
    pytest.mark.filterwarnings("ignore:The CUDA Graph is empty"),
    pytest.mark.filterwarnings("ignore:TensorFloat32 tensor cores"),
]

STEPS = 8


@pytest.fixture(autouse=True)
def fresh_trees():
    """Neither recordings nor marked steps of another test."""
    from torch._inductor.cudagraph_trees import reset_cudagraph_trees

    suture.reset()
    reset_cudagraph_trees()
    yield
    reset_cudagraph_trees()


def recorded() -> int:
    """How many graphs the trees of this device have recorded so far."""
    from torch._inductor.cudagraph_trees import get_container

    manager = get_container(torch.cuda.current_device()).tree_manager
    return 0 if manager is None else manager.new_graph_id().id


def steady(call: Any) -> None:
    """Nothing is recorded any more after a few calls."""
    for _ in range(4):
        call()
    before = recorded()
    for _ in range(STEPS):
        call()
    assert recorded() - before == 1  # asking takes a number itself


def skips() -> int:
    from torch._dynamo.utils import counters

    return int(counters["inductor"]["cudagraph_skips"])


def rand(*sizes: int) -> torch.Tensor:
    return torch.randn(*sizes, device="cuda")


def test_recorded_once_while_results_are_kept():
    compiled = suture.compile(lambda x: x.sin() + 1, mode="reduce-overhead")
    kept: list[Any] = []

    def call() -> None:
        x = rand(16)
        out = compiled(x)
        torch.testing.assert_close(out, x.sin() + 1)
        kept.append(out)
        del kept[:-2]

    steady(call)


def test_a_warm_call_asks_the_trees_no_more_than_it_must(monkeypatch):
    from torch._inductor.cudagraph_trees import CUDAGraphTreeManager

    mlp = nn.Linear(8, 8).cuda()

    def fn(x):
        for _ in range(3):
            x = mlp(x).relu()
            suture.graph_break()
        return x

    compiled = suture.compile(fn, mode="reduce-overhead")
    with torch.no_grad():
        for _ in range(6):
            compiled(rand(4, 8))
        monkeypatch.setattr(CUDAGraphTreeManager, "_run", None)
        for _ in range(3):
            x = rand(4, 8)
            torch.testing.assert_close(compiled(x).clone(), fn(x))


def _kept_over_calls(compile: Any, warm: int) -> list[str]:
    """What becomes of results that are kept over later calls: the words of the error, or whether
    the numbers are still theirs."""
    compiled = compile(lambda x: x * 2, mode="reduce-overhead")
    for _ in range(warm):
        compiled(rand(4))
    told = []
    for _ in range(3):
        x = rand(4)
        first = compiled(x)
        compiled(rand(4))
        try:
            told.append(str(torch.equal(first.clone(), x * 2)))
        except RuntimeError as error:
            told.append(str(error).partition(". Stack trace")[0])
    return told


@pytest.mark.parametrize("warm", [0, 1, 4])
def test_results_that_are_kept_over_calls_are_as_under_torch_compile(warm):
    from torch._inductor.cudagraph_trees import reset_cudagraph_trees

    theirs = _kept_over_calls(torch.compile, warm)
    torch._dynamo.reset()
    reset_cudagraph_trees()
    assert _kept_over_calls(suture.compile, warm) == theirs


def test_marked_steps_keep_results_of_one_step():
    compiled = suture.compile(lambda x: x * 2, mode="reduce-overhead")
    for _ in range(4):
        torch.compiler.cudagraph_mark_step_begin()
        x, y = rand(4), rand(4)
        first, second = compiled(x), compiled(y)
        torch.testing.assert_close(first, x * 2)
        torch.testing.assert_close(second, y * 2)


def test_a_break_in_a_loop():
    mlp = nn.Linear(8, 8).cuda()

    def fn(x):
        for _ in range(6):
            x = torch.tanh(mlp(x)) + x
            suture.graph_break()
        return x

    compiled = suture.compile(fn, mode="reduce-overhead")

    def call() -> None:
        x = rand(4, 8)
        with torch.no_grad():
            torch.testing.assert_close(compiled(x), fn(x), rtol=1e-4, atol=1e-4)

    steady(call)


def test_training_with_a_backward_to_come():
    torch.manual_seed(0)
    model, twin = nn.Linear(8, 8).cuda(), nn.Linear(8, 8).cuda()
    twin.load_state_dict(model.state_dict())
    compiled = suture.compile(model, mode="reduce-overhead")
    for _ in range(STEPS):
        x = rand(4, 8)
        for run, of in ((compiled, model), (twin, twin)):
            of.zero_grad()
            run(x).square().sum().backward()
        torch.testing.assert_close(model.weight.grad, twin.weight.grad, rtol=1e-3, atol=1e-4)


def test_two_models_take_turns():
    one, two = nn.Linear(8, 8).cuda(), nn.Linear(8, 8).cuda()
    first = suture.compile(one, mode="reduce-overhead")
    second = suture.compile(two, mode="reduce-overhead")

    def call() -> None:
        x = rand(4, 8)
        with torch.no_grad():
            torch.testing.assert_close(first(x).clone(), one(x))
            torch.testing.assert_close(second(x).clone(), two(x))

    steady(call)


def test_sizes_that_change():
    compiled = suture.compile(lambda x: (x + 1).relu(), mode="reduce-overhead")
    for _ in range(3):
        for rows in (2, 5, 9):
            x = rand(rows, 4)
            torch.testing.assert_close(compiled(x), (x + 1).relu())


def test_a_marked_cache_is_written_in_place():
    class Cache:
        def __init__(self) -> None:
            self.keys = torch.zeros(8, 4, device="cuda")
            self.length = torch.zeros(1, dtype=torch.int64, device="cuda")
            for one in (self.keys, self.length):
                torch._dynamo.mark_static_address(one, guard=False)

    def step(cache, row):
        cache.keys.index_copy_(0, cache.length, row)
        cache.length.add_(1)
        return cache.keys.sum(0)

    before = skips()
    compiled = suture.compile(step, mode="reduce-overhead")
    ours, theirs = Cache(), Cache()
    for _ in range(8):
        row = rand(1, 4)
        torch.testing.assert_close(compiled(ours, row), step(theirs, row))
    torch.testing.assert_close(ours.keys, theirs.keys)
    assert ours.length.item() == 8
    assert skips() == before


def test_small_graphs_in_the_default_mode():
    compiled = suture.compile(lambda x: x + 1)
    for _ in range(5):
        x = rand(16)
        torch.testing.assert_close(compiled(x), x + 1)
    text = suture.code(compiled)
    assert "called plain" in text or "called direct" in text


def test_large_graphs_in_the_default_mode_stay_compiled():
    layer = nn.Sequential(*(nn.Linear(16, 16) for _ in range(12))).cuda()
    compiled = suture.compile(layer)
    with torch.no_grad():
        for _ in range(4):
            x = rand(4, 16)
            torch.testing.assert_close(compiled(x), layer(x), rtol=1e-4, atol=1e-4)
    assert "called direct" in suture.code(compiled)


def test_backward_inside_a_compiled_function():
    w = torch.randn(8, device="cuda", requires_grad=True)

    def step(x):
        loss = (x * w).square().sum()
        loss.backward()
        return loss.detach()

    compiled = suture.compile(step)
    x = rand(8)
    for _ in range(3):
        w.grad = None
        compiled(x)
        torch.testing.assert_close(w.grad, 2 * x * x * w.detach())
