"""Where torch keeps the state that guards look at: read there, a guard needs no Python."""

from __future__ import annotations

from typing import Any

import torch

from suture import _core
from suture.torch_private import releases, thread_state

# (Python function, library, symbol that tells the same, kind). Whether autocast is on follows from
# the thread's dispatch keys; the level of a transform is the length of a vector of layers.
_STATE_WORDS: tuple[tuple[Any, str, str, str], ...] = (
    (torch.is_grad_enabled, "libc10.so", "_ZN3c108GradMode10is_enabledEv", "bool"),
    (
        torch.is_inference_mode_enabled,
        "libc10.so",
        "_ZN3c1013InferenceMode10is_enabledEv",
        "bool",
    ),
    (
        thread_state.is_any_autocast_enabled,
        "libc10.so",
        "_ZN3c104impl26raw_local_dispatch_key_setE",
        "words of thread",
    ),
    (
        torch.get_default_dtype,
        "libc10.so",
        "_ZN3c1031get_default_dtype_as_scalartypeEv",
        "int8",
    ),
    (
        thread_state.function_stack_length,
        "libtorch_cpu.so",
        "_ZN2at4impl22PythonTorchFunctionTLS9stack_lenEv",
        "int64",
    ),
    (
        thread_state.dispatch_stack_length,
        "libc10.so",
        "_ZN3c104impl20TorchDispatchModeTLS9stack_lenEv",
        "int64",
    ),
    (
        thread_state.functorch_level,
        "libtorch_cpu.so",
        "_ZN2at9functorch20getDynamicLayerStackEv",
        "words at",
    ),
)


def install() -> list[str]:
    """Let guards made from now on read state words: the names of the functions that have one."""
    if not releases.reads_memory():
        return []
    return [word[0].__name__ for word in _STATE_WORDS if _core.state_word(*word)]
