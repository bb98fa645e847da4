"""torch.inference_mode as something that is set, like grad mode.

torch has no function that sets it, only objects that set it and put back what was. `set_inference`
keeps such objects. What they put back is all that a thread dispatches by, so one that is left after
something entered later was left (a compiler that failed in the midst of a graph) would bring that
back: `_leave` changes what the mode consists of, and nothing else.
"""

from __future__ import annotations

import threading
from typing import Any

import torch

from suture.torch_private import thread_state


class _Guards(threading.local):
    """The objects that hold the mode, each with what it was before and with the dispatch keys that
    it has changed; objects that have corrected those keys."""

    def __init__(self) -> None:
        self.stack: list[tuple[bool, Any, tuple[int, int]]] = []
        self.corrections: list[Any] = []


_guards = _Guards()


def set_inference(state: bool) -> None:
    """Switch inference mode. Grad mode is switched along, as torch does it."""
    if torch.is_inference_mode_enabled() is state:
        return
    if _guards.stack and _guards.stack[-1][0] is state:
        _leave(*_guards.stack.pop()[1:])
        return
    before = _keys()
    guard = thread_state.InferenceMode(state)  # it is entered as it is made
    guard.__enter__()
    _guards.stack.append((not state, guard, _changed(before, _keys())))


def _leave(guard: Any, changed: tuple[int, int]) -> None:
    wanted = _changed(_keys(), changed)
    guard.__exit__(None, None, None)
    if _keys() != wanted:
        made = [thread_state.DispatchKeySet.from_raw_repr(keys) for keys in wanted]
        correction = thread_state.ForceDispatchKeyGuard(*made)
        correction.__enter__()
        _guards.corrections.append(correction)  # it would put back what was when it is freed


def _keys() -> tuple[int, int]:
    """The dispatch keys that this thread includes, and those it excludes, as bits."""
    return thread_state.included_keys().raw_repr(), thread_state.excluded_keys().raw_repr()


def _changed(keys: tuple[int, int], bits: tuple[int, int]) -> tuple[int, int]:
    return keys[0] ^ bits[0], keys[1] ^ bits[1]


def switch(inference: bool, grad: bool) -> None:
    """Bring inference mode and grad mode to that state."""
    set_inference(inference)
    thread_state.set_grad_enabled(grad)
