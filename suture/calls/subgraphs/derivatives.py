"""torch.autograd.grad inside of a region: a node of the graph, where all that the engine goes
through was computed in this region."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from suture.breaks import Break, tensors
from suture.calls.part import Part
from suture.calls.table import special
from suture.calls.tensor_classes.subclasses import PLAIN
from suture.graph import OpFailed
from suture.graph.derivatives import Reached, saving
from suture.torch_private import tensor_parts
from suture.variables import Tensor, Tuple

_SIGNATURE = inspect.signature(torch.autograd.grad)


class TakesDerivatives(Part):
    """The part of the tracer that differentiates inside of a region."""

    def guard_history(self, tensor: Tensor) -> None:
        """Whether an input is a leaf of autograd, and keeps its gradient, is guarded from here."""
        if tensor.source is not None and tensor.example is not None and tensor.value.requires_grad:
            for name in ("is_leaf", "retains_grad"):
                known = getattr(tensor.example, name)
                self.guards.add(tensor.source.attr(name), "equals", known)

    def fact_of_history(self, tensor: Tensor, name: str) -> Any:
        """`is_leaf` or `retains_grad` of an input."""
        self.guard_history(tensor)
        kept = name == "retains_grad" and tensor.example is not None
        return self.known(getattr(tensor.example if kept else tensor.value, name))

    def guard_reached(self, found: Reached, inputs: list[Any]) -> None:
        """The leaves that are come to must be leaves, and those asked for have no hooks."""
        for entry in self.graph.inputs:
            value = entry.node.meta["val"]
            if entry.source is None or entry.static or entry.made:
                continue
            if any(value is leaf for leaf in found.leaves):
                self.guards.add(entry.source.attr("is_leaf"), "equals", True)
        for tensor in inputs:
            if tensor.source is not None:
                self.guards.add(tensor.source.attr("_backward_hooks"), "is", None)


@special("autograd_grad")
def _grad(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    refused = Break(tensors.BACKWARD_CALL, call="torch.autograd.grad()")
    frame = tx.frames[-1]
    place = (frame.code.code, frame.ip)
    if place in tx.plan.by_python or tx.function_modes or len(tx.graph.levels.stack) > 1:
        raise refused
    try:
        given = _SIGNATURE.bind(*args, **kwargs)
    except TypeError:
        raise refused from None
    given.apply_defaults()
    options = {k: _option(tx, v) for k, v in given.arguments.items() if k not in _TENSORS}
    outputs, inputs, grads = (_listed(tx, given.arguments[name]) for name in _TENSORS)
    plain = all(_is_plain(t) for t in (*(outputs or ()), *(inputs or ())))
    fits = all(_is_plain(t) or _is_none(t) for t in grads or ())
    if not outputs or not inputs or not plain or not fits or options.pop("is_grads_batched"):
        raise refused
    return _differentiate(tx, (outputs, inputs, grads), options, place, refused)


_TENSORS = ("outputs", "inputs", "grad_outputs")


def _differentiate(tx: Any, given: Any, options: Any, place: Any, refused: Break) -> Any:
    outputs, inputs, grads = given
    derivatives = tx.graph.derivatives
    with tx.graph.fake:
        found = derivatives.reach([t.value for t in outputs], [t.value for t in inputs])
    if found.outside or any(_has_hooks(t) for t in inputs):
        raise refused
    kept = options["retain_graph"]
    freed = [] if (options["create_graph"] if kept is None else kept) else saving(found.run)
    nodes = [tuple(tx.proxy(t) for t in part) if part is not None else None for part in given]
    try:
        node, made = tx.graph.call("call_function", torch.autograd.grad, tuple(nodes), options)
    except OpFailed:
        raise refused from None
    tx.guard_reached(found, inputs)
    derivatives.spend(freed, place)
    same = [t for t in (*outputs, *inputs, *(grads or ())) if isinstance(t, Tensor)]
    return Tuple([_result(tx, node, i, value, same) for i, value in enumerate(made)])


def _result(tx: Any, node: Any, place: int, value: Any, given: list[Tensor]) -> Any:
    """One of the gradients; a tensor that was given may come back as it is."""
    if value is None:
        return tx.known(None)
    same = next((t for t in given if t.value is value), None)
    return same if same is not None else tx.from_value(tx.graph.getitem(node, place, value), value)


def _option(tx: Any, value: Any) -> Any:
    return tx.constant_value(value) if hasattr(value, "is_constant") else value


def _listed(tx: Any, value: Any) -> list[Any] | None:
    """One tensor, or several, as a list; None for none."""
    if value is None or _is_none(value):
        return None
    return [value] if isinstance(value, Tensor) else list(tx.unpack(value))


def _is_none(value: Any) -> bool:
    return bool(value.is_constant()) and value.constant() is None


def _is_plain(value: Any) -> bool:
    if not isinstance(value, Tensor) or value.cls not in PLAIN:
        return False
    return bool(value.value.requires_grad or value.value.dtype.is_floating_point)


def _has_hooks(tensor: Tensor) -> bool:
    return tensor.example is not None and tensor_parts.has_backward_hooks(tensor.example)
