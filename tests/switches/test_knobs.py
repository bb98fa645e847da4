"""torch._dynamo.config and the environment, as programs written for torch.compile set them."""

from __future__ import annotations

import contextlib
import contextvars
import inspect
import logging
import re
import sys

import pytest
import torch
import torch._dynamo.config as knobs

import suture
from suture.switches import _torch_config, environment
from tests.harness import Graphs
from tests.switches.running import run

TORCH = tuple(map(int, torch.__version__.split(".")[:2]))


def compiled(fn, **kwargs):
    graphs = Graphs()
    return torch.compile(fn, backend=graphs, **kwargs), graphs


@pytest.mark.parametrize("name", ["TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE", "SUTURE_DISABLE"])
def test_an_environment_variable_disables_everything(name):
    program = (
        "import suture, torch; suture.install();"
        "f = torch.compile(lambda x: torch.compiler.is_compiling(), backend='eager');"
        "print(f(torch.ones(1)), suture.stats().variants)"
    )
    told = {value: run(program, (name, value)).stdout.split() for value in ("1", "0")}
    assert told == {"1": ["False", "0"], "0": ["True", "1"]}


def test_disable_runs_plainly_inside_the_patch_only():
    fn, graphs = compiled(lambda x: x + 1)
    with knobs.patch(disable=True):
        assert fn(torch.ones(1)).item() == 2
        assert len(graphs) == 0
    fn(torch.ones(1))
    assert len(graphs) == 1


@pytest.mark.parametrize("name", ["recompile_limit", "cache_size_limit"])
def test_recompile_limit(name):
    fn, graphs = compiled(lambda x, word: x + len(word))
    with knobs.patch({name: 2}):
        for word in ("a", "bb", "ccc", "dddd"):
            fn(torch.ones(1), word)
    assert len(graphs) == 2


def test_accumulated_recompile_limit():
    fn, graphs = compiled(lambda x, word: x + len(word))
    with knobs.patch(accumulated_recompile_limit=2):
        for word in ("a", "bb", "ccc", "dddd"):
            fn(torch.ones(1), word)
    assert len(graphs) == 2


def test_fail_on_recompile_limit_hit():
    fn, _ = compiled(lambda x, word: x + len(word))
    with knobs.patch(recompile_limit=1, fail_on_recompile_limit_hit=True):
        fn(torch.ones(1), "a")
        with pytest.raises(torch._dynamo.exc.FailOnRecompileLimitHit):
            fn(torch.ones(1), "b")


def test_error_on_recompile():
    fn, _ = compiled(lambda x, word: x + len(word))
    with knobs.patch(error_on_recompile=True):
        fn(torch.ones(1), "a")
        with pytest.raises(torch._dynamo.exc.RecompileError, match="word"):
            fn(torch.ones(1), "b")


def symbols(graphs):
    """How many inputs or sizes of the last graph are symbols."""
    values = [
        n.meta["example_value"] for n in graphs.modules[-1].graph.find_nodes(op="placeholder")
    ]
    numbers = [s for v in values for s in (v.shape if isinstance(v, torch.Tensor) else [v])]
    return sum(isinstance(n, (torch.SymInt, torch.SymFloat)) for n in numbers)


def test_automatic_dynamic_shapes():
    for wanted, found in ((True, 1), (False, 0)):
        fn, graphs = compiled(lambda x: x + 1)
        with knobs.patch(automatic_dynamic_shapes=wanted):
            fn(torch.ones(3))
            fn(torch.ones(4))
        assert symbols(graphs) == found


def test_assume_static_by_default():
    for wanted, found in ((True, 0), (False, 1)):
        fn, graphs = compiled(lambda x: x + 1)
        with knobs.patch(assume_static_by_default=wanted):
            fn(torch.ones(3))
        assert symbols(graphs) == found


def test_specialize_int_and_float():
    for knob, numbers in (("specialize_int", (3, 4)), ("specialize_float", (3.0, 4.0))):
        fn, graphs = compiled(lambda x, n: x * n)
        with knobs.patch({knob: True}):
            for n in numbers:
                fn(torch.ones(2), n)
        assert symbols(graphs) == 0 and len(graphs) == 2


def test_capture_scalar_outputs_true_beats_an_option_of_suture():
    fn, graphs = compiled(lambda x: x.sum().item() * x.sin())
    with suture.config.patch(capture_scalar_outputs=False):
        with knobs.patch(capture_scalar_outputs=True):
            fn(torch.ones(2))
        assert len(graphs) == 1
        fn(torch.ones(2, dtype=torch.float64))
        assert len(graphs) == 3


def test_capture_dynamic_output_shape_ops_true_beats_an_option_of_suture():
    fn, graphs = compiled(lambda x: x.nonzero() + 1)
    with suture.config.patch(capture_dynamic_output_shape_ops=False):
        with knobs.patch(capture_dynamic_output_shape_ops=True):
            fn(torch.ones(2))
        assert len(graphs) == 1 and not suture.stats().breaks


def test_dynamic_sources_name_tensors_and_single_sizes():
    for text, found in (("L['x']", 2), ("L['x']:0", 1), ("", 0)):
        fn, graphs = compiled(lambda x: x + 1)
        with torch.compiler.config.patch(dynamic_sources=text):
            fn(torch.ones(3, 4))
        assert symbols(graphs) == found


def test_static_sources_stay_constants_and_win():
    knobs_of_compiler = torch.compiler.config
    if not hasattr(knobs_of_compiler, "static_sources"):  # torch 2.15 has it first
        knobs_of_compiler = suture.config
    for static, dynamic, found in (
        ("L['x'], L['k']", "", (0, 3)),
        ("L['x']:0, L['k']", "", (0, 3)),
        ("L['x']:1", "L['x'], L['k']", (2, 1)),
        ("L.'[a-k]'.", "L['x'], L['k']", (2, 3)),
    ):
        fn, graphs = compiled(lambda x, k: x * k)
        with knobs_of_compiler.patch(static_sources=static):
            with torch.compiler.config.patch(dynamic_sources=dynamic):
                for n in (3, 5, 7):
                    assert fn(torch.ones(n, 2), n).shape == (n, 2)
        assert (symbols(graphs), len(graphs)) == found


def test_a_knob_without_a_counterpart_is_named_once(caplog):
    _torch_config._told.clear()
    fn, _ = compiled(lambda x, word: x + len(word))
    with caplog.at_level(logging.WARNING, "suture"), knobs.patch(guard_nn_modules=False):
        fn(torch.ones(1), "a")
        fn(torch.ones(1), "bb")
    assert [r.getMessage() for r in caplog.records] == [
        "torch._dynamo.config.guard_nn_modules = False is not a switch of suture; instead: suture's"
        " guards are its own; suture.guards(fn) shows them"
    ]


def test_no_knob_can_be_changed_in_silence():
    """Every knob of torch is taken over, or named with what suture does instead."""
    for module in (knobs, torch.compiler.config):
        for name, entry in module._config.items():
            if entry.alias is not None or name in _torch_config._INNER:
                continue
            if (module.__name__, name) in _torch_config.HONOURED:
                continue
            with set_to(entry, object()):
                named = [one[0] for one in _torch_config.unheard()]
            assert f"{module.__name__}.{name}" in named


@contextlib.contextmanager
def set_to(entry, value):
    """What a program sets, without the check of its type; before torch 2.13 it is an attribute."""
    kept = entry.user_override
    if isinstance(kept, contextvars.ContextVar):
        token = kept.set(value)
    else:
        entry.user_override = value
    try:
        yield
    finally:
        if isinstance(kept, contextvars.ContextVar):
            kept.reset(token)
        else:
            entry.user_override = kept


@pytest.mark.skipif(TORCH < (2, 13), reason="some knobs came with torch 2.13")
def test_what_is_said_of_knobs_is_said_of_knobs_that_exist():
    names = set(knobs._config) | set(torch.compiler.config._config)
    assert set(_torch_config.INSTEAD) <= names
    assert {k for m, k in _torch_config.HONOURED if m == "torch._dynamo.config"} <= names
    assert {knob for knob, _, _ in environment.KNOBS.values()} <= names


def test_no_variable_of_torchs_sources_can_be_set_in_silence(monkeypatch):
    """Each is taken over, read by what works below suture, or named."""
    text = inspect.getsource(knobs) + inspect.getsource(sys.modules["torch.compiler.config"])
    found = set(re.findall(r"[\"'](TORCH_?(?:DYNAMO|COMPILE)_[A-Z_]+)[\"']", text))
    assert len(found) > 20
    for variable in found - environment._READ:
        knob, _, default = environment.KNOBS.get(variable, ("", str, False))
        monkeypatch.setenv(variable, "0" if default is True else "1")
        named = [one[0] for one in _torch_config.unheard()]
        assert variable in named or ("torch._dynamo.config", knob) in _torch_config.HONOURED
        monkeypatch.delenv(variable)


def test_a_variable_that_torch_takes_for_a_default_counts(monkeypatch):
    monkeypatch.setenv("TORCH_DYNAMO_AUTOMATIC_DYNAMIC_SHAPES", "0")
    fn, graphs = compiled(lambda x: x + 1)
    fn(torch.ones(3))
    fn(torch.ones(4))
    assert symbols(graphs) == 0
    with suture.config.patch(raise_backend_errors=True):
        monkeypatch.setenv("TORCHDYNAMO_SUPPRESS_ERRORS", "1")
        assert _torch_config.options()["raise_backend_errors"] is False


@pytest.mark.parametrize(
    ("variable", "text", "instead"),
    [
        ("TORCHDYNAMO_VERBOSE", "1", "set SUTURE_LOGS"),
        ("TORCHDYNAMO_REPRO_AFTER", "aot", "suture minify"),
        ("TORCHDYNAMO_DEBUG_FUNCTION", "forward", "TorchDynamo alone"),
        ("TORCH_COMPILE_NO_SUCH_VARIABLE", "1", "TorchDynamo alone"),
    ],
)
def test_a_variable_without_a_counterpart_is_named_once(
    monkeypatch, caplog, variable, text, instead
):
    _torch_config._told.clear()
    monkeypatch.setenv(variable, text)
    fn, _ = compiled(lambda x, word: x + len(word))
    with caplog.at_level(logging.WARNING, "suture"):
        fn(torch.ones(1), "a")
        fn(torch.ones(1), "bb")
    (said,) = [r.getMessage() for r in caplog.records]
    assert said.startswith(f"{variable} = ") and instead in said


def test_without_install_torchs_knobs_are_torchs():
    suture.uninstall()
    fn = suture.compile(lambda x: torch.compiler.is_compiling(), backend="eager")
    with knobs.patch(disable=True):
        assert fn(torch.ones(1)) is True
    suture.install()
