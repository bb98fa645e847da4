"""What programs say by functions of torch._dynamo and torch.compiler, under install()."""

from __future__ import annotations

import logging

import pytest
import torch
import torch._dynamo
import torch._dynamo.config as knobs
from torch._dynamo.eval_frame import innermost_fn

import suture
from suture.switches import _torch_config
from tests.harness import Graphs

X = torch.arange(3.0)


def plain(x):
    return x.sin() + torch.compiler.is_compiling()


def breaking(x):
    torch._dynamo.graph_break()
    return x + 1


def test_run_compiles_nothing_and_uses_what_is_there():
    graphs = Graphs()
    compiled = torch.compile(plain, backend=graphs)
    assert torch.equal(torch._dynamo.run(compiled)(X), X.sin()) and not graphs.modules
    compiled(X)
    assert torch.equal(torch._dynamo.run(compiled)(X), X.sin() + 1)
    assert torch.equal(torch._dynamo.run()(compiled)(torch.ones(7)), torch.ones(7).sin())
    assert len(graphs) == 1
    compiled(torch.ones(7))
    assert len(graphs) == 2


def test_a_compiled_function_that_is_disabled_is_the_plain_one():
    graphs = Graphs()
    compiled = torch.compile(plain, backend=graphs)
    assert innermost_fn(compiled) is plain
    for disable in (torch.compiler.disable, torch._dynamo.disable):
        assert torch.equal(disable(compiled)(X), X.sin())
    assert not graphs.modules


def test_nothing_below_the_disabled_forward_of_a_module_is_compiled():
    class Net(torch.nn.Module):
        @torch.compiler.disable
        def forward(self, x):
            return plain(x)

    graphs = Graphs()
    for net in (Net(), torch.nn.Sequential(Net())):
        assert torch.equal(torch.compile(net, backend=graphs)(X), X.sin())
    assert not graphs.modules


def test_a_function_compiled_by_itself_is_compiled_below_a_disabled_one():
    graphs = Graphs()
    inner = torch.compile(plain, backend=graphs)

    class Net(torch.nn.Module):
        @torch.compiler.disable
        def forward(self, x):
            return inner(x)

    assert torch.equal(torch.compile(Net(), backend=graphs)(X), X.sin() + 1)
    assert len(graphs) == 1


@pytest.mark.skipif(not hasattr(torch._dynamo, "error_on_graph_break"), reason="torch < 2.9")
def test_error_on_graph_break_as_a_decorator_and_around_a_call():
    strict = torch._dynamo.error_on_graph_break(True)(breaking)
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(lambda x: strict(x) * 2, backend="eager")(X)
    compiled = torch.compile(breaking, backend="eager")
    with torch._dynamo.error_on_graph_break(True), pytest.raises(torch._dynamo.exc.Unsupported):
        compiled(X)
    lenient = torch._dynamo.error_on_graph_break(False)(breaking)

    def around(x):
        with torch._dynamo.error_on_graph_break(True):
            return lenient(x) * 2

    assert torch.equal(torch.compile(around, backend="eager")(X), (X + 1) * 2)
    assert torch.equal(compiled(X), X + 1)


def scaled(x):
    with torch._dynamo.patch_dynamo_config(capture_scalar_outputs=True, verbose=True):
        return x * x.sum().item()


def test_patch_dynamo_config_in_a_graph(monkeypatch):
    monkeypatch.setattr(_torch_config, "_told", set())
    said = []
    monkeypatch.setattr(logging.getLogger("suture.switches"), "warning", lambda *a: said.append(a))
    graphs = Graphs()
    assert torch.equal(torch.compile(scaled, backend=graphs, fullgraph=True)(X), X * 3)
    assert len(graphs) == 1 and [args[1] for args in said] == ["torch._dynamo.config.verbose"]


def test_patch_dynamo_config_that_changes_an_option_holds_for_what_follows():
    graphs = Graphs()
    with suture.config.patch(capture_scalar_outputs=False):
        assert torch.equal(torch.compile(scaled, backend=graphs)(X), X * 3)
    assert graphs.ops()[-1] == ["item", "mul"]
    assert not knobs.capture_scalar_outputs


def test_reset_code_forgets_one_function():
    graphs = Graphs()
    first = torch.compile(plain, backend=graphs)
    second = torch.compile(lambda x: x.cos(), backend=graphs)
    first(X), second(X)
    torch._dynamo.reset_code(plain.__code__)
    first(X), second(X)
    assert len(graphs) == 3


def test_a_class_whose_instances_cannot_be_called_comes_back_as_it_is(caplog):
    class Holder:
        def __init__(self, x):
            self.x = x

    with caplog.at_level(logging.WARNING, "suture.switches"):
        assert torch.compile(Holder) is Holder
    assert "cannot be called" in caplog.text


def test_a_filter_of_guards_that_is_no_function_is_refused():
    with pytest.raises(RuntimeError, match="guard_filter_fn is a function, not 3"):
        torch.compile(plain, backend="eager", options={"guard_filter_fn": 3})


def test_hooks_say_at_which_moment_something_was_compiled_again(caplog):
    step = 0
    torch._dynamo.register_hook_for_recompile_user_context(lambda: f"step {step}")
    compiled = torch.compile(lambda x, word: x + len(word), backend="eager")
    with caplog.at_level(logging.INFO, "suture.recompiles"):
        for step in (1, 2, 3):
            compiled(X, "a" * min(step, 2))
    torch._dynamo.reset_recompile_user_contexts()
    assert "the program says: step 2" in caplog.text
    assert "step 1" not in caplog.text and "step 3" not in caplog.text


def test_skip_frame_runs_the_rest_of_a_frame_in_python():
    def skipped(x):
        x = x.sin()
        torch._dynamo.skip_frame()
        return x.cos() + torch.compiler.is_compiling()

    graphs = Graphs()
    assert torch.equal(torch.compile(skipped, backend=graphs)(X), X.sin().cos())
    assert graphs.ops() == [["sin"]]


def test_step_unsupported_is_a_break():
    def stepping(x):
        x = x.sin()
        torch._dynamo.step_unsupported()
        return x.cos()

    graphs = Graphs()
    assert torch.equal(torch.compile(stepping, backend=graphs)(X), X.sin().cos())
    assert graphs.ops() == [["sin"], ["cos"]]


def test_what_is_forbidden_in_graphs_is_called_by_python():
    forbidden = torch._dynamo.forbid_in_graph(lambda x: x + torch.compiler.is_compiling())
    graphs = Graphs()
    compiled = torch.compile(lambda x: forbidden(x.sin()).cos(), backend=graphs)
    assert torch.equal(compiled(X), X.sin().cos())
    assert graphs.ops() == [["sin"], ["cos"]]


def test_bytecode_hooks_are_never_called():
    from torch._dynamo.convert_frame import register_bytecode_hook

    handle = register_bytecode_hook(lambda code, made: pytest.fail("no bytecode is rewritten"))
    torch.compile(plain, backend="eager")(X)
    handle.remove()


def test_comptime_runs_while_compiling():
    from torch._dynamo.comptime import comptime

    def fn(x):
        comptime.force_static(x.size(0))
        comptime.graph_break()
        comptime(lambda ctx: COMPILED.append(repr(ctx.get_local("x"))))
        return x * x.size(0)

    COMPILED.clear()
    graphs = Graphs()
    compiled = torch.compile(fn, backend=graphs, dynamic=False)
    assert torch.equal(compiled(X), X * 3) and torch.equal(compiled(X), X * 3)
    assert len(graphs) == 1 and COMPILED == ["Tensor(float32[3] cpu)"]
    assert [b.number for b in suture.stats().breaks] == ["GB0030"]


COMPILED: list[str] = []
