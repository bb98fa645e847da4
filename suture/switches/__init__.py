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
from suture.torch_private import dynamo_reports, structured_trace, torchdynamo

on = False  # set by install() and uninstall()


def disabled() -> bool:
    """Whether nothing may be compiled now, by suture's option or by torch's."""
    if config.disable or not on:
        return config.disable
    return torchdynamo.is_disabled()


def recompile_contexts() -> tuple[str, ...]:
    """What the functions that the program gave to torch for this say when something is compiled
    again, each once."""
    if not on:
        return ()
    return tuple(dict.fromkeys(str(hook()) for hook in dynamo_reports.recompile_hooks()))


def would_change(knob: str, value: Any) -> bool:
    """Whether a knob of torch._dynamo.config at `value` is another option of suture than holds
    now. One that suture has no option for is named, once, with what suture does instead."""
    if not on:
        return False
    from suture.switches import _torch_config

    return _torch_config.would_change(knob, value)


def sets_option(knob: str, value: Any) -> bool:
    """Whether a knob of torch._dynamo.config at `value` sets an option of suture to something else
    than suture's default. One that suture has no option for is named as above. The answer depends
    on nothing else, so it is the same where a block is entered and where it is left."""
    if not on:
        return False
    from suture.switches import _torch_config

    return _torch_config.sets_option(knob, value)


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
        if dynamo_reports.has_callbacks():
            stack.enter_context(dynamo_reports.callbacks(point.name))
        if structured_trace.is_written():
            from suture.switches import _torch_trace

            stack.enter_context(_torch_trace.compilation(point, variants))
        yield
