"""torch.compile means suture.compile, for programs that cannot be edited."""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

from suture import switches
from suture.api import compile as _compile
from suture.api import reset as _reset
from suture.rules import strictness
from suture.runtime.unit import ALL
from suture.stance import STANCES
from suture.stance import set_stance as _set_stance
from suture.switches import _torch_counters, _torch_profiler, torch_logs, words
from suture.switches.imports import when_imported
from suture.torch_private import distributed_parts, structured_trace, torchdynamo

_log = logging.getLogger("suture.switches")
_originals: dict[tuple[Any, str], Any] = {}
_waiting: list[Callable[[], None]] = []


def install() -> None:
    """Make `torch.compile` (and `nn.Module.compile`, which calls it) use suture. What programs say
    to the compiler reaches suture too: `torch.compiler.set_stance` and `reset`, the functions of
    `torch._dynamo` that compile or forget, and torch's configuration (`suture.switches`)."""
    if not _originals:
        switches.on = True
        _replace(torch, "compile", _torch_compile)
        _replace(torch.compiler, "compile", _torch_compile)
        _replace(torch.compiler, "set_stance", _torch_set_stance)
        _replace(torch.compiler, "reset", _torch_reset)
        _replace(torch.compiler, "nested_compile_region", words.named_options)
        _waiting.append(when_imported("torch._dynamo", _install_in_dynamo))
        _waiting.append(_torch_counters.listen())
        _replace(structured_trace.logging, "set_logs", _torch_set_logs)
        _waiting.append(torch_logs.start())
        _replace(torch.compiler, "set_enable_guard_collectives", _torch_guard_collectives)
        distributed_parts.look_at_guard_collectives()
        _replace(torch.autograd.profiler, _torch_profiler.STARTS, _then(_torch_profiler.look))
        _replace(torch.autograd.profiler, _torch_profiler.STOPS, _then(_torch_profiler.stop))


def uninstall() -> None:
    """Give `torch.compile` and the rest back to torch."""
    switches.on = False
    distributed_parts.told_guard_collectives(False)
    _torch_profiler.stop()
    while _waiting:
        _waiting.pop()()
    for (where, name), original in _originals.items():
        setattr(where, name, original)
    _originals.clear()


def _install_in_dynamo(module: ModuleType) -> None:
    """The names of torch._dynamo that programs call instead of torch.compile's."""
    _replace(module, "reset", _dynamo_reset)
    _replace(module, "reset_code_caches", _dynamo_reset)
    _replace(module, "optimize", _dynamo_optimize)
    _replace(module, "optimize_assert", _dynamo_optimize_assert)
    _replace(module, "set_stance", _torch_set_stance)
    _replace(module, "explain", _dynamo_explain)
    _replace(module, "run", _dynamo_run)
    _replace(module, "reset_code", _dynamo_reset_code)
    for word in ("set_recursion_limit", "allow_c_slot", "replay"):
        if hasattr(module, word):  # not all releases have all of them
            _replace(module, word, words.named(f"torch._dynamo.{word}"))
    debugger = getattr(module, "bytecode_debugger", None)
    if debugger is not None:
        word = "torch._dynamo.bytecode_debugger.debug"
        _replace(debugger, "debug", words.named(word))
    manager = torchdynamo.strictness_manager()
    if manager is not None:
        _keep(manager, "__enter__", strictness.enter_torchs)
        _keep(manager, "__exit__", strictness.exit_torchs)


def _replace(where: Any, name: str, make: Any) -> None:
    original = getattr(where, name)
    _keep(where, name, functools.wraps(original)(make(original)))


def _keep(where: Any, name: str, value: Any) -> None:
    _originals[where, name] = getattr(where, name)
    setattr(where, name, value)


def _torch_compile(original: Any) -> Any:
    def compile(model: Any = None, *, backend: Any = None, **kwargs: Any) -> Any:
        if isinstance(model, type) and not any("__call__" in vars(cls) for cls in model.__mro__):
            _log.warning("nothing of %r is compiled: its instances cannot be called", model)
            return model
        return _compile(model, backend=_or_default(backend), **kwargs)

    return compile


def _then(do: Callable[[], None]) -> Any:
    """What torch does, and then this."""

    def make(original: Any) -> Any:
        def both(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            do()
            return result

        return both

    return make


def _torch_guard_collectives(original: Any) -> Any:
    def set_enable_guard_collectives(enabled: bool) -> bool:
        distributed_parts.told_guard_collectives(enabled)
        return bool(original(enabled))

    return set_enable_guard_collectives


def _torch_set_logs(original: Any) -> Any:
    def set_logs(**topics: Any) -> None:
        original(**topics)
        torch_logs.apply(torch_logs.from_keywords(topics))

    return set_logs


def _or_default(backend: Any) -> Any:
    """What torch.compile without a backend means: `torch.compiler.set_default_backend` sets it."""
    return backend if backend is not None or "torch._dynamo" in sys.modules else "inductor"


def _torch_set_stance(original: Any) -> Any:
    def set_stance(
        stance: str = "default",
        *,
        skip_guard_eval_unsafe: bool = False,
        force_backend: Any = None,
    ) -> Any:
        if skip_guard_eval_unsafe:
            _log.warning("skip_guard_eval_unsafe is not done by suture: all guards are checked")
        if stance not in STANCES:
            known = ", ".join(STANCES)
            raise RuntimeError(f"invalid torch.compile stance {stance!r}; there are {known}")
        return _set_stance(stance, force_backend=force_backend)

    return set_stance


def _torch_reset(original: Any) -> Any:
    def reset() -> None:
        if torchdynamo.is_loaded():
            original()
        _reset()

    return reset


def _dynamo_reset(original: Any) -> Any:
    def reset() -> None:
        original()
        _reset()

    return reset


def _dynamo_reset_code(original: Any) -> Any:
    def reset_code(code: Any) -> None:
        original(code)
        for unit in ALL:
            if unit.code is code:
                unit.clear()

    return reset_code


def _dynamo_run(original: Any) -> Any:
    def run(fn: Any = None) -> Any:
        """What was compiled is used, and nothing is compiled any more."""
        if fn is None:
            return run
        return _set_stance("eager_on_recompile")(fn)

    return run


def _dynamo_optimize(original: Any) -> Any:
    def optimize(
        backend: Any = None, *, nopython: bool = False, dynamic: bool | None = None, **rest: Any
    ) -> Any:
        strict = nopython or bool(rest.pop("error_on_graph_break", False))
        return _compiling(backend, strict, dynamic, rest)

    return optimize


def _dynamo_optimize_assert(original: Any) -> Any:
    def optimize_assert(backend: Any = None, *, dynamic: bool | None = None, **rest: Any) -> Any:
        return _compiling(backend, True, dynamic, rest)

    return optimize_assert


def _compiling(backend: Any, fullgraph: bool, dynamic: bool | None, rest: dict[str, Any]) -> Any:
    """The decorator that `torch._dynamo.optimize` gives."""
    known = ("disable", "recompile_limit", "isolate_recompiles", "dynamic_shapes", "shapes_spec")
    options = {"guard_filter_fn": rest["guard_filter_fn"]} if rest.get("guard_filter_fn") else None
    for name, value in rest.items():
        if name not in known and name != "guard_filter_fn" and value:
            _log.warning("torch._dynamo.optimize(%s=%r) means nothing to suture", name, value)
    return _compile(
        backend=_or_default(backend),
        fullgraph=fullgraph,
        dynamic=dynamic,
        options=options,
        **{name: rest[name] for name in known if name in rest},
    )


def _dynamo_explain(original: Any) -> Any:
    def explain(f: Any, *args: Any, **kwargs: Any) -> Any:
        def inner(*args: Any, **kwargs: Any) -> Any:
            _reset()
            return _torch_counters.explained(
                lambda backend: _compile(f, backend=backend)(*args, **kwargs)
            )

        return inner(*args, **kwargs) if args or kwargs else inner

    return explain
