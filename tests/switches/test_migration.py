"""One check for each row of the table in docs/guide/migration.md, under install()."""

from __future__ import annotations

import io
import logging
import pickle

import pytest
import torch
import torch._dynamo
import torch._dynamo.config as knobs

import suture
from suture.torch_private.releases import release
from tests.harness import Graphs
from tests.switches import rows_of_dynamo  # noqa: F401  (its checks are in the table)
from tests.switches import test_dynamo_words as words
from tests.switches import test_guard_filter as filters
from tests.switches import test_handles as handles
from tests.switches import test_knobs as knob_tests
from tests.switches import test_options as options
from tests.switches import test_shapes as shapes
from tests.switches import test_stances as stances
from tests.switches import test_torch_reports as reports
from tests.switches.rows import CHECKS, NAMES, X, captured, inside, row
from tests.switches.test_named_words import needs


@pytest.mark.parametrize("name", NAMES)
def test_row(name):
    CHECKS[name]()


def test_every_check_has_its_row():
    assert set(CHECKS) == set(NAMES) and len(NAMES) == len(set(NAMES))


@row("`torch.compile(model)`")
def _():
    class Thing:
        def method(self, x):
            return x + inside()

        def __call__(self, x):
            return x + inside()

    for one in (lambda x: x + inside(), Thing().method, Thing(), torch.nn.ReLU()):
        assert torch.compile(one, backend="eager")(torch.zeros(1)).item() == (
            0 if isinstance(one, torch.nn.Module) else 1
        )
    assert torch.compile(backend="eager")(lambda x: inside())(X)
    assert suture.stats().variants == 5


@row("`fullgraph=True`")
def _():
    stances.test_fullgraph_keeps_the_programs_own_error_without_frames_of_ours()
    stances.test_unsupported_has_no_frames_of_ours()


@row("`dynamic=`")
def _():
    sizes = [(torch.ones(n),) for n in (3, 4, 5)]
    found = [captured(lambda x: x + 1, *sizes, dynamic=d) for d in (None, True, False)]
    assert found == [2, 1, 3]


@row("`backend=`")
def _():
    assert captured(lambda x: x + 1, (X,)) == 1
    assert torch.compile(lambda x: inside(), backend="aot_eager")(X)
    with pytest.raises(torch._dynamo.exc.InvalidBackend):
        torch.compile(lambda x: x, backend="no such backend")(X)
    stances.test_default_backend()


def keyworded(**expected):
    seen = {}

    def backend(gm, inputs, **kwargs):
        seen.update(kwargs)
        return gm.forward

    torch.compile(lambda x: x + 1, backend=backend, **expected)(X)
    return seen


@row("`mode=`")
def _():
    assert keyworded(mode="reduce-overhead") == {"mode": "reduce-overhead"}
    with pytest.raises(RuntimeError, match="no such mode"):
        torch.compile(lambda x: x, mode="no such mode")


@row("`options=`")
def _():
    assert keyworded(options={"a": 1}) == {"options": {"a": 1}}
    with pytest.raises(RuntimeError, match="no_such_option"):
        torch.compile(lambda x: x, options={"no_such_option": 1})
    options.test_a_value_of_another_type_is_named()


@row('`options={"guard_filter_fn": f}`')
def _():
    filters.test_the_function_sees_every_guard_with_torchs_words()
    filters.test_skip_all_guards()


@row(
    "filters of guards: `skip_guard_on_globals_unsafe`, `skip_guard_on_inbuilt_nn_modules_unsafe`,"
    " `skip_guard_on_all_nn_modules_unsafe`, `keep_tensor_guards_unsafe`,"
    " `keep_portable_guards_unsafe`, `skip_all_guards_unsafe`"
)
def _():
    with pytest.MonkeyPatch.context() as patch:
        filters.test_skip_guard_on_globals(patch)
    filters.test_keep_tensor_guards()
    filters.test_skip_guards_on_modules(torch.compiler.skip_guard_on_all_nn_modules_unsafe, 0)
    chosen = {"guard_filter_fn": needs(torch.compiler, "keep_portable_guards_unsafe")}
    assert captured(lambda x: x + 1, (X,), (torch.ones(3),), options=chosen, dynamic=False) == 2


@row("`torch.compiler.load_compiled_function`")
def _():
    # torch reads it; since 2.15 it looks at the head of the file first
    refusal = pickle.UnpicklingError if release() < (2, 15) else RuntimeError
    with pytest.raises(refusal):
        needs(torch.compiler, "load_compiled_function")(io.BytesIO(b"nothing"))


@row("`torch.compiler.set_enable_guard_collectives`")
def _():
    before = torch.compiler.set_enable_guard_collectives(True)
    assert torch.compiler.set_enable_guard_collectives(before) is True


@row("`name=`")
def _():
    assert torch.compile(lambda x: x + 1, backend="eager", name="mine")(X).sum() == 4


@row("`disable=True`")
def _():
    def fn(x):
        return x

    assert torch.compile(fn, disable=True) is fn


@row("`recompile_limit=`")
def _():
    words = [(X, "a" * n) for n in range(1, 5)]
    assert captured(lambda x, word: x + len(word), *words, recompile_limit=2) == 2


@row("`isolate_recompiles=True`")
def _():
    def fn(x):
        return x + 1

    graphs = Graphs()
    for isolated in (False, False, True):
        torch.compile(fn, backend=graphs, isolate_recompiles=isolated)(X)
    assert len(graphs) == 2


@row("`dynamic_shapes=`, before torch 2.15 `shapes_spec=`")
def _():
    shapes.test_a_spec_makes_sizes_and_ints_symbols_and_the_rest_constant()
    shapes.test_what_cannot_be_done_is_refused()


CHECKS["`@dynamic_spec(...)` of torch 2.15"] = (
    shapes.test_a_spec_that_a_decorator_gives_counts_as_the_argument
)


@row("a `staticmethod` below `@torch.compile`")
def _():
    class Thing:
        @torch.compile(backend="eager")
        @staticmethod
        def fn(x):
            return x + 1

    assert Thing.fn(X).equal(X + 1) and Thing().fn(X).equal(X + 1)
    assert type(vars(Thing)["fn"]) is staticmethod


@row("`backend._dynamo_backend_init`")
def _():
    graphs, prepared = Graphs(), []
    graphs._dynamo_backend_init = lambda: prepared.append(len(graphs))
    fn = torch.compile(lambda x: x + 1, backend=graphs)
    assert prepared == [0]
    fn(X)
    torch.compile(lambda x: x + 2, backend=graphs)
    assert prepared == [0, 1] and len(graphs) == 1


CHECKS["`torch.compile(m).forward(x)`"] = handles.test_forward_of_a_compiled_module_compiles
CHECKS["`_orig_mod`"] = handles.test_orig_mod_gives_the_module_and_is_no_part_of_its_state
CHECKS["`_torchdynamo_orig_callable`"] = handles.test_a_compiled_function_gives_its_original
CHECKS["`dynamo_ctx`"] = handles.test_dynamo_ctx_compiles_as_the_module_was


@row("`isinstance(m, torch._dynamo.OptimizedModule)`")
def _():
    made = torch.compile(torch.nn.Linear(2, 2), backend="eager")
    assert not isinstance(made, torch._dynamo.OptimizedModule)
    assert isinstance(made, torch.nn.Linear) and hasattr(made, "_orig_mod")


CHECKS["a checkpoint with `_orig_mod.` in its names"] = (
    handles.test_a_checkpoint_of_torch_compiles_modules_is_loaded
)


@row("hooks of `torch.compile(m)`")
def _():
    net, seen = torch.nn.Linear(2, 2), []
    made = torch.compile(net, backend="eager")
    made.register_forward_hook(lambda *args: seen.append("on the compiled one"))
    net.register_forward_hook(lambda *args: seen.append("on the module"))
    made(X)
    assert seen == ["on the compiled one", "on the module"]
    net(X)
    assert len(seen) == 4


@row("`torch.compile(cls)`")
def _():
    class Thing:
        def __call__(self, x):
            return x + inside()

    class Holder:
        pass

    assert torch.compile(Thing, backend="eager")()(torch.zeros(1)).item() == 1
    with pytest.MonkeyPatch.context() as patch:
        said = []
        patch.setattr(logging.getLogger("suture.switches"), "warning", lambda *a: said.append(a))
        assert torch.compile(Holder) is Holder and len(said) == 1


@row("`nn.Module.compile()`")
def _():
    graphs, net = Graphs(), torch.nn.Linear(2, 2)
    net.compile(backend=graphs)
    net(X)
    assert len(graphs) == 1


@row("`fn.aot_compile`")
def _():
    made = torch.compile(lambda x: x + 1, fullgraph=True)
    assert not hasattr(made, "aot_compile")
    with pytest.raises(AttributeError, match="suture.export"):
        _ = made.aot_compile
    assert torch.equal(suture.export(lambda x: x + 1, (X,)).module()(X), X + 1)


@row("`torch.set_num_threads(n)` after compiling")
def _():
    graphs = Graphs()
    fn = torch.compile(lambda x: x + 1, backend=graphs)
    fn(X)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(threads + 1)
        fn(X)
        kept = len(graphs)
        torch.compiler.reset()
        fn(X)
    finally:
        torch.set_num_threads(threads)
    assert (kept, len(graphs)) == (1, 2)


@row("`torch.compiler.reset()`")
def _():
    graphs = Graphs()
    fn = torch.compile(lambda x: x + 1, backend=graphs)
    fn(X)
    torch.compiler.reset()
    fn(X)
    assert len(graphs) == 2


@row("`torch.compiler.set_stance(...)`")
def _():
    stances.test_eager_then_compile_runs_one_call_eagerly()
    stances.test_aot_eager_then_compile_uses_aot_eager_once()
    fn = torch.compile(lambda x: inside(), backend="eager")
    with torch.compiler.set_stance("fail_on_recompile"), pytest.raises(RuntimeError):
        fn(X)
    for stance in ("force_eager", "eager_on_recompile"):
        with torch.compiler.set_stance(stance):
            assert not fn(X)
    assert fn(X)


CHECKS["`set_stance(force_backend=)`"] = (
    stances.test_force_backend_holds_for_what_was_compiled_and_what_will_be
)


@row("`set_stance(skip_guard_eval_unsafe=True)`")
def _():
    assert captured(lambda x, word: x + len(word), (X, "a")) == 1
    with pytest.MonkeyPatch.context() as patch:
        said = []
        patch.setattr(logging.getLogger("suture.switches"), "warning", said.append)
        with torch.compiler.set_stance("default", skip_guard_eval_unsafe=True):
            assert captured(lambda x, word: x + len(word), (X, "a"), (X, "b")) == 2
    assert said == ["skip_guard_eval_unsafe is not done by suture: all guards are checked"]


CHECKS["`torch.compiler.set_default_backend`"] = stances.test_default_backend


@row("`torch.compiler.disable`")
def _():
    plain = torch.compiler.disable(lambda x: x + inside())
    assert torch.compile(lambda x: plain(x) * 2, backend="eager")(torch.zeros(1)).item() == 0
    words.test_a_compiled_function_that_is_disabled_is_the_plain_one()
    words.test_nothing_below_the_disabled_forward_of_a_module_is_compiled()


def folded(x):
    return x.sin().cos()


@row("`torch.compiler.allow_in_graph`")
def _():
    graphs = Graphs()
    allowed = torch.compiler.allow_in_graph(folded)
    torch.compile(lambda x: allowed(x) + 1, backend=graphs)(X)
    assert folded in [node.target for node in graphs.modules[0].graph.nodes]


@row("`torch.compiler.substitute_in_graph`")
def _():
    import zlib

    @torch.compiler.substitute_in_graph(zlib.adler32, skip_signature_check=True)
    def adler32(*args):
        return 5

    assert torch.compile(lambda x: x * zlib.adler32(b"abc"), backend="eager")(X).sum() == 10


@row("`torch.compiler.assume_constant_result`")
def _():
    calls = []

    @torch.compiler.assume_constant_result
    def constant():
        calls.append(1)
        return 3

    fn = torch.compile(lambda x: x + constant(), backend="eager", fullgraph=True)
    assert fn(X).sum() == 8 == fn(X).sum() and len(calls) == 1


@row("`torch.compiler.is_compiling()`")
def _():
    def asked(x):
        c = torch.compiler
        return c.is_compiling(), c.is_dynamo_compiling(), suture.is_compiling(), c.is_exporting()

    assert torch.compile(asked, backend="eager")(X) == (True, True, True, False)
    assert asked(X) == (False, False, False, False)


@row("`torch.compiler.list_backends()`")
def _():
    assert "inductor" in torch.compiler.list_backends()


@row("`torch.compiler.nested_compile_region`")
def _():
    graphs = Graphs()
    region = torch.compiler.nested_compile_region(lambda x: x.sin())
    torch.compile(lambda x: region(region(x)), backend=graphs, fullgraph=True)(X)
    assert graphs.modules[0].code.count(".sin()") == 2


@row("`torch.compiler.cudagraph_mark_step_begin()`")
def _():
    assert torch.compiler.cudagraph_mark_step_begin() is None


CHECKS["`torch.compiler.config.dynamic_sources`"] = (
    knob_tests.test_dynamic_sources_name_tensors_and_single_sizes
)
CHECKS["`torch.compiler.config.static_sources`"] = (
    knob_tests.test_static_sources_stay_constants_and_win
)


@row("`torch.compiler.wrap_numpy`")
def _():
    import numpy

    fn = torch.compile(torch.compiler.wrap_numpy(numpy.sin), backend="eager")
    assert torch.equal(fn(X), X.sin())


@row("`torch.compiler.save_cache_artifacts()`")
def _():
    torch.compile(lambda x: x.sin() + 41)(X)
    saved = torch.compiler.save_cache_artifacts()
    assert saved is None or torch.compiler.load_cache_artifacts(saved[0]) is not None


CHECKS["`config.disable`"] = knob_tests.test_disable_runs_plainly_inside_the_patch_only


@row("`config.recompile_limit`")
def _():
    for name in ("recompile_limit", "cache_size_limit"):
        knob_tests.test_recompile_limit(name)


CHECKS["`config.accumulated_recompile_limit`"] = knob_tests.test_accumulated_recompile_limit
CHECKS["`config.fail_on_recompile_limit_hit`"] = knob_tests.test_fail_on_recompile_limit_hit
CHECKS["`config.error_on_recompile`"] = knob_tests.test_error_on_recompile


@row("`config.suppress_errors`")
def _():
    seen = []
    with suture.config.patch(raise_backend_errors=True):

        def backend(gm, inputs):
            seen.append(not suture.config.raise_backend_errors)
            return gm.forward

        for knob in (True, False):
            with knobs.patch(suppress_errors=knob):
                torch.compile(lambda x: x + 1, backend=backend, isolate_recompiles=True)(X)
    assert seen == [True, False]


CHECKS["`config.automatic_dynamic_shapes`"] = knob_tests.test_automatic_dynamic_shapes
CHECKS["`config.assume_static_by_default`"] = knob_tests.test_assume_static_by_default
CHECKS["`config.specialize_int`"] = knob_tests.test_specialize_int_and_float
CHECKS["`config.specialize_float`"] = knob_tests.test_specialize_int_and_float
CHECKS["`config.capture_scalar_outputs`"] = (
    knob_tests.test_capture_scalar_outputs_true_beats_an_option_of_suture
)
CHECKS["`config.capture_dynamic_output_shape_ops`"] = (
    knob_tests.test_capture_dynamic_output_shape_ops_true_beats_an_option_of_suture
)


@row("`config.verify_correctness`")
def _():
    def wrong(gm, inputs):
        return lambda *args: tuple(out + 1 for out in gm.forward(*args))

    with knobs.patch(verify_correctness=True), suture.config.patch(strict=True):
        with pytest.raises(Exception, match="differs from its operations"):
            torch.compile(lambda x: x + 1, backend=wrong)(X)


CHECKS["other knobs of `torch._dynamo.config` and `torch.compiler.config`"] = (
    knob_tests.test_no_knob_can_be_changed_in_silence
)


@row("`TORCH_COMPILE_DISABLE=1`")
def _():
    knob_tests.test_an_environment_variable_disables_everything("TORCH_COMPILE_DISABLE")


@row("`TORCHDYNAMO_DISABLE=1`")
def _():
    knob_tests.test_an_environment_variable_disables_everything("TORCHDYNAMO_DISABLE")


@row("other variables `TORCHDYNAMO_*`, `TORCH_COMPILE_*`")
def _():
    with pytest.MonkeyPatch.context() as patch:
        knob_tests.test_no_variable_of_torchs_sources_can_be_set_in_silence(patch)
    with pytest.MonkeyPatch.context() as patch:
        knob_tests.test_a_variable_that_torch_takes_for_a_default_counts(patch)


@row("`TORCH_LOGS`")
def _():
    reports.test_torch_logs_mean_ours("graph_breaks", "suture.breaks")


CHECKS["`torch._logging.set_logs`"] = reports.test_set_logs_of_torch_means_ours
CHECKS["`TORCH_TRACE`"] = reports.test_torch_trace_has_each_compilation
CHECKS["`torch.profiler`"] = reports.test_the_profiler_shows_regions_while_it_runs
