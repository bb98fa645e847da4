"""TorchFunctionMode: modes of the user that see every operation before it is done.

The tracer has a stack of its own: the modes that were active when the region began, innermost
last, and those that the program enters. An operation asks the innermost mode, whose
`__torch_function__` is traced with the mode itself off the stack, as torch does it. While tracing,
and while a graph runs, no mode is really active; what the program changed of the stack, the
variant puts back at its end.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from suture.breaks import Break, contexts
from suture.calls.part import Part
from suture.calls.table import special
from suture.torch_private import tensor_parts, thread_state
from suture.torch_private.tensor_parts import DeviceContext, device_constructors
from suture.variables import Constant, Dict, Lazy, Object, Tensor, Tuple
from suture.variables.switches import FunctionSwitch


def mode_at(place: int) -> Any:
    """The mode at that place of torch's own stack."""
    return thread_state.function_stack_at(place)


class FunctionModes(Part):
    """The part of the tracer that keeps the stack of modes. `modes_at_start` is the stack when the
    region began, `function_modes` as it is now; both hold variables, or what can become one."""

    asks: bool
    function_modes: list[Any]
    modes_at_start: list[Any]

    def begin_modes(self, active: list[Any]) -> None:
        """The modes that are active when the region begins, outermost first."""
        self.modes_at_start = [
            Lazy(mode, self.pinned(place, f"mode {place}").call(mode_at))
            for place, mode in enumerate(active)
        ]
        self.function_modes = list(self.modes_at_start)
        self.asks = self.asks or bool(active)

    def mode(self, place: int) -> Any:
        """The mode at a place of the stack, looked at."""
        found = self.realize(self.function_modes[place])
        for modes in (self.function_modes, self.modes_at_start):
            for i, held in enumerate(modes):
                if type(held) is Lazy and held.value is getattr(found, "value", None):
                    modes[i] = found
        return found

    def push_mode(self, mode: Any) -> None:
        self.effects.note_change()
        self.function_modes.append(mode)
        self.asks = True

    def pop_mode(self) -> Any:
        if not self.function_modes:
            raise Break(contexts.MODE_UNSUPPORTED, mode="an empty stack of modes")
        mode = self.mode(-1)
        self.effects.note_change()
        self.function_modes.pop()
        return mode

    def modes_see(self, real: Any = None) -> bool:
        """Whether a mode is to be asked about an operation. A default device only has to do with
        functions that make tensors."""
        if not self.function_modes:
            return False
        if all(self._is_device(m) for m in self.function_modes):
            return real is not None and real in _constructors()
        return True

    def _is_device(self, mode: Any) -> bool:
        if type(mode) is Lazy:
            return type(mode.value) is DeviceContext
        return isinstance(mode, Object) and mode.cls is DeviceContext

    def ask_mode(self, func: Any, kinds: Any, args: list[Any], kwargs: Any, plain: bool) -> Any:
        """What the innermost mode says. The stack is without it meanwhile."""
        mode = self.mode(-1)
        kept = self.function_modes
        self.function_modes = kept[:-1]
        try:
            if isinstance(mode, Object) and mode.cls is DeviceContext:
                return self._on_device(mode, func, args, kwargs)
            given = [func, kinds, Tuple(list(args))]
            if kwargs or not plain:
                given.append(Dict({k: (Constant(k), v) for k, v in kwargs.items()}))
            cls = mode.python_type()
            raw = self.type_lookup(cls, "__torch_function__")
            bound = self.finish(self.bind(raw, mode, cls, "__torch_function__"))
            result = self.call(bound, given, {})
        finally:
            self.function_modes = kept
        if result.is_constant() and result.constant() is NotImplemented:
            raise Break(contexts.MODE_UNSUPPORTED, mode=mode.describe())
        return result

    def _on_device(self, mode: Any, func: Any, args: list[Any], kwargs: Any) -> Any:
        """A default device: functions that make tensors are told of it."""
        try:
            makes = func.real() in _constructors()
        except (LookupError, TypeError):
            makes = False
        given = kwargs.get("device")
        if makes and (given is None or (given.is_constant() and given.constant() is None)):
            device = self.finish(self.getattr(mode, "device"))
            kwargs = {**kwargs, "device": device}
        return self.call(func, args, kwargs)

    def mode_operator(self, name: str, *operands: Any) -> Any:
        """An operator on tensors that a mode is to see; None if there is none."""
        if not self.modes_see() or not any(isinstance(v, Tensor) for v in operands):
            return None
        marks = "".join("t" if isinstance(v, Tensor) else "n" for v in operands)
        heard = _heard(name, marks)
        if heard is None:
            return None
        func, order, plain = heard
        given = [operands[i] for i in order]
        return self.ask_mode(self.wrap(func, None), Tuple([]), given, {}, plain)

    # ---- a device as a block

    def device_block(self, device: Any, name: str) -> Any:
        """`__enter__` or `__exit__` of a torch.device, as torch has them in C."""
        if name == "__exit__":
            self.pop_mode()
            return Constant(None)
        made = self.make_instance(self.wrap(DeviceContext, None), [device], {})
        self.push_mode(self.finish(made))
        return device

    def default_device(self) -> Any:
        """The device of the innermost block, or the one that was set for the process."""
        for place in reversed(range(len(self.function_modes))):
            if self._is_device(self.function_modes[place]):
                return self.finish(self.getattr(self.mode(place), "device"))
        return Constant(torch.get_default_device())


class _Listener(TorchFunctionMode):
    """A mode that keeps what it was asked first."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: Any = None

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.heard is None:
            self.heard = (func, args, kwargs is None)
        return torch.zeros(())


@functools.cache
def _heard(name: str, marks: str) -> Any:
    """(function, order of the operands, whether C asks) for an operator on tensors and numbers;
    None if it asks nobody."""
    made = [torch.zeros(()) if mark == "t" else 2 for mark in marks]
    real = divmod if name == "divmod" else getattr(operator, name)
    with _Listener() as listener:
        try:
            real(*made)
        except TypeError:
            return None
    if listener.heard is None:
        return None
    func, args, plain = listener.heard
    order = [next((i for i, o in enumerate(made) if o is a), -1) for a in args]
    return (func, order, plain) if -1 not in order else None


@functools.cache
def _constructors() -> frozenset[Any]:
    return frozenset(device_constructors())


@special("torch_function_stack")
def _torch_function_stack(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    name = target.__name__
    if name == "_push_on_torch_function_stack":
        tx.push_mode(args[0])
        return Constant(None)
    if name == "_pop_torch_function_stack":
        return tx.pop_mode()
    if name == "_len_torch_function_stack":
        return Constant(len(tx.function_modes))
    if name == "_get_function_stack_at":
        return tx.mode(tx.integer(args[0]))
    if name == "_is_torch_function_mode_enabled":
        return Constant(bool(tx.function_modes))
    if name == "_is_torch_function_enabled":
        tx.guard_functions()
        return Constant(tx.functions_on)
    if "skip" in name:
        raise Break(contexts.MODE_UNSUPPORTED, mode=name)
    return tx.known(target(*[tx.constant_value(a) for a in args]))


@special("torch_function_mode")
def _torch_function_mode(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    if target is tensor_parts.DisableTorchFunctionSubclass:
        return FunctionSwitch(None)
    raise Break(contexts.MODE_UNSUPPORTED, mode=target.__name__)
