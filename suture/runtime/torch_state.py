"""torch's global state, which every operation depends on: guarded in each variant."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

import torch

from suture.runtime import state_words
from suture.torch_private import fake_tensors, thread_state

READERS: tuple[Any, ...] = (
    torch.is_grad_enabled,
    torch.is_inference_mode_enabled,
    thread_state.is_any_autocast_enabled,
    torch.get_default_dtype,
    thread_state.dispatch_stack_length,
    thread_state.get_deterministic_algorithms,
    thread_state.functorch_level,
)
state_words.install()


def guard(guards: Any, modes: list[Any]) -> None:
    """Require the state as it is now, and as many modes of torch functions as there were."""
    for reader in READERS:
        guards.add(None, "torch_state", (reader, reader(), reader.__name__))
    count = thread_state.function_stack_length
    guards.add(None, "torch_state", (count, len(modes), count.__name__))
    if modes:
        disabled = thread_state.is_torch_function_all_disabled
        guards.add(None, "torch_state", (disabled, disabled(), disabled.__name__))
    if thread_state.is_any_autocast_enabled():
        guards.add(None, "torch_state", (autocast_state, autocast_state(), "autocast"))


def user_modes() -> bool:
    """Whether a mode of the user sees each operation: it must see those of the program, one by
    one, and not those of a trace. Modes of torch functions are traced through."""
    if thread_state.dispatch_stack_length():
        return True
    # or inside a transform of torch.func that Python runs
    return thread_state.functorch_level() is not None


def are_fake(state: tuple[Any, ...]) -> bool:
    """Whether another tracer has called, with tensors that stand for real ones."""
    return any(issubclass(type(value), fake_tensors.FakeTensor) for value in state)


def holds_tensors(value: Any) -> bool:
    """Whether a value is a tensor or a module, or holds some right inside. Runs no code of the
    program: it is asked of types, since objects may say what they like of their class."""
    if issubclass(type(value), (torch.Tensor, torch.nn.Module)):
        return True
    if type(value) is dict:
        value = list(itertools.islice(value.values(), 16))
    return type(value) in (list, tuple) and any(
        issubclass(type(v), (torch.Tensor, torch.nn.Module)) for v in value[:16]
    )


@contextlib.contextmanager
def without_function_modes() -> Iterator[list[Any]]:
    """No mode of torch functions is active in the block, which gets those that were, outermost
    first: a trace reads them itself, and a graph has read them."""
    count = thread_state.function_stack_length()
    modes = [thread_state.function_stack_pop() for _ in range(count)][::-1]
    try:
        yield modes
    finally:
        for mode in modes:
            thread_state.function_stack_push(mode)


def asked(modes: list[Any]) -> list[Any]:
    """Those of the modes that operations ask: none of them inside of DisableTorchFunction."""
    return [] if thread_state.is_torch_function_all_disabled() else modes


def running_without_modes(compiled: Any) -> Any:
    """A compiled graph, run as `without_function_modes` has it."""

    def run(*args: Any) -> Any:
        with without_function_modes():
            return compiled(*args)

    return run


@contextlib.contextmanager
def without_saved_tensor_hooks() -> Iterator[None]:
    """Hooks of the user on tensors that autograd saves do not see those of a trace."""
    if thread_state.saved_hooks_top(False) is None:
        yield
        return
    thread_state.saved_hooks_push(_unchanged, _unchanged)
    try:
        yield
    finally:
        thread_state.saved_hooks_pop()


def _unchanged(value: Any) -> Any:
    return value


def autocast_state() -> tuple[Any, ...]:
    """What autocast does where it is on at all."""
    devices = ("cpu", "cuda")
    return (
        *((torch.is_autocast_enabled(d), torch.get_autocast_dtype(d)) for d in devices),
        torch.is_autocast_cache_enabled(),
    )
