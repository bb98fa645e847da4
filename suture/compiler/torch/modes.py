"""Torch's modes: grad mode, autocast, the backends of attention.

A switch becomes a node of the graph, is done for real while tracing so that fake tensors see it,
and is noted so that the emitter can bring the mode to the same state at a break. A graph leaves
every mode as it found it: what holds at the exit, the variant switches itself.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable
from typing import Any

import torch
import torch.fx.traceback

from suture.breaks import Break, calls, contexts
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.language.classes import instance_of
from suture.compiler.models import handles
from suture.compiler.objects import Constant
from suture.compiler.torch.function_modes import default_device
from suture.runtime.modes import NoRange, change_autocast_nesting
from suture.torch_private import settings, thread_state


def set_mode(trace: Trace, setter: Any, values: tuple[Any, ...], before: tuple[Any, ...]) -> Value:
    """`setter(*values)`; `setter(*before)` undoes it. The last argument is the new state, the
    ones in front of it say which mode is meant."""
    trace.graph.node("call_function", setter, values, {}, None)
    trace.effects.note_change()
    trace.modes.restores.append(functools.partial(setter, *before))
    trace.graph.resets.setdefault((setter, values[:-1]), before)
    setter(*values)
    trace.modes.changed.append((setter, values))
    return Constant(None)


@implements(abstract.guard_setting)
def guard_setting(trace: Trace, read: Callable[[], Any]) -> None:
    """What `read` says of torch's settings was seen. Where the region starts it says what it says
    here, or what it says without the switches of the region."""
    for setter, before in trace.graph.resets_in_order():
        if setter is not change_autocast_nesting:  # which no setting shows, and which adds up
            setter(*before)
    try:
        held = read()
    finally:
        for setter, values in trace.modes.changed:
            if setter is not change_autocast_nesting:
                setter(*values)
    trace.guards.add(None, "torch_state", (read, held, read.__name__))


def set_grad_enabled(trace: Trace, value: Value) -> Value:
    before, wanted = torch.is_grad_enabled(), bool(abstract.constant_value(trace, value))
    if wanted == before:
        return Constant(None)
    return set_mode(trace, thread_state.set_grad_enabled, (wanted,), (before,))


def change_nesting(trace: Trace, by: int) -> Value:
    """Enter or leave one level of autocast. Gives the level, as torch counts it."""
    key = (change_autocast_nesting, ())
    total = by - trace.graph.resets.get(key, (0,))[0]
    trace.graph.node("call_function", change_autocast_nesting, (by,), {}, None)
    trace.effects.note_change()
    trace.modes.restores.append(functools.partial(change_autocast_nesting, -by))
    trace.graph.resets[key] = (-total,)
    trace.modes.changed.append((change_autocast_nesting, (total,)))
    return Constant(change_autocast_nesting(by))


@handles("autocast_state")
def _autocast_state(trace: Trace, target: Any, args: Any, kwargs: Any) -> Value:
    values = tuple(abstract.constant_value(trace, a) for a in args)
    if kwargs:
        raise Break(calls.C_FUNCTION, function=target.__name__)
    if target is torch.autocast_increment_nesting:
        return change_nesting(trace, 1)
    if target is torch.autocast_decrement_nesting:
        return change_nesting(trace, -1)
    if target is torch.clear_autocast_cache:
        torch.clear_autocast_cache()
        trace.graph.node("call_function", target, (), {}, None)
        return Constant(None)
    if target is torch.set_autocast_cache_enabled:
        return set_mode(trace, target, values, (torch.is_autocast_cache_enabled(),))
    if target is torch.set_autocast_enabled and len(values) == 2:
        return set_mode(trace, target, values, (values[0], torch.is_autocast_enabled(values[0])))
    if target is torch.set_autocast_dtype:
        return set_mode(trace, target, values, (values[0], torch.get_autocast_dtype(values[0])))
    raise Break(calls.C_FUNCTION, function=target.__name__)


@handles(torch.set_default_dtype, torch.set_default_tensor_type)
def _set_default_dtype(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Backends keep factory functions as they are called, so a graph cannot carry this one."""
    raise Break(contexts.MODE_UNSUPPORTED, mode="torch.set_default_dtype")


@handles("set_grad_enabled")
def _set_grad_enabled(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    return set_grad_enabled(trace, args[0])


def _sdp_switch(setter: Any, getter: Any) -> Any:
    def switch(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        return set_mode(trace, setter, (abstract.constant_value(trace, args[0]),), (getter(),))

    return switch


for _setter, _getter in settings.pairs(settings.ATTENTION):
    handles(_setter)(_sdp_switch(_setter, _getter))


@handles("grad_mode")
def _grad_mode(trace: Trace, target: Any, args: Any, kwargs: Any) -> Value:
    if not isinstance(target, type):
        raise Break(calls.C_FUNCTION, function=target.__name__)
    return instance_of(trace, target, args, kwargs)


@handles("autocast")
def _autocast(trace: Trace, target: Any, args: Any, kwargs: Any) -> Value:
    return instance_of(trace, target, args, kwargs)


@handles("profiler")
def _profiler(trace: Trace, target: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A named range changes no value: it is left out. A profiler itself is Python's."""
    if target is not _Range:
        raise Break(calls.C_FUNCTION, function=target.__name__)
    return instance_of(trace, NoRange, [], {})


_Range = torch.autograd.profiler.record_function


@handles(torch.fx.traceback.annotate, torch.fx.traceback.preserve_node_meta)
def _annotations(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Notes for other tracers of torch, which are not at work here."""
    return instance_of(trace, contextlib.nullcontext, [], {})


@handles("is_grad_enabled")
def _is_grad_enabled(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    return Constant(torch.is_grad_enabled())


@handles("is_inference_mode_enabled")
def _is_inference(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    return Constant(torch.is_inference_mode_enabled())


@handles("default_device")
def _read_state(trace: Trace, target: Any, args: Any, kwargs: dict[str, Value]) -> Value:
    name = target.__name__
    if target is torch.get_default_device:
        device = abstract.constant_value(trace, default_device(trace))
        if device.index is None and device.type not in ("cpu", "meta"):
            raise Break(calls.C_FUNCTION, function=name)  # torch reads the number of the device
        return Constant(device)
    if target is torch.set_default_device:  # it does all with what is modelled
        return abstract.finish(
            trace, abstract.inline(trace, abstract.wrap(trace, target, None), args, kwargs)
        )
    if name.startswith(("are_", "get_", "is_")):
        return abstract.known(trace, target(*[abstract.constant_value(trace, a) for a in args]))
    raise Break(calls.C_FUNCTION, function=name)
