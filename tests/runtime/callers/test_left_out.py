"""What the wrappers that are left out guarantee against others: TorchDynamo, effects that keep
their order, collectives, symbolic sizes on results, a wrong number of results."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
import torch.distributed as dist

import suture
from suture.runtime.callers import plain
from suture.torch_private import compilers

# TorchDynamo asks each input for its gradient
NO_GRAD_OF_RESULTS = "ignore:The .grad attribute of a Tensor that is not a leaf"


@pytest.fixture(autouse=True)
def never_plain(monkeypatch):
    """What is tested here are the ways through the backend."""
    monkeypatch.setattr(plain, "_GAIN", 0.0)


def ways(compiled: Any) -> list[str]:
    return re.findall(r"# the graph is called (\w+):", suture.code(compiled))


@pytest.fixture
def dynamo():
    """A way to compile with TorchDynamo, and the graphs that it made."""
    torch._dynamo.reset()
    graphs: list[torch.fx.GraphModule] = []

    def backend(gm, inputs):
        graphs.append(gm)
        return gm.forward

    yield (lambda fn, **options: torch.compile(fn, backend=backend, **options)), graphs
    torch._dynamo.reset()


@pytest.mark.filterwarnings(NO_GRAD_OF_RESULTS)
@pytest.mark.parametrize("way", ["direct", "training", "plain"])
def test_torchdynamo_traces_no_frame_below_a_variant(dynamo, monkeypatch, way):
    monkeypatch.setattr(plain, "_GAIN", float("inf") if way == "plain" else 0.0)
    compile_, graphs = dynamo
    inner = suture.compile(lambda x: (x * 3).sin() + 1, isolate_recompiles=True)
    x = torch.randn(4, requires_grad=way == "training")

    def outer(x, call):
        y = x * 2
        torch._dynamo.graph_break()
        return [call(y), y]  # a list: the frame behind the break is run with TorchDynamo's hook on

    theirs = compile_(outer)
    wanted = outer(x, lambda y: (y * 3).sin() + 1)
    inner(x * 2)
    before = len(graphs)
    for _ in range(4):
        torch.testing.assert_close(theirs(x, inner)[0], wanted[0])
    made = {str(node.target) for gm in graphs[before:] for node in gm.graph.nodes}
    assert not any("sin" in name for name in made), made
    assert ways(inner)[-1] == way


def test_effects_keep_their_order():
    """Inductor takes the tokens that order them into the graph; outside of it nothing is left."""
    from torch._higher_order_ops.effects import _EffectType, _register_effectful_op

    log: list[float] = []
    with torch.library._scoped_library("suture_effects", "DEF") as library:
        library.define("note(Tensor x) -> Tensor")
        library.impl("note", lambda x: log.append(float(x[0])) or x.clone(), "CPU")
        library.impl("note", lambda x: torch.empty_like(x), "Meta")
        note = torch.ops.suture_effects.note.default
        handle = _register_effectful_op(note, _EffectType.ORDERED)

        def fn(x):
            first = torch.ops.suture_effects.note(x + 1)
            torch.ops.suture_effects.note(x + 2)  # of no use: an effect is not dropped
            return first * 2 + torch.ops.suture_effects.note(x + 3)

        compiled, x = suture.compile(fn), torch.zeros(3)
        try:
            for _ in range(3):
                log.clear()
                assert compiled(x).tolist() == [5, 5, 5]
                assert log == [1, 2, 3]
        finally:
            suture.reset()
            if handle is not None:
                handle.destroy()


@pytest.fixture
def one_rank():
    store = dist.HashStore()
    dist.init_process_group("gloo", store=store, rank=0, world_size=1)
    yield
    suture.reset()
    dist.destroy_process_group()


@pytest.mark.usefixtures("one_rank")
def test_tensors_that_are_waited_for():
    """A result of a collective that nobody has waited for yet, as an input and inside."""
    from torch.distributed import _functional_collectives as functional

    def fn(x):
        return x * 2 + 1

    def inside(x):
        return functional.all_reduce(x * 3, "sum", dist.group.WORLD) + 1

    compiled, x = suture.compile(fn), torch.arange(4.0)
    for _ in range(3):
        pending = functional.all_reduce(x + 1, "sum", dist.group.WORLD)
        out = compiled(pending)
        torch.testing.assert_close(torch.as_tensor(out + 0), (x + 1) * 2 + 1)
    assert "direct" not in ways(compiled)
    within = suture.compile(inside)
    for _ in range(3):
        torch.testing.assert_close(torch.as_tensor(within(x) + 0), x * 3 + 1)


@pytest.mark.filterwarnings(NO_GRAD_OF_RESULTS)
@pytest.mark.parametrize("grad", [False, True])
def test_results_of_symbolic_size_in_a_function_of_torchdynamo(dynamo, grad):
    """Marks that another compiler would take as a hint are not there; what it computes is."""
    compile_, _ = dynamo
    compiled = suture.compile(lambda x: x.cumsum(0) * 2, dynamic=True)
    theirs = compile_(lambda y: y * y.shape[0])
    for size in (3, 5, 8, 13):
        x = torch.arange(float(size)).requires_grad_(grad)
        out = compiled(x)
        assert not hasattr(out, "_dynamo_weak_dynamic_indices")
        torch.testing.assert_close(theirs(out), x.cumsum(0) * 2 * size)
    assert ways(compiled) == ["training" if grad else "direct"]


@pytest.mark.parametrize("change", [lambda made: made[:-1], lambda made: [*made, made[-1]]])
@pytest.mark.parametrize("grad", [False, True])
def test_a_compiler_that_gives_another_number_of_results(monkeypatch, caplog, grad, change):
    found = compilers.inductor_call

    def wrong(compiled):
        call = found(compiled)
        return None if call is None else lambda args: change(list(call(args)))

    monkeypatch.setattr(compilers, "inductor_call", wrong)
    compiled = suture.compile(lambda x: (x * 2, x.sin()), isolate_recompiles=True)
    x = torch.ones(3, requires_grad=grad)
    for _ in range(3):  # the graph has failed: the program is run without it
        torch.testing.assert_close(compiled(x), (x * 2, x.sin()))
    assert re.search("values to unpack|results instead of", caplog.text)
