"""`with torch._dynamo.patch_dynamo_config(knob=value)` in traced code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suture.breaks import Break, calls
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles
from suture.rules.unchanged import Unchanged
from suture.switches import would_change


@handles("patch_dynamo_config")
def _patch(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """A block in which knobs have values that suture's options have anyway, or that it has no
    option for, changes nothing. For any other Python enters the block: what follows is compiled
    with the options that hold then."""
    knobs = {name: abstract.constant_value(trace, value) for name, value in kwargs.items()}
    if args or not knobs or any(would_change(name, value) for name, value in knobs.items()):
        raise Break(
            calls.PYTHON_FUNCTION_RUN,
            module="torch._dynamo",
            qualname="patch_dynamo_config",
            reason="it changes an option for the code that follows",
        )
    return abstract.tail_call(trace, abstract.wrap(trace, Unchanged, None), [], {})
