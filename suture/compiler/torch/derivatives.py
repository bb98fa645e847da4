"""torch.autograd.grad inside of a region: a node of the graph, where all that the engine goes
through was computed in this region."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import torch

from suture.breaks import Break, tensors
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.graph import OpFailed
from suture.compiler.graph.derivatives import Reached, saving
from suture.compiler.models import handles
from suture.compiler.objects import Tensor, Tuple
from suture.compiler.objects.tensor_parameter import RenewedTensor
from suture.compiler.torch.subclasses import PLAIN
from suture.torch_private import tensor_parts

_SIGNATURE = inspect.signature(torch.autograd.grad)


@implements(abstract.guard_history)
def guard_history(trace: Trace, tensor: Tensor) -> None:
    if tensor.source is not None and tensor.example is not None and tensor.value.requires_grad:
        for name in ("is_leaf", "retains_grad"):
            known = getattr(tensor.example, name)
            trace.guards.add(tensor.source.attr(name), "equals", known)


def fact_of_history(trace: Trace, tensor: Tensor, name: str) -> Value:
    """`is_leaf` or `retains_grad` of an input."""
    guard_history(trace, tensor)
    kept = name == "retains_grad" and tensor.example is not None
    return abstract.known(trace, getattr(tensor.example if kept else tensor.value, name))


def guard_reached(trace: Trace, found: Reached, inputs: list[Any]) -> None:
    """The leaves that are come to must be leaves, and those asked for have no hooks."""
    for entry in trace.graph.inputs:
        value = entry.node.meta["val"]
        if entry.source is None or entry.static or entry.made:
            continue
        if any(value is leaf for leaf in found.leaves):
            trace.guards.add(entry.source.attr("is_leaf"), "equals", True)
    for tensor in inputs:
        if tensor.source is not None:
            trace.guards.add(tensor.source.attr("_backward_hooks"), "is", None)


@handles("autograd_grad")
def _grad(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    refused = Break(tensors.BACKWARD_CALL, call="torch.autograd.grad()")
    frame = trace.frames[-1]
    position = (frame.code.code, frame.ip)
    if (
        position in trace.region.plan.by_python
        or trace.modes.function_modes
        or trace.bodies  # which of them have a history is known when it runs
        or len(trace.graph.levels.stack) > 1
    ):
        raise refused
    try:
        given = _SIGNATURE.bind(*args, **kwargs)
    except TypeError:
        raise refused from None
    given.apply_defaults()
    options = {k: _option(trace, v) for k, v in given.arguments.items() if k not in _TENSORS}
    outputs, inputs, grads = (_listed(trace, given.arguments[name]) for name in _TENSORS)
    plain = all(is_plain(t) for t in (*(outputs or ()), *(inputs or ())))
    fits = all(is_plain(t) or _is_none(t) for t in grads or ())
    if not outputs or not inputs or not plain or not fits or options.pop("is_grads_batched"):
        raise refused
    return _differentiate(trace, (outputs, inputs, grads), options, position, refused)


_TENSORS = ("outputs", "inputs", "grad_outputs")


def _differentiate(trace: Trace, given: Any, options: Any, position: Any, refused: Break) -> Value:
    outputs, inputs, grads = given
    derivatives = trace.graph.derivatives
    if not all(t.value.requires_grad for t in (*outputs, *inputs)):
        raise refused  # in torch's words
    with trace.graph.fake:
        found = derivatives.reach([t.value for t in outputs], [t.value for t in inputs])
    if found.outside or any(_has_hooks(trace, t) for t in inputs):
        raise refused
    kept = options["retain_graph"]
    freed = [] if (options["create_graph"] if kept is None else kept) else saving(found.run)
    nodes = [
        tuple(abstract.proxy(trace, t) for t in part) if part is not None else None
        for part in given
    ]
    try:
        node, made = trace.graph.call("call_function", torch.autograd.grad, tuple(nodes), options)
    except OpFailed:
        raise refused from None
    guard_reached(trace, found, inputs)
    derivatives.note_freed(freed, position)
    same = [t for t in (*outputs, *inputs, *(grads or ())) if isinstance(t, Tensor)]
    return Tuple([_result(trace, node, i, value, same) for i, value in enumerate(made)])


def _result(trace: Trace, node: Any, position: int, value: object, given: list[Tensor]) -> Any:
    """One of the gradients; a tensor that was given may come back as it is."""
    if value is None:
        return abstract.known(trace, None)
    same = next((t for t in given if t.value is value), None)
    return (
        same
        if same is not None
        else abstract.from_value(trace, trace.graph.getitem(node, position, value), value)
    )


def _option(trace: Trace, value: object) -> Any:
    """An option of the call, as it is; the real value of one that the program gave."""
    return abstract.constant_value(trace, value) if hasattr(value, "is_constant") else value


def _listed(trace: Trace, value: Value | None) -> list[Any] | None:
    """One tensor, or several, as a list; None for none."""
    if value is None or _is_none(value):
        return None
    return [value] if isinstance(value, Tensor) else list(abstract.unpack(trace, value))


def _is_none(value: Any) -> bool:
    return bool(value.is_constant()) and value.constant() is None


def is_plain(value: object) -> bool:
    """Whether a value is a tensor of no class of its own that can have a derivative. One whose data
    was set is two nodes, each with a part of it."""
    if not isinstance(value, Tensor) or value.cls not in PLAIN or type(value) is RenewedTensor:
        return False
    return bool(value.value.requires_grad or value.value.dtype.is_floating_point)


def _has_hooks(trace: Trace, tensor: Tensor) -> bool:
    """Whether the engine would call hooks on the tensor: those it came with, and those that the
    region has put on it, which are set when the region ends."""
    if any(leaf is tensor.value for leaf in trace.graph.derivatives.hooked):
        return True
    return tensor.example is not None and tensor_parts.has_backward_hooks(tensor.example)
