"""Leaves of autograd made in a region: torch.nn.Parameter(data), data.requires_grad_(), factories
that are told requires_grad=True.

A parameter is a leaf of autograd, which no graph can make. The variant makes an empty one and
hands it to the graph, which copies the data into it: what the graph computes with it, and what the
program does with it later, is about the same leaf. Where `data` is only the parameter's own memory,
it is from then on the parameter seen without its history, as in eager. Where others show that
memory, such as an input, Python makes the parameter.
"""

from __future__ import annotations

import gc
import types
from dataclasses import dataclass
from typing import Any

import torch

from suture.breaks import Break, calls, tensor_methods
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles
from suture.compiler.objects import Constant, GraphValue, Tensor
from suture.compiler.objects.tensor import known_tensor
from suture.compiler.objects.tensor_parameter import InnerLeaf, MadeLeaf, NewLeaf
from suture.runtime.leaves import as_leaf, empty_leaf, fill_parameter_
from suture.torch_private import tensor_parts
from suture.torch_private.tensor_parts import version_of


@dataclass(slots=True, eq=False)
class Copied:
    """A leaf whose memory others show as well, in eager: `others` are nodes with their versions.
    It may be a copy as long as nothing is written, and nobody holds the others in the end."""

    made: MadeLeaf
    version: int
    data: Tensor
    others: list[tuple[torch.fx.Node, int]]
    stop: tuple[int, Any]

    def is_seen(self) -> bool:
        if version_of(self.made.value) != self.version:
            return True
        return any(
            version_of(node.meta["example_value"]) != version or _is_held(node, self.data)
            for node, version in self.others
        )


def make_leaf_in_place(trace: Trace, tensor: Tensor, refused: Break) -> None:
    """`tensor.requires_grad_()` on a tensor without history that is made in this region: from
    here on it is a leaf that the variant makes. Break if Python has to do it."""
    value = tensor.value
    number = value.is_floating_point() or value.is_complex()
    if value.requires_grad or type(tensor) is not Tensor or not number:
        raise refused
    try:
        others = _others(trace, tensor, refused)
    except Break:
        _inner_leaf(trace, tensor, refused)
        return
    made = _make(trace, value, torch.Tensor, True)
    abstract.add_node(trace, "call_function", fill_parameter_, [made, tensor], {})
    _note(trace, made, tensor, others, refused)
    _become(trace, tensor, MadeLeaf, made)


def _inner_leaf(trace: Trace, tensor: Tensor, refused: Break) -> None:
    """A leaf on memory that others show, such as an input's: the graph makes it, and neither it
    nor anything with a history that leads to it may leave the region."""
    frame = trace.frames[-1]
    position = (frame.code.code, frame.ip)
    plain = tensor.cls is torch.Tensor and tensor.source is None
    plain = plain and not torch.is_inference_mode_enabled()  # there no history leads to it
    if not plain or position in trace.region.plan.by_python or len(trace.graph.levels.stack) > 1:
        raise refused
    made = known_tensor(abstract.add_node(trace, "call_function", as_leaf, [tensor], {}))
    with trace.graph.fake:
        trace.graph.derivatives.keep_inside(made.value, position)
    _become(trace, tensor, InnerLeaf, made)


def _become(trace: Trace, tensor: Tensor, cls: type[NewLeaf], made: Tensor) -> None:
    """From here on a value stands for the leaf `made`."""
    tensor.__class__ = cls
    tensor.node, tensor.value = made.node, made.value
    trace.graph.derivatives.made[id(made.value)] = tensor


def makes_leaf(trace: Trace, target: object, wanted: Value) -> bool:
    """Whether a call that is told `requires_grad=wanted` makes a leaf of autograd."""
    is_torch = isinstance(target, (str, types.BuiltinFunctionType))
    return is_torch and len(trace.graph.levels.stack) == 1 and abstract.truth(trace, wanted)


def make_leaf(
    trace: Trace, op: str, target: object, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """What torch.zeros(2, requires_grad=True) and its kin make; Break if Python has to."""
    plain = {k: v for k, v in kwargs.items() if k != "requires_grad"}
    name = target if isinstance(target, str) else getattr(target, "__name__", str(target))
    what = f"{name}(...)"
    refused = Break(tensor_methods.REQUIRES_GRAD_CALL, tensor=what, method="requires_grad_")
    if not _is_plain(abstract.fake_result(trace, op, target, args, plain)):
        raise refused
    made = known_tensor(abstract.add_node(trace, op, target, args, plain))
    make_leaf_in_place(trace, made, refused)
    return made


def make_parameter(trace: Trace, data: Tensor, wants: bool, refused: Break) -> MadeLeaf:
    """torch.nn.Parameter(data, wants). Break if Python has to do it."""
    others = _others(trace, data, refused)
    if wants and not (data.value.is_floating_point() or data.value.is_complex()):
        raise refused
    made = _make(trace, data.value, torch.nn.Parameter, wants)
    abstract.add_node(trace, "call_function", fill_parameter_, [made, data], {})
    trace.graph.derivatives.made[id(made.value)] = made
    if data.value.requires_grad:
        others.append((data.node, version_of(data.value)))
        _note(trace, made, None, others, refused)
        return made
    _note(trace, made, data, others, refused)
    seen = known_tensor(abstract.add_node(trace, "call_method", "detach", [made], {}))
    data.node, data.value = seen.node, seen.value
    return made


def _note(trace: Trace, made: MadeLeaf, data: Any, others: Any, refused: Break) -> None:
    if others:
        stop = trace.progress.step, abstract.exit_at(trace, refused)
        trace.copied.append(Copied(made, version_of(made.value), data, others, stop))


def refused_copy(trace: Trace) -> tuple[int, Any] | None:
    """How to stop where a leaf was made whose memory others show to the program."""
    return next((c.stop for c in trace.copied if c.is_seen()), None)


@handles(torch.nn.Parameter)
def _parameter(trace: Trace, args: Any, kwargs: Any) -> Value:
    given = dict(zip(("data", "requires_grad"), args)) | dict(kwargs)
    data, wants = given.get("data", Constant(None)), given.get("requires_grad", Constant(True))
    refused = Break(calls.C_FUNCTION, function="Parameter")
    if len(given) != len(args) + len(kwargs):
        raise refused
    if data.is_constant() and data.constant() is None:
        data = abstract.call_torch(trace, torch.empty, [Constant(0)], {})
    return make_parameter(trace, data, abstract.truth(trace, wants), refused)


def _others(trace: Trace, data: Value, refused: Break) -> list[tuple[torch.fx.Node, int]]:
    """The nodes with their versions that show the same memory as a tensor, and that the program
    holds. Break if the tensor is not made in this region, of known sizes."""
    if not isinstance(data, Tensor) or data.cls is not torch.Tensor or data.source is not None:
        raise refused
    value = data.value
    if len(trace.graph.levels.stack) > 1 or not _is_plain(value):
        raise refused
    storage, found = tensor_parts.storage_key(value), []
    for node in trace.graph.graph.nodes:
        shown = node.meta.get("example_value")
        if shown is not value and _shows(shown, storage):
            if node.op == "placeholder" or not isinstance(shown, torch.Tensor):
                raise refused
            found.append((node, version_of(shown)))
    return [(node, version) for node, version in found if _is_held(node, data)]


def _is_plain(value: object) -> bool:
    """Whether an empty tensor of the same form can be made outside the graph."""
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        return False
    numbers = (*value.shape, *value.stride(), value.storage_offset())
    return all(isinstance(n, int) for n in numbers) and not value.is_inference()


def _is_held(node: torch.fx.Node, data: Tensor) -> bool:
    """Whether the program can still reach the value of a node, other than as `data`."""
    return any(isinstance(r, GraphValue) and r is not data for r in gc.get_referrers(node))


def _shows(value: object, storage: int) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_shows(v, storage) for v in value)
    return isinstance(value, torch.Tensor) and tensor_parts.storage_key(value) == storage


def _make(trace: Trace, value: torch.Tensor, cls: type, wants: bool) -> MadeLeaf:
    form = (cls, tuple(value.shape), tuple(value.stride()), value.dtype, value.device, wants)
    with torch.enable_grad():
        example = empty_leaf(form)
        source = abstract.pinned(trace, form, "leaf")
        fake = trace.graph.fake_tensor(example, source, None)
        node = trace.graph.add_input(source, example, fake, convert=empty_leaf)
    trace.graph.inputs[-1].made = True
    return MadeLeaf(node, fake, cls)
