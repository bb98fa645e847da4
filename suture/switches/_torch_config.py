"""torch._dynamo.config and torch.compiler.config, read as options of suture. Run on
torch 2.13 only.

A knob counts if its value is not torch's default. Where it is the default nobody can tell whether
the program has set it (`config.patch` puts a default back by setting it), so suture's own option
holds. The environment variables that torch reads into a knob count as its value
(`suture.switches.environment`).
"""

from __future__ import annotations

import logging
import operator
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

from suture import config
from suture.switches import environment
from suture.torch_private import torchdynamo

_DYNAMO, _COMPILER = "torch._dynamo.config", "torch.compiler.config"

_log = logging.getLogger("suture.switches")
_told: set[tuple[str, str]] = set()


# Module and knob of torch: the option of suture, and its value from the knob's.
HONOURED: dict[tuple[str, str], tuple[str, Callable[[Any], Any]]] = {
    ("torch._dynamo.config", "disable"): ("disable", bool),
    ("torch._dynamo.config", "recompile_limit"): ("recompile_limit", int),
    ("torch._dynamo.config", "accumulated_recompile_limit"): ("accumulated_recompile_limit", int),
    ("torch._dynamo.config", "fail_on_recompile_limit_hit"): ("fail_on_recompile_limit", bool),
    ("torch._dynamo.config", "error_on_recompile"): ("error_on_recompile", bool),
    ("torch._dynamo.config", "automatic_dynamic_shapes"): ("automatic_dynamic", bool),
    ("torch._dynamo.config", "assume_static_by_default"): ("assume_static", bool),
    ("torch._dynamo.config", "specialize_int"): ("specialize_int", bool),
    ("torch._dynamo.config", "specialize_float"): ("specialize_float", bool),
    ("torch._dynamo.config", "capture_scalar_outputs"): ("capture_scalar_outputs", bool),
    ("torch._dynamo.config", "capture_dynamic_output_shape_ops"): (
        "capture_dynamic_output_shape_ops",
        bool,
    ),
    ("torch._dynamo.config", "suppress_errors"): ("raise_backend_errors", operator.not_),
    ("torch._dynamo.config", "verify_correctness"): ("verify", bool),
    ("torch.compiler.config", "dynamic_sources"): ("dynamic_sources", str),
    ("torch.compiler.config", "static_sources"): ("static_sources", str),
    ("torch.fx.experimental._config", "use_duck_shape"): ("duck_sizes", bool),
}

_BACKEND = "backends read it as they do below torch.compile"
_ALWAYS = "suture does so always"
_GUARDS = "suture's guards are its own; suture.guards(fn) shows them"
_NEVER = "nothing: suture has no such step"
_ALONE = "nothing: it is about TorchDynamo alone"
_REPRO = "set suture.config.repro_dir for a script of each failure, and `suture minify` reduces it"
_LOGS = "set SUTURE_LOGS, or suture.set_logs(...)"

# What suture does instead, for the other knobs that programs change. A knob that is not listed is
# named too, with the general sentence.
INSTEAD: dict[str, str] = {
    **dict.fromkeys(
        [
            "optimize_ddp", "optimize_ddp_lazy_compile", "compiled_autograd",
            "compiled_autograd_kwargs_override", "cudagraph_backend_keep_input_mutation",
            "cudagraph_backend_support_input_mutation", "numpy_default_float",
            "numpy_default_complex", "numpy_default_int", "use_numpy_random_stream",
            "fake_tensor_cache_enabled", "fake_tensor_cache_crosscheck_enabled",
            "same_two_models_use_fp64", "enable_invoke_subgraph_regional_compile",
            "debug_dir_root", "base_dir", "prepare_freezing", "run_gc_after_compile",
            "log_compilation_metrics", "use_lazy_graph_module",
        ],
        _BACKEND,
    ),
    **dict.fromkeys(
        [
            "nested_graph_breaks", "inline_inbuilt_nn_modules", "allow_rnn", "trace_numpy",
            "trace_autograd_ops", "enable_trace_contextlib", "enable_trace_unittest",
            "enable_trace_load_build_class", "enable_faithful_generator_behavior",
            "capture_autograd_function", "capture_func_transforms", "capture_sparse_compute",
            "capture_profiler_record_function", "dynamic_shapes", "replay_side_effects",
            "allow_unspec_int_on_nn_module", "dead_code_elimination",
            "rewrite_assert_with_torch_assert", "inline_torch_dispatch_torch_compile",
        ],
        _ALWAYS + ", whatever the knob says",
    ),
    **dict.fromkeys(
        [
            "guard_nn_modules", "guard_nn_modules_using_dict_tags", "enable_cpp_guard_manager",
            "enable_cpp_symbolic_shape_guards", "enable_cpp_framelocals_guard_eval",
            "skip_fsdp_guards", "skip_nnmodule_hook_guards", "use_recursive_dict_tags_for_guards",
            "skip_no_tensor_aliasing_guards_on_parameters",
            "skip_tensor_guards_with_matching_dict_tags", "skip_guards_on_constant_func_defaults",
            "assume_dunder_attributes_remain_unchanged", "use_lamba_guard_for_object_aliasing",
            "max_saved_pointers_for_recursive_dict_tags_check", "_unsafe_skip_fsdp_module_guards",
            "automatic_dynamic_exclusion_guard",
        ],
        _GUARDS,
    ),
    **dict.fromkeys(
        [
            "repro_after", "repro_level", "repro_forward_only", "repro_tolerance",
            "repro_ignore_non_fp", "replay_record_enabled",
        ],
        _REPRO,
    ),
    **dict.fromkeys(["verbose", "log_file_name", "report_guard_failures"], _LOGS),
    **dict.fromkeys(
        ["cprofile", "dynamo_profiler"], "`suture run` and SUTURE_TRACE tell where the time goes"
    ),
    **dict.fromkeys(
        [
            "automatic_dynamic_local_pgo", "automatic_dynamic_remote_pgo", "caching_precompile",
            "strict_precompile", "enable_aot_compile", "generate_pycode",
            "skip_code_recursive_on_recompile_limit_hit", "minimum_call_count",
            "enable_compiler_collectives", "use_graph_deduplication",
            "track_nodes_for_deduplication", "graph_deduplication_lint",
        ],
        _NEVER,
    ),
    **dict.fromkeys(
        ["reorderable_logging_functions", "ignore_logging_functions", "ignore_logger_methods"],
        "call suture.ignore_logging_functions(fn)",
    ),
    "dont_skip_tracing": "use suture.dont_skip_tracing",
    "skipfiles_inline_module_allowlist": "suture inlines every package with Python source",
    "force_parameter_static_shapes": "sizes of parameters are constants unless they are marked",
    "force_nn_module_property_static_shapes": "numbers of modules become symbols once they change",
    "allow_ignore_mark_dynamic": "use maybe_mark_dynamic, which never is an error",
    "automatic_dynamic_shapes_mark_as": "use suture.mark_unbacked",
    "side_effect_replay_policy": "side effects are put back, silently",
    "debug_backend_override": 'use torch.compiler.set_stance("default", force_backend=...)',
    **dict.fromkeys(
        ["job_id", "pgo_extra_read_key", "pgo_extra_write_key"],
        "suture.config.cache_dir keeps what was compiled for the next process",
    ),
    **dict.fromkeys(["cache_key_tag", "force_cudagraph_gc"], _BACKEND),
    "force_disable_caches": f"{_BACKEND}; suture's own cache is off without config.cache_dir",
    "dynamic_values": "use suture.mark_dynamic, or torch.compiler.config.dynamic_sources",
    "unbacked_sources": "use suture.mark_unbacked",
}  # fmt: skip

# Set by torch itself, or about torch alone: no wish of the program's. Process groups in graphs are
# given as `compile_on_one_rank` has it (torch_private.distributed_parts).
_INNER = frozenset(
    [
        "_shapes_spec", "_dynamic_shapes_spec", "_save_config_ignore", "pt2_compile_id_prefix",
        "_custom_ops_profile", "compile_on_one_rank",
    ]
)  # fmt: skip


def options() -> dict[str, Any]:
    """The options of suture that torch's configuration sets now."""
    found, variables = {}, environment.said()
    for (module, knob), (option, convert) in HONOURED.items():
        entry = torchdynamo.config_entries(module).get(knob)
        if entry is not None and _changed(entry):
            found[option] = convert(_value(entry))
        elif module == _DYNAMO and knob in variables:
            found[option] = convert(variables[knob][1])
    return found


def unheard() -> Iterator[tuple[str, Any, str]]:
    """What the program or the environment has changed and suture does not take over: its name, its
    value, what suture does instead."""
    for module in (_DYNAMO, _COMPILER):
        for name, entry in torchdynamo.config_entries(module).items():
            if (module, name) in HONOURED or name in _INNER or entry.alias is not None:
                continue
            if _changed(entry):
                yield f"{module}.{name}", _value(entry), INSTEAD.get(name, _ALONE)
    for knob, (variable, value) in environment.said().items():
        if (_DYNAMO, knob) not in HONOURED:
            yield variable, value, INSTEAD.get(knob, _ALONE)
    for variable, text in environment.unknown():
        yield variable, text, _ALONE


def tell_unheard() -> None:
    """Name each of them once, with its value and what suture does instead."""
    for name, value, instead in unheard():
        _tell(name, value, instead)


def _tell(name: str, value: Any, instead: str) -> None:
    key = (name, repr(value))
    if key not in _told:
        _told.add(key)
        _log.warning("%s = %r is not a switch of suture; instead: %s", name, value, instead)


def would_change(knob: str, value: Any) -> bool:
    """Whether a knob of torch._dynamo.config at `value` means another option than holds now."""
    option, convert = HONOURED.get((_DYNAMO, knob), (None, None))
    if option is None or convert is None:
        _tell(f"{_DYNAMO}.{knob}", value, INSTEAD.get(knob, _ALONE))
        return False
    return bool(getattr(config, option) != convert(value))


def sets_option(knob: str, value: Any) -> bool:
    """Whether a knob of torch._dynamo.config at `value` means another option than the default."""
    option, convert = HONOURED.get((_DYNAMO, knob), (None, None))
    if option is None or convert is None:
        _tell(f"{_DYNAMO}.{knob}", value, INSTEAD.get(knob, _ALONE))
        return False
    (default,) = [one.default for one in config.describe() if one.name == option]
    entry = torchdynamo.config_entries(_DYNAMO)[knob]
    return bool(value != entry.default and convert(value) != default)


def _changed(entry: Any) -> bool:
    try:
        return bool(_value(entry) != entry.default)
    except Exception:  # a value of the program's own that cannot be compared: it is no default
        return True


def _value(entry: Any) -> Any:
    """What reading the knob gives, without the copies and the warnings that reading makes."""
    override = entry.user_override
    if isinstance(override, ContextVar):  # before torch 2.12 it is the value itself
        override = override.get()
    for value in (entry.env_value_force, override, entry.env_value_default):
        if value is not torchdynamo.unset():
            return value
    return entry.default
