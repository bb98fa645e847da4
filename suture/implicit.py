"""Which functions are compiled because compiled code calls them.

The core offers each frame that starts, and each generator that is resumed, below compiled code.
Those that the rules would inline get points of the unit that is running.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from suture import _core, rules
from suture.bytecode import makes_generator
from suture.runtime import sharded
from suture.runtime.builtins_check import builtins_replaced
from suture.runtime.unit import Unit
from suture.torch_private.torchdynamo import hide

# Code that is traced when a user's function calls it, but never compiled on its own: torch's, and
# what answers questions about types, which meets no tensor.
_NEVER_COMPILED = frozenset({"torch", "suture", "typing", "typing_extensions"})
# Code below which nothing is compiled, neither its frames nor any that they call. Where torch
# compiles and runs what it compiled: a backward graph is compiled when it is first needed, perhaps
# below compiled code.
_COMPILERS = (
    "torch._inductor.",
    "torch._functorch._aot_autograd.",
    "torch._functorch.aot_autograd.",
    "torch._functorch.compilers.",
    "torch._functorch.partitioners.",
    "torch._dynamo.backends.",
    # What a checkpoint runs again in the backward is run plainly there, and must save the same.
    "torch.utils.checkpoint.",
)


def _on_frame(code: types.CodeType, function: Any) -> Any:
    """A frame starts below compiled code: compile it too, if the rules would inline it."""
    if _nothing_below(function):
        return False
    unit = _core.current_context()
    if builtins_replaced() or not _is_ours(unit, code, function) or makes_generator(code):
        return None
    verdict = rules.lookup(function)
    if verdict.kind is not rules.INLINE or verdict.target is not None:
        return None
    return unit.implicit_entry(code)


def _on_resumed_frame(code: types.CodeType, function: Any, offset: int) -> Any:
    """A generator is resumed below compiled code, or is compiled itself: compile what it runs up
    to its next `yield`."""
    if _nothing_below(function):
        return False
    unit = _core.current_context()
    if builtins_replaced() or not _is_ours(unit, code, function):
        return None
    if rules.lookup(function).kind is not rules.INLINE:
        return None
    return unit.resumed(code, offset)


def _nothing_below(function: Any) -> bool:
    """Whether nothing is compiled below it: a function of torch's compilers, or a disabled one."""
    if rules.disables_all_below(function):
        return True
    home = function.__globals__.get("__name__") if type(function) is types.FunctionType else None
    if home == "torch.overrides" and function.__name__ == "redispatch_function":
        return True  # a state of the thread, which the next look for overrides takes, is no guard
    return type(home) is str and f"{home}.".startswith(_COMPILERS)


def _is_ours(unit: Any, code: types.CodeType, function: Any) -> bool:
    if not isinstance(unit, Unit) or not isinstance(function, types.FunctionType):
        return False
    if sharded.is_compiled(code):
        return True
    home = function.__globals__.get("__name__")
    if type(home) is not str or home.partition(".")[0] in _NEVER_COMPILED:
        return False  # without a module it is code that a backend has generated
    if code.co_name == "__torch_dispatch__":
        return False  # it is called for each operation there is, with another one each time
    if home.startswith("namedtuple_"):
        return False  # the lambda that makes a named tuple: nothing in it is worth a guard
    if str(function.__module__).partition(".")[0] in _NEVER_COMPILED or _importing():
        return False
    return rules.lookup_frame(code, function.__globals__).kind is rules.INLINE


def _importing() -> bool:
    """Whether a module is being imported below: that runs once, there is nothing to compile."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if code.co_name == "_find_and_load" and code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def install() -> None:
    """Have the core ask here about frames."""
    _core.set_frame_callback(_on_frame)
    _core.set_generator_callback(_on_resumed_frame)


for _callback in (_on_frame, _on_resumed_frame):
    hide(_callback.__code__)
