"""torch.inference_mode as something that is set, like grad mode.

torch has no function that sets it, only objects that set it and put back what was. `set_inference`
keeps such objects.
"""

from __future__ import annotations

import threading
from typing import Any

import torch

from suture.torch_private import thread_state


class _Guards(threading.local):
    """The objects that hold the mode, each with what it was before."""

    def __init__(self) -> None:
        self.stack: list[tuple[bool, Any]] = []


_guards = _Guards()


def set_inference(state: bool) -> None:
    """Switch inference mode. Grad mode is switched along, as torch does it."""
    if torch.is_inference_mode_enabled() is state:
        return
    if _guards.stack and _guards.stack[-1][0] is state:
        _guards.stack.pop()[1].__exit__(None, None, None)
        return
    guard = thread_state.InferenceMode(state)
    guard.__enter__()
    _guards.stack.append((not state, guard))


def switch(inference: bool, grad: bool) -> None:
    """Bring inference mode and grad mode to that state."""
    set_inference(inference)
    thread_state.set_grad_enabled(grad)
