"""Checks of the migration table: the rows about torch._dynamo, run by test_migration.py."""

from __future__ import annotations

import logging

import pytest
import torch
import torch._dynamo

import suture
from tests.switches import test_dynamo_words as words
from tests.switches import test_named_words as named
from tests.switches import test_shapes as shapes
from tests.switches import test_stances as stances
from tests.switches import test_torch_reports as reports
from tests.switches.rows import CHECKS, X, captured, row

CHECKS["`torch._dynamo.reset()`"] = stances.test_reset_of_dynamo_forgets
CHECKS["`torch._dynamo.optimize(...)`"] = stances.test_optimize_of_dynamo_is_suture
CHECKS["`torch._dynamo.explain(fn)(x)`"] = reports.test_explain_of_dynamo


@row("`torch._dynamo.export`")
def _():
    made = torch._dynamo.export(lambda x: x + 1)(X)
    assert torch.equal(made.graph_module(X), X + 1) and not suture.stats().variants


CHECKS["`torch._dynamo.mark_dynamic`"] = shapes.test_a_broken_mark_is_torchs_error


@row("`torch._dynamo.graph_break()`")
def _():
    assert captured(stances.breaking, (X,)) == 2


@row("`torch._dynamo.error_on_graph_break(True)`")
def _():
    def asking(x):
        with torch._dynamo.error_on_graph_break(True):
            return stances.breaking(x)

    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(asking, backend="eager")(X)

    words.test_error_on_graph_break_as_a_decorator_and_around_a_call()


CHECKS["`torch._dynamo.step_unsupported()`"] = words.test_step_unsupported_is_a_break
CHECKS["`torch._dynamo.skip_frame()`"] = words.test_skip_frame_runs_the_rest_of_a_frame_in_python
CHECKS["`torch._dynamo.forbid_in_graph`"] = (
    words.test_what_is_forbidden_in_graphs_is_called_by_python
)
CHECKS["`torch._dynamo.run(fn)`"] = words.test_run_compiles_nothing_and_uses_what_is_there
CHECKS["`torch._dynamo.reset_code(code)`"] = words.test_reset_code_forgets_one_function
CHECKS["`register_bytecode_hook`"] = words.test_bytecode_hooks_are_never_called


@row("`torch._dynamo.patch_dynamo_config(...)`")
def _():
    with pytest.MonkeyPatch.context() as patch:
        words.test_patch_dynamo_config_in_a_graph(patch)
    words.test_patch_dynamo_config_that_changes_an_option_holds_for_what_follows()


CHECKS["`torch._dynamo.comptime`"] = words.test_comptime_runs_while_compiling


@row("other marks: `mark_static`, `maybe_mark_dynamic`, `mark_unbacked`, `mark_static_address`")
def _():
    from torch._dynamo.decorators import mark_static_address, mark_unbacked

    def marked(mark, fn=lambda x: x + 1, sizes=(5, 6, 7), **kwargs):
        tensors = [torch.ones(size) for size in sizes]
        for one in tensors:
            mark(one, 0)
        return captured(fn, *((one,) for one in tensors), **kwargs)

    assert marked(torch._dynamo.mark_static) == 3
    assert marked(torch._dynamo.maybe_mark_dynamic) == 1
    assert marked(torch._dynamo.maybe_mark_dynamic, lambda x: x.view(5), sizes=(5,)) == 1
    assert marked(mark_unbacked) == 1
    assert marked(lambda one, at: mark_static_address(one), sizes=(5,)) == 1


@row("`torch._dynamo.disallow_in_graph`")
def _():
    torch._dynamo.disallow_in_graph(torch.digamma)
    try:
        assert captured(lambda x: torch.digamma(x.sin()).cos(), (X,)) == 2
    finally:
        torch._dynamo.allow_in_graph(torch.digamma)


@row("`torch._dynamo.nonstrict_trace`")
def _():
    whole = torch._dynamo.nonstrict_trace(words.breaking)
    assert captured(lambda x: whole(x).cos(), (X,), fullgraph=True) == 1


@row("`torch._dynamo.dont_skip_tracing`")
def _():
    @torch._dynamo.dont_skip_tracing
    def traced(x):
        return x.sin()

    assert captured(lambda x: traced(x).cos(), (X,), fullgraph=True) == 1


@row("`torch._dynamo.register_backend`")
def _():
    seen = []

    @torch._dynamo.register_backend(name="backend_of_this_row")
    def backend(gm, inputs):
        seen.append(gm)
        return gm.forward

    torch.compile(lambda x: x + 1, backend="backend_of_this_row")(X)
    assert len(seen) == 1 and torch._dynamo.lookup_backend("backend_of_this_row") is backend


@row("`torch._dynamo.register_hook_for_recompile_user_context`")
def _():
    logger, told = logging.getLogger("suture.recompiles"), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(logger, "isEnabledFor", lambda level: True)
        patch.setattr(logger, "info", lambda form, text: told.append(text))
        torch._dynamo.register_hook_for_recompile_user_context(lambda: "epoch 3")
        captured(lambda x, word: x + len(word), (X, "a"), (X, "bb"))
    torch._dynamo.reset_recompile_user_contexts()
    assert ["the program says: epoch 3" in text for text in told] == [True]


CHECKS["`torch._dynamo.leaf_function`"] = named.test_a_leaf_function_is_called_by_python
CHECKS["`torch._dynamo.override_optimization_hint`"] = named.test_hints_of_sizes_reach_torchs_shapes


def naming(test, *args):
    """A test that hears what is named, as the check of a row."""

    def check():
        with pytest.MonkeyPatch.context() as patch:
            test(named.hear(patch), *args)

    return check


CHECKS["`torch._dynamo.override_cudagraphs`"] = naming(
    named.test_override_cudagraphs_is_named_and_breaks_nothing
)
CHECKS["`torch._dynamo.disable_nested_graph_breaks`"] = naming(
    named.test_disable_nested_graph_breaks_is_named
)
CHECKS["`nested_compile_region(max_reuse_entries=, reuse_hash_fn=)`"] = naming(
    named.test_options_of_a_nested_region_are_named
)
for _word, _call in named.CALLS:
    CHECKS[f"`torch._dynamo.{_word}`"] = naming(
        named.test_a_word_that_is_not_done_is_named_once, _word, _call
    )


@row("questions: `is_dynamo_supported`, `is_inductor_supported`, `is_dynamo_disable_recursive`")
def _():
    assert torch._dynamo.is_dynamo_supported() and torch._dynamo.is_inductor_supported()
    plain = torch._dynamo.disable(lambda x: x, recursive=False)
    assert named.needs(torch._dynamo, "is_dynamo_disable_recursive")(plain) is False


@row(
    "`reset_code_caches`, `reset_code_state`, `reset_frame_count`, `reset_recompile_user_contexts`"
)
def _():
    fn = torch.compile(lambda x: x + 1, backend="eager")
    fn(X)
    assert suture.stats().variants == 1
    torch._dynamo.reset_code_caches()
    assert suture.stats().variants == 0


CHECKS["`torch._dynamo.on_compile_start`"] = reports.test_callbacks_hear_of_each_compilation
CHECKS["`torch._dynamo.utils.counters`"] = reports.test_counters


@row("`_debug_get_cache_entry_list`")
def _():
    def fn(x):
        return x + 1

    compiled = torch.compile(fn, backend="eager")
    compiled(X)
    assert torch._dynamo.eval_frame._debug_get_cache_entry_list(fn.__code__) == []
    assert "variant 0" in str(suture.guards(compiled)) and suture.code(compiled)


@row("`torch._dynamo.exc`")
def _():
    def failing(gm, inputs):
        raise ValueError("no")

    with suture.config.patch(raise_backend_errors=True):
        with pytest.raises(torch._dynamo.exc.BackendCompilerFailed):
            torch.compile(lambda x: x + 1, backend=failing)(X)
