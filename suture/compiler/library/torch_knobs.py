"""Blocks and decorators in traced code that set something of torch's compiler:
`torch._dynamo.patch_dynamo_config(knob=value)`, `torch._dynamo.override_cudagraphs(...)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suture.breaks import Break, calls
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles
from suture.compiler.objects import Constant, Object
from suture.rules.unchanged import Unchanged
from suture.switches import sets_option, would_change
from suture.switches.words import name_word


def _left_to_python() -> Break:
    return Break(
        calls.PYTHON_FUNCTION_RUN,
        module="torch._dynamo",
        qualname="patch_dynamo_config",
        reason="it changes an option for the code that follows",
    )


@handles("patch_dynamo_config")
def _patch(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """A block in which knobs have values that suture's options have anyway, or that it has no
    option for, changes nothing. For any other Python enters the block: what follows is compiled
    with the options that hold then."""
    knobs = {name: abstract.constant_value(trace, value) for name, value in kwargs.items()}
    if args or not knobs or any(would_change(name, value) for name, value in knobs.items()):
        raise _left_to_python()
    return abstract.tail_call(trace, abstract.wrap(trace, Unchanged, None), [], {})


@handles("foreign_setting")
def _enter_or_leave(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """The block of a `patch_dynamo_config` that was made outside, as a decorator is. It is entered
    and left by Python if it sets an option to anything but suture's default, and else by nobody."""
    block = args[0]
    if not isinstance(block, Object) or block.value is None or block.source is None:
        raise _left_to_python()
    abstract.fix(trace, block.source, block.value)
    changed = [sets_option(name, value) for name, value in block.value.changes.items()]
    if any(changed):
        raise _left_to_python()
    return Constant(None)


@handles("override_cudagraphs")
def _override_cudagraphs(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """A block that changes nothing, or the way into one and out of it."""
    name_word("torch._dynamo.override_cudagraphs")
    if target.__name__ == "override_cudagraphs":
        return abstract.tail_call(trace, abstract.wrap(trace, Unchanged, None), [], {})
    return Constant(None)
