"""TorchFunctionMode: modes of the user that see every operation before it is done.

The trace has a stack of its own: the modes that were active when the region began, innermost
last, and those that the program enters. An operation calls the innermost mode, whose
`__torch_function__` is traced with the mode itself off the stack, as torch does it. While tracing,
and while a graph runs, no mode is really active; what the program changed of the stack, the
variant puts back at its end.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from suture.breaks import Break, contexts
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.language.classes import instance_of
from suture.compiler.models import handles
from suture.compiler.objects import Constant, Dict, Lazy, Object, Tensor, Tuple
from suture.compiler.objects.torch_switch import FunctionSwitch
from suture.torch_private import tensor_parts, thread_state
from suture.torch_private.tensor_parts import DeviceContext, device_constructors


def mode_at(index: int) -> Any:
    """The mode at that index of torch's own stack."""
    return thread_state.function_stack_at(index)


def begin_modes(trace: Trace, active: list[Any]) -> None:
    """The modes that are active when the region begins, outermost first."""
    trace.modes.modes_at_start = [
        Lazy(mode, abstract.pinned(trace, index, f"mode {index}").call(mode_at))
        for index, mode in enumerate(active)
    ]
    trace.modes.function_modes = list(trace.modes.modes_at_start)
    trace.modes.overridable_seen = trace.modes.overridable_seen or bool(active)


def function_mode(trace: Trace, index: int) -> Value:
    """The mode at an index of the stack, looked at."""
    found = abstract.realize(trace, trace.modes.function_modes[index])
    for modes in (trace.modes.function_modes, trace.modes.modes_at_start):
        for i, held in enumerate(modes):
            if type(held) is Lazy and held.value is getattr(found, "value", None):
                modes[i] = found
    return found


def push_mode(trace: Trace, mode: object) -> None:
    trace.effects.note_change()
    trace.modes.function_modes.append(mode)
    trace.modes.overridable_seen = True


def pop_mode(trace: Trace) -> Value:
    if not trace.modes.function_modes:
        raise Break(contexts.MODE_UNSUPPORTED, mode="an empty stack of modes")
    mode = function_mode(trace, -1)
    trace.effects.note_change()
    trace.modes.function_modes.pop()
    return mode


def modes_see(trace: Trace, real: object = None) -> bool:
    """Whether a mode may take over an operation. A default device only has to do with
    functions that make tensors."""
    if not trace.modes.function_modes:
        return False
    if all(_is_device(trace, m) for m in trace.modes.function_modes):
        return real is not None and real in _constructors()
    return True


def _is_device(trace: Trace, mode: object) -> bool:
    if type(mode) is Lazy:
        return type(mode.value) is DeviceContext
    return isinstance(mode, Object) and mode.cls is DeviceContext


def call_function_mode(
    trace: Trace,
    func: Value,
    kinds: Value,
    args: list[Value],
    kwargs: dict[str, Value],
    plain: bool,
) -> Value:
    """What the innermost mode says. The stack is without it meanwhile."""
    mode = function_mode(trace, -1)
    kept = trace.modes.function_modes
    trace.modes.function_modes = kept[:-1]
    try:
        if isinstance(mode, Object) and mode.cls is DeviceContext:
            return _on_device(trace, mode, func, args, kwargs)
        given = [func, kinds, Tuple(list(args))]
        if kwargs or not plain:
            given.append(Dict({k: (Constant(k), v) for k, v in kwargs.items()}))
        cls = mode.python_type()
        raw = abstract.type_lookup(trace, cls, "__torch_function__")
        bound = abstract.finish(trace, abstract.bind(trace, raw, mode, cls, "__torch_function__"))
        result = abstract.call(trace, bound, given, {})
    finally:
        trace.modes.function_modes = kept
    if result.is_constant() and result.constant() is NotImplemented:
        raise Break(contexts.MODE_UNSUPPORTED, mode=mode.describe())
    return result


def _on_device(trace: Trace, mode: Value, func: Any, args: list[Value], kwargs: Any) -> Value:
    """A default device: functions that make tensors are told of it."""
    try:
        makes = func.real() in _constructors()
    except (LookupError, TypeError):
        makes = False
    given = kwargs.get("device")
    if makes and (given is None or (given.is_constant() and given.constant() is None)):
        device = abstract.finish(trace, abstract.getattr(trace, mode, "device"))
        kwargs = {**kwargs, "device": device}
    return abstract.call(trace, func, args, kwargs)


def mode_operator(trace: Trace, name: str, *operands: object) -> Value | None:
    """An operator on tensors that a mode is to see; None if there is none."""
    if not modes_see(trace) or not any(isinstance(v, Tensor) for v in operands):
        return None
    marks = "".join("t" if isinstance(v, Tensor) else "n" for v in operands)
    recorded = _recorded(name, marks)
    if recorded is None:
        return None
    func, order, plain = recorded
    given = [operands[i] for i in order]
    return call_function_mode(trace, abstract.wrap(trace, func, None), Tuple([]), given, {}, plain)


# ---- a device as a block


@implements(abstract.device_block)
def device_block(trace: Trace, device: Value, name: str) -> Value:
    if name == "__exit__":
        pop_mode(trace)
        return Constant(None)
    made = instance_of(trace, DeviceContext, [device], {})
    push_mode(trace, abstract.finish(trace, made))
    return device


def default_device(trace: Trace) -> Any:
    """The device of the innermost block, or the one that was set for the process."""
    for index in reversed(range(len(trace.modes.function_modes))):
        if _is_device(trace, trace.modes.function_modes[index]):
            return abstract.finish(
                trace, abstract.getattr(trace, function_mode(trace, index), "device")
            )
    return Constant(torch.get_default_device())


class _Recorder(TorchFunctionMode):
    """A mode that records its first call."""

    def __init__(self) -> None:
        super().__init__()
        self.recorded: Any = None

    def __torch_function__(
        self, func: object, types: Any, args: Sequence[Any] = (), kwargs: Any = None
    ) -> Any:
        if self.recorded is None:
            self.recorded = (func, args, kwargs is None)
        return torch.zeros(())


@functools.cache
def _recorded(name: str, marks: str) -> Any:
    """(function, order of the operands, whether C calls) for an operator on tensors and numbers;
    None if it calls none."""
    made = [torch.zeros(()) if mark == "t" else 2 for mark in marks]
    real: Callable[..., Any] = divmod if name == "divmod" else getattr(operator, name)
    with _Recorder() as listener:
        try:
            real(*made)
        except TypeError:
            return None
    if listener.recorded is None:
        return None
    func, args, plain = listener.recorded
    order = [next((i for i, o in enumerate(made) if o is a), -1) for a in args]
    return (func, order, plain) if -1 not in order else None


@functools.cache
def _constructors() -> frozenset[Any]:
    return frozenset(device_constructors())


@handles("torch_function_stack")
def _torch_function_stack(trace: Trace, target: Any, args: Any, kwargs: dict[str, Value]) -> Value:
    name = target.__name__
    if name == "_push_on_torch_function_stack":
        push_mode(trace, args[0])
        return Constant(None)
    if name == "_pop_torch_function_stack":
        return pop_mode(trace)
    if name == "_len_torch_function_stack":
        return Constant(len(trace.modes.function_modes))
    if name == "_get_function_stack_at":
        return function_mode(trace, abstract.integer(trace, args[0]))
    if name == "_is_torch_function_mode_enabled":
        return Constant(bool(trace.modes.function_modes))
    if name == "_is_torch_function_enabled":
        abstract.guard_functions(trace)
        return Constant(trace.modes.functions_on)
    if "skip" in name:
        raise Break(contexts.MODE_UNSUPPORTED, mode=name)
    return abstract.known(trace, target(*[abstract.constant_value(trace, a) for a in args]))


@handles("torch_function_mode")
def _torch_function_mode(
    trace: Trace, target: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    if target is tensor_parts.DisableTorchFunctionSubclass:
        return FunctionSwitch(None)
    raise Break(contexts.MODE_UNSUPPORTED, mode=target.__name__)
