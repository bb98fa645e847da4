"""torch._C.DisableTorchFunctionSubclass: a block without `__torch_function__` of subclasses."""

from __future__ import annotations

from typing import Any

from suture.breaks import Break, contexts
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects.constant import Constant
from suture.compiler.objects.methods import find_method, method
from suture.compiler.objects.sequence import BuiltinMethod
from suture.runtime.sources import Source
from suture.torch_private import tensor_parts, thread_state

Switch: type = tensor_parts.DisableTorchFunctionSubclass


class FunctionSwitch(Value):
    """One such object. `before` is the state it goes back to, None as long as it was not entered.
    One with a source was entered before the region began."""

    __slots__ = ("before",)

    def __init__(self, source: Source | None, before: bool | None = None) -> None:
        super().__init__(source)
        self.before = before

    def python_type(self) -> type:
        return Switch

    def getattr(self, trace: Trace, name: str) -> Value:
        if find_method(type(self), name) is not None:
            return BuiltinMethod(self, name)
        return super().getattr(trace, name)

    def rebuild(self, emit: Emitter) -> str:
        if self.before is None:
            return f"{emit.constant(Switch, 'DisableTorchFunctionSubclass')}()"
        return f"{emit.constant(entered, 'entered')}({self.before})"


@method(FunctionSwitch, "__enter__")
def function_switch_enter(self: FunctionSwitch, trace: Trace) -> Value:
    if self.source is not None or trace.modes.switches_left:
        raise Break(contexts.MODE_UNSUPPORTED, mode=Switch.__name__)
    abstract.guard_functions(trace)
    trace.effects.note_change()
    self.before, trace.modes.functions_on = trace.modes.functions_on, False
    return Constant(None)


@method(FunctionSwitch, "__exit__")
def function_switch_exit(self: FunctionSwitch, trace: Trace, *exc: Value) -> Value:
    if self.before is None:
        raise Break(contexts.MODE_UNSUPPORTED, mode=Switch.__name__)
    if self.source is not None:
        trace.effects.call(leave, [self], {})
        trace.modes.switches_left = True
    trace.effects.note_change()
    trace.modes.functions_on = self.before
    return Constant(None)


def entered(before: bool) -> Any:
    """A switch that was entered when `__torch_function__` was on or off, as `before` says."""
    made, around = Switch(), Switch()
    if not before:  # the state itself is changed by the outer one of several
        around.__enter__()
    made.__enter__()
    if not before:
        around.__exit__(None, None, None)
    return made


def leave(switch: Any) -> None:
    switch.__exit__(None, None, None)


def state_behind(switch: Any) -> bool:
    """The state that an entered switch goes back to."""
    switch.__exit__(None, None, None)
    before = bool(thread_state.is_torch_function_enabled())
    switch.__enter__()
    return before
