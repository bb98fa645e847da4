"""Torch's own forwards that are compiled when they start as frames.

Torch's Python is run when it arrives as a frame below compiled code: torch called it. A module
under fully_shard is called by Python because of its hooks, whatever its class; its forward is what
the program wants compiled, also where torch wrote it (nn.Linear, a checkpoint wrapper).
"""

from __future__ import annotations

from types import CodeType, FunctionType
from typing import Any

from suture.torch_private import distributed_parts, tensor_parts

_CODES: dict[int, CodeType] = {}


def compile_forward(module: Any) -> CodeType | None:
    """From now on the forward of a module is compiled where it starts as a frame. Gives its code if
    that is news."""
    forward = getattr(type(module), "forward", None)
    if type(forward) is not FunctionType or id(forward.__code__) in _CODES:
        return None
    if not forward.__module__.startswith("torch."):
        return None  # the program's own is compiled anyway
    _CODES[id(forward.__code__)] = forward.__code__
    return forward.__code__


def is_compiled(code: CodeType) -> bool:
    """Whether a frame of torch with this code is compiled."""
    return id(code) in _CODES


def is_call(chain: Any, state: tuple[Any, ...]) -> bool:
    """Whether a frame that starts is the call of a module with hooks of fully_shard or replicate,
    as `Module.compile` compiles it: Python runs them there too, and forward is compiled below."""
    code = chain[0].code
    if len(chain) > 1 or chain[0].index or code is not tensor_parts.module_call.__code__:
        return False
    module = state[1]
    for table in ("_forward_pre_hooks", "_forward_hooks"):
        for hook in getattr(module, table, {}).values():
            if distributed_parts.skipped_by_fsdp(hook) or distributed_parts.drives_reducer(hook):
                compile_forward(module)
                return True
    return False
