"""torch's own switches: what a program says to torch.compile by torch's configuration.

They count while `suture.install()` holds (`on`), since then the program means suture when it speaks
to torch. What reads torch's private parts is imported when a switch is looked at, and only if the
program has imported that part itself: a switch nobody can have touched is not looked for.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator

from suture import config

on = False  # set by install() and uninstall()


def disabled() -> bool:
    """Whether nothing may be compiled now, by suture's option or by torch's."""
    if config.disable or not on:
        return config.disable
    dynamo = sys.modules.get("torch._dynamo.config")
    return dynamo is not None and bool(getattr(dynamo, "disable", False))


@contextlib.contextmanager
def heard() -> Iterator[None]:
    """What torch's configuration says now is what suture's options say in the block. A knob that
    the program has changed and that means nothing here is named, once."""
    if not on or "torch._dynamo.config" not in sys.modules:
        yield
        return
    from suture.switches import _torch_config

    _torch_config.tell_unheard()
    with config.patch(**_torch_config.options()):
        yield
