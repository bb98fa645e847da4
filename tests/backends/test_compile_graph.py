"""One graph through one backend: results, state that is kept, failures."""

import os
import random
import subprocess
import sys
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from suture import events
from suture.backends import Allowed, Origin, Recorder, compile_graph, configure, count_ops
from suture.errors import BackendFailed
from tests.backends.graphs import traced


def layer(x, weight, bias):
    return (torch.sin(F.linear(x, weight, bias)),)


def layer_inputs():
    linear = torch.nn.Linear(4, 3)
    return torch.randn(2, 4), linear.weight, linear.bias


@pytest.mark.parametrize("name", ["eager", "aot_eager", "inductor"])
def test_same_values_and_gradients_as_eager(name):
    x, weight, bias = layer_inputs()
    graph = traced(layer, x, weight, bias)
    run = compile_graph(configure(name), replace(graph, static=(1, 2)))
    (out,) = run(x, weight, bias)
    out.sum().backward()
    grads = weight.grad.clone(), bias.grad.clone()
    weight.grad = bias.grad = None
    (expected,) = layer(x, weight, bias)
    expected.sum().backward()
    torch.testing.assert_close(out, expected)
    torch.testing.assert_close(grads, (weight.grad, bias.grad))


def test_inputs_mutated_in_the_graph_are_mutated():
    def grow(x):
        return (x.add_(1) * 2,)

    for name in ("eager", "aot_eager", "inductor"):
        graph = traced(grow, torch.zeros(2))
        x = torch.zeros(2)
        (out,) = compile_graph(configure(name), graph)(x)
        assert x.tolist() == [1, 1], name
        assert out.tolist() == [2, 2], name


def test_noop_gives_its_first_result_ever_after():
    graph = traced(lambda x: (x + 1,), torch.zeros(2))
    run = compile_graph(configure("noop"), graph)
    first = run(torch.zeros(2))
    assert run(torch.ones(2)) is first


def test_recorder_counts_graphs_ops_and_runs():
    recorder = Recorder()
    graph = traced(lambda x: (torch.sin(x) + 1,), torch.zeros(2))
    run = compile_graph(configure(recorder), graph)
    run(torch.zeros(2))
    run(torch.zeros(2))
    assert (recorder.count, recorder.ops, recorder.runs) == (1, 2, 2)
    assert "sin" in recorder.graphs[0].text
    assert count_ops(graph.module) == 2
    recorder.clear()
    assert recorder.count == 0


def test_global_state_is_as_before():
    def careless(gm, inputs):
        torch.manual_seed(1)
        random.seed(1)
        torch.set_grad_enabled(False)
        torch.set_default_dtype(torch.float64)
        return gm.forward

    graph = traced(lambda x: (x + 1,), torch.zeros(2))
    before = torch.get_rng_state(), random.getstate()
    compile_graph(configure(careless), graph)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert random.getstate() == before[1]
    assert torch.is_grad_enabled()
    assert torch.get_default_dtype() is torch.float32


def test_a_backend_finds_what_torchs_backends_expect():
    seen = {}

    def looks(gm, inputs):
        context = torch._guards.TracingContext.get()
        seen.update(mode=context.fake_mode, id=torch._guards.CompileContext.current_compile_id())
        return gm.forward

    graph = traced(lambda x: (x + 1,), torch.zeros(2))
    compile_graph(configure(looks), graph)
    first = seen["id"]
    assert seen["mode"] is graph.fake_mode
    compile_graph(configure(looks), graph)
    assert seen["id"] != first
    assert torch._guards.TracingContext.try_get() is None


def test_failure_names_function_graph_and_lines_and_keeps_the_cause():
    def broken(gm, inputs):
        raise KeyError("lost")

    graph = traced(lambda x: (x + 1,), torch.zeros(2))
    for node in graph.module.graph.nodes:
        node.stack_trace = 'File "model.py", line 7, in forward\n    return x + 1'
    with pytest.raises(BackendFailed) as caught:
        compile_graph(configure(broken), graph, Origin("forward", graph="graph_0"))
    error = caught.value
    assert str(error).splitlines() == [
        "backend 'broken' failed on graph_0 of forward",
        '  File "model.py", line 7, in forward  return x + 1',
        "KeyError: 'lost'",
    ]
    assert isinstance(error.__cause__, KeyError)
    assert error.inner_exception is error.__cause__
    assert isinstance(error, torch._dynamo.exc.BackendCompilerFailed)


def test_many_lines_are_cut_in_the_middle():
    def broken(gm, inputs):
        raise KeyError

    def long(x):
        for _ in range(20):
            x = x + 1
        return (x,)

    graph = traced(long, torch.zeros(2))
    for number, node in enumerate(graph.module.graph.nodes):
        node.stack_trace = f'File "m.py", line {number}, in f\n    x'
    with pytest.raises(BackendFailed, match="14 more lines") as caught:
        compile_graph(configure(broken), graph)
    assert len(caught.value.lines) == 9


def test_a_result_that_cannot_be_called():
    graph = traced(lambda x: (x + 1,), torch.zeros(2))
    with pytest.raises(BackendFailed, match="NoneType, not a callable"):
        compile_graph(configure(lambda gm, inputs: None), graph)


def test_interrupts_pass():
    def interrupted(gm, inputs):
        raise KeyboardInterrupt

    graph = traced(lambda x: (x + 1,), torch.zeros(2))
    with pytest.raises(KeyboardInterrupt):
        compile_graph(configure(interrupted), graph)


def test_a_backend_that_declines_gets_the_graph_run_as_it_is():
    def declines(gm, inputs):
        raise torch._dynamo.exc.SkipFrame("too small")

    graph = traced(lambda x: (x + 1,), torch.zeros(2))
    (out,) = compile_graph(configure(declines), graph)(torch.zeros(2))
    assert out.tolist() == [1, 1]


def test_a_backend_that_declines_what_is_before_views_gets_them_taken():
    def declines(gm, inputs):
        raise torch._dynamo.exc.SkipFrame("too small")

    graph = traced(lambda x, y: (torch.sin(x), y.t()), torch.zeros(2), torch.zeros(2, 3))
    for node, value in zip(graph.module.graph.nodes, (*graph.inputs, torch.zeros(2))):
        node.meta["val"] = value
    view = next(node for node in graph.module.graph.nodes if node.target == "t")
    view.meta["val"] = graph.inputs[1].t()
    run = compile_graph(configure(declines), graph, allowed=Allowed(views_outside=True))
    first, second = run(torch.zeros(2), torch.zeros(2, 3))
    assert first.shape == (2,)
    assert second.shape == (3, 2)


def test_events_tell_of_success_and_failure():
    def broken(gm, inputs):
        raise KeyError("lost")

    graph = traced(lambda x: (x + 1,), torch.zeros(2))
    with events.recorded(events.BackendCompiled) as seen:
        compile_graph(configure("eager"), graph, Origin(point="p", graph="graph_0"))
        with pytest.raises(BackendFailed):
            compile_graph(configure(broken), graph)
    good, bad = seen
    assert (good.backend, good.graph, good.ops, good.error, good.point) == (
        "eager",
        "graph_0",
        1,
        "",
        "p",
    )
    assert bad.error == "KeyError: 'lost'"


def test_missing_compiler_is_named(tmp_path):
    program = """
import torch
from suture.backends import compile_graph, configure
from tests.backends.graphs import traced
graph = traced(lambda x: (torch.sin(x) + 1,), torch.zeros(64))
try:
    compile_graph(configure("inductor"), graph)
except torch._dynamo.exc.BackendCompilerFailed as error:
    print(error)
"""
    environment = {name: value for name, value in os.environ.items() if name != "CXX"}
    environment.update(PATH=str(tmp_path), TORCHINDUCTOR_CACHE_DIR=str(tmp_path))
    environment["PYTHONPATH"] = os.getcwd()
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )
    assert "needs a C++ compiler" in done.stdout, done.stdout + done.stderr
    assert "apt-get install g++" in done.stdout
