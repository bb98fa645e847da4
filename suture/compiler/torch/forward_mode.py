"""Forward mode of autograd, switched off and on for a block: a mode like grad mode."""

from __future__ import annotations

from suture.breaks import Break, calls
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles
from suture.compiler.objects import Constant
from suture.compiler.torch.modes import set_mode
from suture.torch_private import autograd_parts, thread_state


def _guard(trace: Trace) -> bool:
    """Whether it is on now. The region relies on how it was before it."""
    now = bool(thread_state.is_fwd_grad_enabled())
    if (thread_state.set_fwd_grad_enabled, ()) not in trace.graph.resets:
        reader = thread_state.is_fwd_grad_enabled
        trace.guards.add(None, "torch_state", (reader, now, reader.__name__))
    return now


@handles(thread_state.is_fwd_grad_enabled)
def _is_enabled(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return Constant(_guard(trace))


@handles(thread_state.set_fwd_grad_enabled)
def _set_enabled(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    if len(args) != 1 or kwargs:
        raise Break(calls.C_FUNCTION, function="_set_fwd_grad_enabled")
    wanted = (abstract.constant_value(trace, args[0]),)
    return set_mode(trace, thread_state.set_fwd_grad_enabled, wanted, (_guard(trace),))


def _inline(trace: Trace, function: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    return abstract.inline(trace, function, args, kwargs)


_block = autograd_parts.forward_block
for _method in (_block.__init__, _block.__enter__, _block.__exit__):
    handles(_method.__code__)(_inline)
