"""Words of torch's compiler: each is done, or named once. None is lost in silence."""

from __future__ import annotations

import logging
import re

import pytest
import torch
import torch._dynamo
import torch._dynamo.config as knobs
import torch._dynamo.decorators

import suture
from suture.switches import _torch_config, words
from tests.harness import Graphs
from tests.switches.rows import PAGE

X = torch.ones(3)


def hear(monkeypatch):
    """A list of what is named from now on."""
    monkeypatch.setattr(words, "_told", set())
    monkeypatch.setattr(_torch_config, "_told", set())
    told = []
    monkeypatch.setattr(
        logging.getLogger("suture.switches"), "warning", lambda form, *args: told.append(args[0])
    )
    return told


@pytest.fixture
def said(monkeypatch):
    return hear(monkeypatch)


def needs(where, name):
    if not hasattr(where, name):
        pytest.skip(f"this torch has no {name}")
    return getattr(where, name)


def test_override_cudagraphs_is_named_and_breaks_nothing(said):
    needs(torch._dynamo, "override_cudagraphs")

    @torch._dynamo.override_cudagraphs(fwd=False)
    def decorated(x):
        return x.sin()

    def fn(x):
        with torch._dynamo.override_cudagraphs(fwd=False):
            y = decorated(x)
        return y.cos()

    graphs = Graphs()
    assert torch.equal(torch.compile(fn, backend=graphs, fullgraph=True)(X), X.sin().cos())
    assert graphs.ops() == [["sin", "cos"]]
    assert said == ["torch._dynamo.override_cudagraphs"]


CALLS = [
    (
        "set_recursion_limit",
        lambda: torch._dynamo.set_recursion_limit(torch._dynamo.get_recursion_limit()),
    ),
    ("replay", lambda: torch._dynamo.replay("no such file")),
    ("allow_c_slot", lambda: torch._dynamo.allow_c_slot(3)),
    ("bytecode_debugger", lambda: torch._dynamo.bytecode_debugger.debug()),
]


@pytest.mark.parametrize(("word", "call"), CALLS)
def test_a_word_that_is_not_done_is_named_once(said, word, call):
    needs(torch._dynamo, word)
    for _ in range(2):
        try:
            call()
        except (OSError, TypeError):  # torch's own, of what it was given
            pass
    whole = "bytecode_debugger.debug" if word == "bytecode_debugger" else word
    assert said == [f"torch._dynamo.{whole}"]


def test_options_of_a_nested_region_are_named(said):
    torch.compiler.nested_compile_region(lambda x: x.sin())
    assert not said
    try:
        region = torch.compiler.nested_compile_region(lambda x: x.sin(), max_reuse_entries=4)
    except TypeError:
        pytest.skip("this torch has no such option")
    graphs = Graphs()
    assert torch.equal(torch.compile(region, backend=graphs, fullgraph=True)(X), X.sin())
    assert said == ["torch.compiler.nested_compile_region(max_reuse_entries=...)"]


def test_a_leaf_function_is_called_by_python():
    leaf_function = needs(torch._dynamo.decorators, "leaf_function")

    @leaf_function
    def leaf(x):
        return x * 2

    leaf.register_fake(torch.empty_like)
    compiled = torch.compile(lambda x: leaf(x.sin()).cos(), backend="eager")
    assert torch.equal(compiled(X), (X.sin() * 2).cos())
    assert [found.number for found in suture.stats().breaks] == ["GB0007"]


def test_hints_of_sizes_reach_torchs_shapes():
    hint = needs(torch._dynamo, "override_optimization_hint")

    def fn(x):
        n = x.sum().item()
        hint(n, 42)
        return x * n

    graphs = Graphs()
    torch.compile(fn, backend=graphs, fullgraph=True)(X.long())
    symbols = [
        n.meta["example_value"] for n in graphs.modules[0].graph.nodes if "example_value" in n.meta
    ]
    (shapes,) = {
        id(s.node.shape_env): s.node.shape_env for s in symbols if isinstance(s, torch.SymInt)
    }.values()
    assert 42 in shapes.var_to_hint_override.values()


@pytest.mark.parametrize("fullgraph", [False, True])
def test_a_wrong_hint_is_torchs_error(fullgraph, caplog):
    hint = needs(torch._dynamo, "override_optimization_hint")

    def of_a_text(x):
        hint(x.sum().item(), "four")
        return x + 1

    def of_a_tensor(x):
        hint(x, 4)
        return x + 2

    for fn, text in ((of_a_text, "expects val to be an int"), (of_a_tensor, "or int, got")):
        with pytest.raises(TypeError, match=text):
            torch.compile(fn, backend="eager", fullgraph=fullgraph)(X.long())
    assert "GB2090" not in caplog.text


def test_a_hint_that_torch_refuses_of_a_symbol_is_a_break(caplog):
    hint = needs(torch._dynamo, "override_optimization_hint")

    def fn(x):
        n = x.sum().item()
        hint(n + 1, 42)
        return x * n

    compiled = torch.compile(fn, backend="eager")
    assert torch.equal(compiled(X.long()), fn(X.long()))
    assert [found.number for found in suture.stats().breaks] == ["GB0007"]
    assert "GB2090" not in caplog.text
    with pytest.raises(torch._dynamo.exc.Unsupported, match="expects a single unbacked symbol"):
        torch.compile(fn, backend="eager", fullgraph=True)(X.long())


@torch._dynamo.patch_dynamo_config(verify_correctness=True)
def verified(x):
    return x * 2


@torch._dynamo.patch_dynamo_config(capture_scalar_outputs=True)
def scaled(x):
    return x * x.sum().item()


def test_a_knob_that_a_decorator_sets_holds_in_the_function_and_not_behind_it(said):
    held = []

    def backend(gm, inputs):
        operations = [node.name for node in gm.graph.nodes if node.op.startswith("call_")]
        held.append((operations, suture.config.verify))
        return gm.forward

    compiled = torch.compile(lambda x: verified(x.sin()).cos(), backend=backend)
    for _ in range(3):
        torch.testing.assert_close(compiled(X), (X.sin() * 2).cos())
        assert not knobs.verify_correctness
    assert held == [(["sin"], False), (["mul"], True), (["cos"], False)]
    assert not said


def test_a_knob_at_what_suture_does_anyway_is_no_break(said):
    graphs = Graphs()
    compiled = torch.compile(lambda x: scaled(x.sin()).cos(), backend=graphs, fullgraph=True)
    torch.testing.assert_close(compiled(X), scaled(X.sin()).cos())
    assert len(graphs) == 1 and not said


def test_disable_nested_graph_breaks_is_named(said):
    needs(torch._dynamo, "disable_nested_graph_breaks")

    @torch._dynamo.disable_nested_graph_breaks
    def inner(x):
        return x.sin()

    graphs = Graphs()
    torch.compile(lambda x: inner(x).cos(), backend=graphs, fullgraph=True)(X)
    assert said == ["torch._dynamo.config.nested_graph_breaks"]


def test_optimize_with_error_on_graph_break():
    def breaking(x):
        x = x.sin()
        torch._dynamo.graph_break()
        return x.cos()

    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch._dynamo.optimize("eager", error_on_graph_break=True)(breaking)(X)
    suture.reset()


# ---- every public name of torch's compiler is on the page

# Types that programs only name, and what torch itself uses.
_NO_WORDS = frozenset(
    {
        "CacheInfo", "GenerationTracker", "TensorifyState", "callback_handler", "code_context",
        "orig_code_map", "CompileId", "DynamoConfigPatchProxy", "CudagraphOverrideContextManager",
        "ErrorOnGraphBreakDecoratorContextManager",
    }
)  # fmt: skip


def public(module):
    """The names that a module offers: those it lists, and the functions and classes it has."""
    listed = set(getattr(module, "__all__", ()))
    mine = {
        name
        for name, value in vars(module).items()
        if callable(value) and str(getattr(value, "__module__", "")).startswith("torch.")
    }
    return {name for name in listed | mine if not name.startswith("_") and len(name) > 1}


@pytest.mark.skipif(
    not torch.__version__.startswith("2.13"), reason="the page has the names of torch 2.13"
)
@pytest.mark.parametrize("name", ["torch.compiler", "torch._dynamo"])
def test_every_name_of_torchs_compiler_is_in_the_table(name):
    module = torch.compiler if name == "torch.compiler" else torch._dynamo
    text = PAGE.read_text()
    names = public(module) - _NO_WORDS
    assert len(names) > 20
    assert not [one for one in sorted(names) if not re.search(rf"\b{one}\b", text)]
