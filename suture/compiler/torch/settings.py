"""Settings of torch's backends, switched for a block: nodes of the graph, like modes."""

from __future__ import annotations

import inspect
from typing import Any

import torch
import torch.utils.checkpoint

from suture.breaks import Break, calls
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles
from suture.compiler.objects import Constant
from suture.compiler.torch.modes import guard_setting, set_mode
from suture.runtime.reads import Asked
from suture.torch_private import settings, tensor_parts, thread_state


def _switch(setter: Any, getter: Any) -> Any:
    def switch(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        if len(args) != 1 or kwargs:
            raise Break(calls.C_FUNCTION, function=setter.__name__)
        before = getter()
        if before is None:  # two settings that do not agree: there is nothing to go back to
            raise Break(calls.C_FUNCTION, function=setter.__name__)
        return set_mode(trace, setter, (abstract.constant_value(trace, args[0]),), (before,))

    return switch


for _set, _get in settings.pairs(settings.NAMES):
    handles(_set)(_switch(_set, _get))


@handles(thread_state.set_fp32_precision)
def _set_precision(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    backend, operation, wanted = (abstract.constant_value(trace, a) for a in args)
    before = thread_state.get_fp32_precision(backend, operation)
    values = (backend, operation, wanted)
    return set_mode(trace, thread_state.set_fp32_precision, values, (*values[:2], before))


@handles("setting")
def _setting(trace: Trace, target: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """What a setting is now; a guard says what it is where the region starts."""
    given = [abstract.constant_value(trace, a) for a in args]
    given += [abstract.constant_value(trace, v) for v in kwargs.values()]
    found = abstract.fold(trace, target, args, kwargs)
    guard_setting(trace, Asked(target, *given) if given else target)
    return found


# ---- deterministic algorithms


def set_deterministic(state: tuple[bool, bool]) -> None:
    """Whether algorithms must be deterministic, and whether one that is not only warns."""
    thread_state.set_deterministic_algorithms(state[0], warn_only=state[1])


@handles("deterministic")
def _deterministic(trace: Trace, target: Any, args: Any, kwargs: dict[str, Value]) -> Value:
    if target is not torch.use_deterministic_algorithms:
        return _setting(trace, target, args, kwargs)
    given = dict(zip(("mode",), args)) | dict(kwargs)
    wanted = (
        bool(abstract.constant_value(trace, given["mode"])),
        bool(abstract.constant_value(trace, given.get("warn_only", Constant(False)))),
    )
    before = (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )
    return set_mode(trace, set_deterministic, (wanted,), (before,))


# ---- hooks on saved tensors that are forbidden


def forbid_saved_tensor_hooks(message: str | None) -> None:
    """Forbid hooks on saved tensors, with what the error says; None allows them."""
    if message is None:
        thread_state.saved_hooks_enable()
    else:
        thread_state.saved_hooks_disable(message)


def _forbid(trace: Trace, message: object) -> Value:
    before = thread_state.saved_hooks_disabled_message()
    return set_mode(trace, forbid_saved_tensor_hooks, (message,), (before,))


@handles(thread_state.saved_hooks_disable)
def _disable_hooks(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if len(args) != 1 or kwargs:
        raise Break(calls.C_FUNCTION, function="_saved_tensors_hooks_disable")
    return _forbid(trace, abstract.constant_value(trace, args[0]))


@handles(thread_state.saved_hooks_enable)
def _enable_hooks(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return _forbid(trace, None)


@handles(thread_state.saved_hooks_disabled_message)
def _disabled_message(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Constant(thread_state.saved_hooks_disabled_message())


# ---- blocks in Python around such switches: torch runs them, the rules say; here they are traced


def _inline(trace: Trace, function: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return abstract.inline(trace, function, args, kwargs)


for _block in (
    torch.backends.cudnn.flags,
    torch.backends.mkldnn.flags,
    torch.autograd.graph.disable_saved_tensors_hooks,
    torch.utils.checkpoint.set_checkpoint_debug_enabled,
    torch.utils.checkpoint.set_checkpoint_early_stop,
    tensor_parts.nonbracketed_mutation,
):
    handles(inspect.unwrap(_block).__code__)(_inline)
for _function in (
    torch.backends.cudnn.set_flags,
    torch.backends.mkldnn.set_flags,
    torch.backends.flags_frozen,
    torch.backends.ContextProp.__get__,
    torch.backends.ContextProp.__set__,
):
    handles(_function.__code__)(_inline)
