"""torch's own switches: what a program says to torch.compile by torch's configuration.

They count while `suture.install()` holds (`on`), since then the program means suture when it speaks
to torch. What reads torch's private parts is imported when a switch is looked at, and only if the
program has imported that part itself: a switch nobody can have touched is not looked for.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from suture import config

on = False  # set by install() and uninstall()


def disabled() -> bool:
    """Whether nothing may be compiled now, by suture's option or by torch's."""
    if config.disable or not on:
        return config.disable
    dynamo = sys.modules.get("torch._dynamo.config")
    return dynamo is not None and bool(getattr(dynamo, "disable", False))


@contextlib.contextmanager
def heard(point: Any, variants: int) -> Iterator[None]:
    """One compilation of a point. What torch's configuration says now is what suture's options say
    in the block. A knob that the program has changed and that means nothing here is named, once.
    Callbacks of torch hear of the compilation, and torch's trace has it, if there is one."""
    if not on:
        yield
        return
    with contextlib.ExitStack() as stack:
        if "torch._dynamo.config" in sys.modules:
            from suture.switches import _torch_config

            _torch_config.tell_unheard()
            stack.enter_context(config.patch(**_torch_config.options()))
        if "torch._dynamo.callback" in sys.modules:
            from suture.switches import _torch_counters

            stack.enter_context(_torch_counters.callbacks(point.name))
        if traced():
            from suture.switches import _torch_trace

            stack.enter_context(_torch_trace.compilation(point, variants))
        yield


def traced() -> bool:
    """Whether torch writes its structured trace in this process."""
    internal = sys.modules.get("torch._logging._internal")
    return internal is not None and bool(internal.trace_log.handlers)
