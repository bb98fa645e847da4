"""torch.distributed: groups of processes, and collectives as nodes of the graph.

A collective that writes into its argument becomes a functional one and a copy, as torch's own
functions for that do it: those are traced instead of the call. Graphs name groups by their names. A
collective that has no functional form, or whose result autograd would treat otherwise, is run by
Python, the whole call at once.
"""

from __future__ import annotations

from typing import Any

import torch

from suture.breaks import Break, calls, contexts, distributed, objects
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles
from suture.compiler.objects import Constant, Function, List, Tensor, Tuple
from suture.compiler.objects.frozen import Frozen
from suture.compiler.objects.wraps import wraps_named
from suture.runtime.sources import Source
from suture.torch_private import autograd_parts, distributed_parts

# By name: the function of torch that does the same with a functional collective and a copy, and
# where `op` and `group` are among the positional arguments.
_IN_PLACE: dict[str, tuple[str, int | None, int]] = {
    "all_reduce": ("all_reduce_inplace", 1, 2),
    "all_gather": ("all_gather_inplace", None, 2),
    "all_gather_into_tensor": ("all_gather_tensor_inplace", None, 2),
    "all_gather_single": ("all_gather_tensor_inplace", None, 2),
    "all_to_all_single": ("all_to_all_inplace", None, 4),
    "reduce_scatter_tensor": ("reduce_scatter_tensor_inplace", 2, 3),
    "reduce_scatter_single": ("reduce_scatter_tensor_inplace", 2, 3),
}
_COLLECTIVES = (
    *_IN_PLACE, "broadcast", "all_to_all", "barrier", "gather", "reduce", "reduce_scatter",
    "scatter", "monitored_barrier", "all_gather_object", "broadcast_object_list", "send", "recv",
    "isend", "irecv",
)  # fmt: skip


class Group(Frozen):
    """A process group, guarded by identity. What is read here is fixed when it is made."""

    __slots__ = ()

    def getattr(self, trace: Trace, name: str) -> Any:
        if name not in ("group_name", "group_desc", "size", "rank", "name", "__class__"):
            raise Break(objects.UNKNOWN_ATTRIBUTE, object=self.describe(), attribute=name)
        return super().getattr(trace, name)


@wraps_named(
    "torch._C._distributed_c10d.ProcessGroup", "torch.distributed.distributed_c10d.ProcessGroup"
)
def _group(trace: Trace, value: Any, source: Source | None) -> Value:
    if source is None:
        return Group(value, abstract.pinned(trace, value))
    trace.guards.add(source, "weak", value)  # a group that is destroyed goes
    trace.outside.fixed.add(id(source))
    return Group(value, source)


@handles("group_fact")
def _fact(trace: Trace, target: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """get_rank() and the like: a number as long as the groups are those that they are now."""
    state = distributed_parts.groups_made
    trace.guards.add(None, "torch_state", (state, state(), "the process groups"))
    given = [abstract.constant_value(trace, one) for one in args]
    named = {key: abstract.constant_value(trace, one) for key, one in kwargs.items()}
    return abstract.call_now(trace, target, given, named)


# ---- collectives


def _collective(real: Any, name: str) -> None:
    @handles(real)
    def handler(trace: Trace, args: list[Any], kwargs: dict[str, Any]) -> Value:
        later = kwargs.get("async_op")
        if later is not None and abstract.truth(trace, later):
            raise Break(distributed.ASYNC_COLLECTIVE, collective=name)
        if name == "broadcast":
            return _broadcast(trace, args, kwargs)
        if name not in _IN_PLACE or _follows_derivatives((*args, *kwargs.values())):
            raise _refused(name)
        return _in_place(trace, name, args, kwargs)


def _refused(name: str) -> Break:
    return Break(
        calls.PYTHON_FUNCTION_RUN,
        module="torch.distributed",
        qualname=name,
        reason="this collective has no functional form",
    )


def _follows_derivatives(values: Any) -> bool:
    """Whether autograd would see the functional collective, as it does not see the other one."""
    if not torch.is_grad_enabled():
        return False
    for value in values:
        if isinstance(value, (List, Tuple)) and _follows_derivatives(value.items):
            return True
        if isinstance(value, Tensor) and value.value.requires_grad:
            return True
    return False


def _in_place(trace: Trace, name: str, args: list[Any], kwargs: dict[str, Any]) -> Value:
    function, op_at, group_at = _IN_PLACE[name]
    args, kwargs = list(args), dict(kwargs)
    if op_at is not None:
        _replace(args, kwargs, op_at, "op", lambda op: _operation(trace, name, op))
    _replace(args, kwargs, group_at, "group", lambda group: _group_of(trace, name, group))
    real = getattr(distributed_parts.functional_collectives, function)
    abstract.call(trace, Function(real, abstract.pinned(trace, real)), args, kwargs)
    return Constant(None)


def _broadcast(trace: Trace, args: list[Any], kwargs: dict[str, Any]) -> Value:
    """broadcast(tensor, src=None, group=None, async_op=False, group_src=None)"""
    names = ("tensor", "src", "group", "async_op", "group_src")
    given = {**dict(zip(names, args)), **kwargs}
    tensor, group = given.pop("tensor", None), given.get("group", Constant(None))
    if not isinstance(tensor, Tensor) or _follows_derivatives([tensor]):
        raise _refused("broadcast")
    held = abstract.constant_value(trace, _group_of(trace, "broadcast", group))
    src = abstract.constant_value(trace, given.get("src", Constant(None)))
    if src is None:
        src = abstract.constant_value(trace, given.get("group_src", Constant(None)))
    elif type(src) is int:
        src = torch.distributed.get_group_rank(held, src)
    if type(src) is not int or not 0 <= src < held.size():
        raise _refused("broadcast")  # Python says what is wrong
    real = distributed_parts.functional_collectives.broadcast
    sent = abstract.call(
        trace,
        Function(real, abstract.pinned(trace, real)),
        [tensor, Constant(src), _group_of(trace, "broadcast", group)],
        {},
    )
    abstract.call_method(trace, tensor, "copy_", sent)
    return Constant(None)


def _replace(args: list[Any], kwargs: dict[str, Any], at: int, name: str, make: Any) -> None:
    """Put another value for a parameter, wherever it was given."""
    if at < len(args):
        args[at] = make(args[at])
    else:
        kwargs[name] = make(kwargs.get(name, Constant(None)))


def _operation(trace: Trace, name: str, op: Value) -> Value:
    """The name of a reduction; sum is what it is without one."""
    value = abstract.constant_value(trace, op)
    if value is None:
        return Constant("sum")
    for known, text in distributed_parts.functional_collectives.REDUCE_OP_TO_STR.items():
        if value == known:
            return Constant(text)
    raise _refused(name)


def _group_of(trace: Trace, name: str, group: Value) -> Value:
    """A group that this rank is in; the group of all ranks without one."""
    if isinstance(group, Group):
        return group
    if not group.is_constant() or group.constant() is not None:
        raise _refused(name)
    if not torch.distributed.is_initialized():
        raise _refused(name)
    state = distributed_parts.groups_made
    trace.guards.add(None, "torch_state", (state, state(), "the process groups"))
    world = torch.distributed.group.WORLD
    return Group(world, abstract.pinned(trace, world))


if torch.distributed.is_available():
    for _name in _COLLECTIVES:
        _real = getattr(torch.distributed, _name, None)
        if _real is not None and not hasattr(_real, "__deprecated__"):  # that one warns first
            _collective(_real, _name)


@handles(autograd_parts.preserve_version_counter)
def _version_counter(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    raise Break(contexts.VERSION_COUNTER_MANAGER)
