"""torch.distributed: groups of processes, and collectives as nodes of the graph.

A collective that writes into its argument becomes a functional one, a wait and a copy; with
async_op=True the last two stand where the program waits. Graphs name groups by their names. A
collective that has no functional form, or whose result autograd would treat otherwise, is run by
Python, the whole call at once.
"""

from __future__ import annotations

import inspect
from datetime import timedelta
from typing import Any

import torch
import torch.fx

from suture import config
from suture.breaks import Break, calls, contexts, distributed, objects
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.models import handles
from suture.compiler.objects import Constant, Function, List, MadeByPython, Tensor, Tuple
from suture.compiler.objects.frozen import Frozen
from suture.compiler.objects.methods import find_method, method
from suture.compiler.objects.sequence import BuiltinMethod
from suture.compiler.objects.tensor import known_tensor
from suture.compiler.objects.wraps import wraps_named
from suture.compiler.torch.wrappers import is_wrapper_class
from suture.runtime.barriers import call_barrier
from suture.runtime.sources import Source
from suture.torch_private import autograd_parts, distributed_parts

# In the graph, by name: the functional operator, the argument that is written, the one that is
# sent (None: the same), and what else the operator takes.
_LOWERED: dict[str, tuple[str, str, str | None, tuple[str, ...]]] = {
    "all_reduce": ("all_reduce", "tensor", None, ("op",)),
    "broadcast": ("broadcast", "tensor", None, ("source",)),
    "all_gather_into_tensor": (
        "all_gather_into_tensor", "output_tensor", "input_tensor", ("size",),
    ),
    "all_gather_single": ("all_gather_into_tensor", "output_tensor", "input_tensor", ("size",)),
    "reduce_scatter_tensor": ("reduce_scatter_tensor", "output", "input", ("op", "size")),
    "reduce_scatter_single": ("reduce_scatter_tensor", "output", "input", ("op", "size")),
    "all_to_all_single": ("all_to_all_single", "output", "input", ("parts",)),
}  # fmt: skip
_COLLECTIVES = (
    *_LOWERED, "all_gather", "all_to_all", "barrier", "gather", "reduce", "reduce_scatter",
    "scatter", "monitored_barrier", "all_gather_object", "broadcast_object_list", "send", "recv",
    "isend", "irecv", "batch_isend_irecv",
)  # fmt: skip


_TIMEDELTA = ("days", "seconds", "microseconds")


class Group(Frozen):
    """A process group, guarded by identity. What is read here is fixed when it is made."""

    __slots__ = ()

    def getattr(self, trace: Trace, name: str) -> Any:
        if name not in ("group_name", "group_desc", "size", "rank", "name", "__class__"):
            raise Break(objects.UNKNOWN_ATTRIBUTE, object=self.describe(), attribute=name)
        if name == "rank":
            _guard_rank(trace)
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


# What variants that one rank compiles for all may ask.
_SAME_ON_ALL_RANKS = ("is_initialized", "get_world_size", "_get_group_size_by_name")


def _guard_groups(trace: Trace) -> None:
    """The process groups are those that they are now."""
    state = distributed_parts.groups_made
    trace.guards.add(None, "torch_state", (state, state(), "the process groups"))


def _guard_rank(trace: Trace) -> None:
    """This process is the rank that it is now."""
    own = distributed_parts.own_rank
    trace.guards.add(None, "torch_state", (own, own(), "the rank"))


@handles("group_fact")
def _fact(trace: Trace, target: Any, args: list[Value], kwargs: dict[str, Value]) -> Any:
    """get_rank() and the like: a number as long as the groups are those that they are now."""
    _guard_groups(trace)
    if target.__name__ not in _SAME_ON_ALL_RANKS:
        _guard_rank(trace)
    given = [abstract.constant_value(trace, one) for one in args]
    named = {key: abstract.constant_value(trace, one) for key, one in kwargs.items()}
    return abstract.call_now(trace, target, given, named)


# ---- collectives


class Handle(Value):
    """What a collective with async_op=True gives: the collective is under way, `received` is what
    arrives and `target` where it belongs, one tensor or one for each rank. Between the call and
    `wait()` a program may neither read nor write these tensors, so none can tell that nothing
    arrives before. One that leaves the region, or is not waited for in it, is made by Python: the
    call is run there."""

    __slots__ = ("group", "name", "position", "received", "target")

    def __init__(self, name: str, group: Any, target: Any, received: Value, position: Any) -> None:
        super().__init__(None)
        self.name, self.group = name, group
        self.target: Tensor | list[Tensor] = target
        self.received: Value | None = received
        self.position = position

    def python_type(self) -> type:
        return torch.distributed.Work

    def getattr(self, trace: Trace, name: str) -> Any:
        if find_method(Handle, name) is None:
            raise Break(distributed.ASYNC_COLLECTIVE, collective=self.name)
        return BuiltinMethod(self, name)

    def rebuild(self, emit: Emitter) -> str:
        raise MadeByPython(self.position, f"the handle of {self.name}")


@method(Handle, "wait")
def _wait(self: Handle, trace: Trace, *timeout: Value) -> Value:
    if timeout:
        raise Break(distributed.ASYNC_COLLECTIVE, collective=self.name)
    _finish(trace, self)
    return Constant(True)


def _finish(trace: Trace, handle: Handle) -> None:
    """Wait for a collective that is under way, if it is."""
    if handle.received is not None:
        trace.effects.note_change()
        _arrive(trace, handle.target, handle.received)
        trace.effects.unfinished.remove(handle)
        handle.received = None


def _collective(real: Any, name: str) -> None:
    signature = inspect.signature(real)

    @handles(real)
    def handler(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        try:
            given = dict(signature.bind(*args, **kwargs).arguments)
        except TypeError:
            raise _refused(name) from None  # Python says what is wrong
        later = given.pop("async_op", None)
        later = later is not None and abstract.truth(trace, later)
        position = (trace.frames[-1].code.code, trace.frames[-1].ip)
        known = name in _LOWERED or name == "all_gather"
        if later and (not known or position in trace.region.plan.by_python):
            raise Break(distributed.ASYNC_COLLECTIVE, collective=name)
        if _follows_derivatives(given.values()):
            raise _refused(name)
        if name == "barrier":
            return _barrier(trace, given)
        if name == "all_gather" and not later:
            return _all_gather(trace, given)
        if not known:
            raise _refused(name)
        begin = _begin_gathering if name == "all_gather" else _begin
        target, received = begin(trace, name, given)
        if later:
            group = _group_of(trace, name, given.get("group", Constant(None))).value
            handle = Handle(name, group, target, received, position)
            trace.effects.unfinished.append(handle)
            return handle
        _arrive(trace, target, received)
        return Constant(None)


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


def _begin(trace: Trace, name: str, given: dict[str, Any]) -> tuple[Tensor, Value]:
    """Send what is sent: the tensor that will be written, and what arrives, once waited for."""
    operator, target_name, sent_name, more = _LOWERED[name]
    target = given[target_name]
    sent = target if sent_name is None else given[sent_name]
    if not isinstance(target, Tensor) or not isinstance(sent, Tensor):
        raise _refused(name)
    if is_wrapper_class(target.cls) or is_wrapper_class(sent.cls):
        raise _refused(name)
    if target.value.dtype != sent.value.dtype:  # Python says what is wrong
        raise _refused(name)
    group = _group_of(trace, name, given.get("group", Constant(None)))
    args: list[Value] = [sent]
    for what in more:
        args += _ARGUMENTS[what](trace, name, given, sent, group.value)
    called = distributed_parts.group_in_graphs(group.value)
    args.append(Constant(called) if isinstance(called, str) else group)
    real = getattr(distributed_parts.functional_operators, operator)
    received = known_tensor(abstract.call_torch(trace, real, args, {}))
    if _lies_otherwise(received.value.shape, target.value.shape):
        raise _refused(name)  # stacked, or flat: some backends take it, others say what is wrong
    return target, received


def _begin_gathering(trace: Trace, name: str, given: dict[str, Any]) -> tuple[list[Tensor], Value]:
    """all_gather(tensor_list, tensor): the tensors that will be written, and what arrives, the
    parts of all ranks one behind the other."""
    sent, parts = given["tensor"], given["tensor_list"]
    group = _group_of(trace, name, given.get("group", Constant(None)))
    if not isinstance(sent, Tensor) or not isinstance(parts, (List, Tuple)):
        raise _refused(name)
    targets: list[Any] = list(parts.unpacked(trace))
    if len(targets) != group.value.size() or is_wrapper_class(sent.cls):
        raise _refused(name)
    for one in targets:
        if not isinstance(one, Tensor) or is_wrapper_class(one.cls):
            raise _refused(name)
        # Sizes that differ from rank to rank are no functional collective.
        if one.value.dtype != sent.value.dtype or not _known_alike(one.value, sent.value):
            raise _refused(name)
    args: list[Value] = [sent, Constant(group.value.size())]
    called = distributed_parts.group_in_graphs(group.value)
    args.append(Constant(called) if isinstance(called, str) else group)
    real = distributed_parts.functional_operators.all_gather_into_tensor
    return targets, abstract.call_torch(trace, real, args, {})


def _known_alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors of one dimension or more have the same sizes, none of them a symbol."""
    return 0 < one.dim() == other.dim() and all(
        type(a) is type(b) is int and a == b for a, b in zip(one.shape, other.shape)
    )


def _arrive(trace: Trace, target: Tensor | list[Tensor], received: Value) -> None:
    """Wait, and write."""
    wait = distributed_parts.functional_operators.wait_tensor
    received = abstract.call_torch(trace, wait, [received], {})
    if isinstance(target, Tensor):
        abstract.call_method(trace, target, "copy_", received)
        return
    for i, one in enumerate(target):
        rows = Constant(one.value.size(0))
        first = Constant(i * one.value.size(0))
        part = abstract.call_method(trace, received, "narrow", Constant(0), first, rows)
        abstract.call_method(trace, one, "copy_", part)


def _lies_otherwise(one: Any, other: Any) -> bool:
    """Whether two shapes differ, as far as is known without asking symbols."""
    if len(one) != len(other):
        return True
    return any(type(a) is type(b) is int and a != b for a, b in zip(one, other))


# What operators take besides the tensor and the group.


def _operation(trace: Trace, name: str, given: Any, sent: Tensor, group: Any) -> list[Value]:
    """The name of a reduction; sum is what it is without one."""
    op = given.get("op")
    value = None if op is None else abstract.constant_value(trace, op)
    if value is None:
        return [Constant("sum")]
    for known, text in distributed_parts.functional_collectives.REDUCE_OP_TO_STR.items():
        if value == known:
            return [Constant(text)]
    raise _refused(name)


def _size(trace: Trace, name: str, given: Any, sent: Tensor, group: Any) -> list[Value]:
    return [Constant(group.size())]


def _source(trace: Trace, name: str, given: Any, sent: Tensor, group: Any) -> list[Value]:
    """The rank, within the group, whose tensor all get."""
    src = abstract.constant_value(trace, given.get("src", Constant(None)))
    if src is None:
        src = abstract.constant_value(trace, given.get("group_src", Constant(None)))
    elif type(src) is int:
        src = torch.distributed.get_group_rank(group, src)
    if type(src) is not int or not 0 <= src < group.size():
        raise _refused(name)  # Python says what is wrong
    return [Constant(src)]


def _parts(trace: Trace, name: str, given: Any, sent: Tensor, group: Any) -> list[Value]:
    """How many rows come from each rank, and go to each; equal parts without them."""
    parts = [given.get(f"{way}_split_sizes", Constant(None)) for way in ("output", "input")]
    if all(part.is_constant() and part.constant() is None for part in parts):
        rows = abstract.call_method(trace, sent, "size", Constant(0))
        each = abstract.binary(trace, "floordiv", rows, Constant(group.size()))
        return [List([each] * group.size()), List([each] * group.size())]
    if not all(isinstance(part, (List, Tuple)) for part in parts):
        raise _refused(name)
    return parts


_ARGUMENTS: dict[str, Any] = {
    "op": _operation, "size": _size, "source": _source, "parts": _parts,
}  # fmt: skip


def _all_gather(trace: Trace, given: dict[str, Any]) -> Value:
    """all_gather(tensor_list, tensor): torch's own function for it is traced."""
    given["group"] = _group_of(trace, "all_gather", given.get("group", Constant(None)))
    real = distributed_parts.functional_collectives.all_gather_inplace
    abstract.call(trace, Function(real, abstract.pinned(trace, real)), [], given)
    return Constant(None)


def _barrier(trace: Trace, given: dict[str, Any]) -> Value:
    """A node that calls the real one; graphs are cut there before they are compiled, or their
    operations run one after the other. A function that is computed again calls it again, and a
    derivative that was taken is stored behind the graph: there Python calls it."""
    graph = trace.graph
    options = _barrier_options(trace, given)
    if len(graph.levels.stack) > 1 or graph.derivatives.positions or config.verify:
        raise _refused("barrier")
    group = _group_of(trace, "barrier", given.get("group", Constant(None)))
    # What was sent before in the same group has arrived when the ranks leave the barrier, and a
    # program may then use it without waiting. All ranks have sent it before they come there, so to
    # wait for it first keeps nobody from coming.
    for handle in [one for one in trace.effects.unfinished if isinstance(one, Handle)]:
        if handle.group is group.value:
            _finish(trace, handle)
    trace.effects.note_change()
    graph.node("call_function", call_barrier, (group.value.group_name,), options, None)
    return Constant(None)


def _barrier_options(trace: Trace, given: dict[str, Any]) -> dict[str, Any]:
    """The device and the timeout that a barrier is called with, as the node has them."""
    options: dict[str, Any] = {}
    devices, timeout = (given.get(name, Constant(None)) for name in ("device_ids", "timeout"))
    if isinstance(devices, List):
        numbers = [abstract.constant_value(trace, one) for one in devices.unpacked(trace)]
        if not numbers or any(type(one) is not int for one in numbers):
            raise _refused("barrier")  # Python says what is wrong
        options["device_ids"] = numbers
    elif not devices.is_constant() or devices.constant() is not None:
        raise _refused("barrier")
    if timeout.python_type() is timedelta:
        fields = [abstract.getattr(trace, timeout, name) for name in _TIMEDELTA]
        options["timeout"] = tuple(abstract.constant_value(trace, one) for one in fields)
    elif not timeout.is_constant() or timeout.constant() is not None:
        raise _refused("barrier")
    return options


def _group_of(trace: Trace, name: str, group: Value) -> Group:
    """A group that this rank is in; the group of all ranks without one."""
    if isinstance(group, Group):
        return group
    if not group.is_constant() or group.constant() is not None:
        raise _refused(name)
    if not torch.distributed.is_initialized():
        raise _refused(name)
    _guard_groups(trace)
    world = torch.distributed.group.WORLD
    return Group(world, abstract.pinned(trace, world))


torch.fx.node.has_side_effect(call_barrier)

if torch.distributed.is_available():
    for _name in _COLLECTIVES:
        _real = getattr(torch.distributed, _name, None)
        if _real is not None and not hasattr(_real, "__deprecated__"):  # that one warns first
            _collective(_real, _name)


@handles(autograd_parts.preserve_version_counter)
def _version_counter(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    raise Break(contexts.VERSION_COUNTER_MANAGER)
