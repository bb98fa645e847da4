"""torch.nn.Parameter(data) and data.requires_grad_() in a region.

A parameter is a leaf of autograd, which no graph can make. The variant makes an empty one and
hands it to the graph, which copies the data into it: what the graph computes with it, and what the
program does with it later, is about the same leaf. Where `data` is only the parameter's own memory,
it is from then on the parameter seen without its history, as in eager. Where it is more than that,
such as an input, Python makes the parameter.
"""

from __future__ import annotations

from typing import Any

import torch

from suture.breaks import Break, calls
from suture.calls.part import Part
from suture.calls.table import handles
from suture.graph.builder import version_of
from suture.variables import Constant, Tensor
from suture.variables.parameters import MadeLeaf


class MadeParameters(Part):
    """The part of the tracer that makes parameters."""

    copied: list[Any]

    def stop_here(self, function: str) -> tuple[int, Any]:
        """How to stop before the instruction that runs now, because of a call in it."""
        return self.step, self._exit_at(Break(calls.C_FUNCTION, function=function))

    def become_leaf(self, tensor: Tensor) -> bool:
        """`tensor.requires_grad_()` on a tensor without history that is made in this region: from
        here on it is a leaf that the variant makes. False if Python has to do it."""
        value = tensor.value
        if value.requires_grad or type(tensor) is not Tensor or not _is_own(self, tensor):
            return False
        if not value.is_floating_point() and not value.is_complex():
            return False
        made = _make(self, value, torch.Tensor, True)
        self.add_node("call_function", fill_parameter_, [made, tensor], {})
        tensor.__class__ = MadeLeaf
        tensor.node, tensor.value = made.node, made.value
        return True

    def refused_copy(self) -> tuple[int, Any] | None:
        """How to stop where a parameter was made of a tensor that stays what it was, if one of
        the two is written to: in eager both would change."""
        for made, version, data, before, stop in self.copied:
            if version_of(made.value) != version or version_of(data.value) != before:
                return stop
        return None


def empty_leaf(form: tuple[Any, ...]) -> torch.Tensor:
    """A leaf of that form; its numbers are anything."""
    cls, shape, strides, dtype, device, wants = form
    data = torch.empty_strided(shape, strides, dtype=dtype, device=device)
    return torch.nn.Parameter(data, wants) if cls is torch.nn.Parameter else data.requires_grad_()


def fill_parameter_(parameter: torch.Tensor, data: torch.Tensor) -> None:
    """Give a parameter its numbers. A node of graphs."""
    with torch.no_grad():
        parameter.copy_(data)


@handles(torch.nn.Parameter)
def _parameter(tx: Any, args: Any, kwargs: Any) -> Any:
    given = dict(zip(("data", "requires_grad"), args)) | dict(kwargs)
    data, wants = given.get("data", Constant(None)), given.get("requires_grad", Constant(True))
    if data.is_constant() and data.constant() is None:
        data = tx.call_torch(torch.empty, [Constant(0)], {})
    if len(given) != len(args) + len(kwargs) or not _is_own(tx, data):
        raise Break(calls.C_FUNCTION, function="Parameter")
    made = _make(tx, data.value, torch.nn.Parameter, tx.truth(wants))
    tx.add_node("call_function", fill_parameter_, [made, data], {})
    version = version_of(made.value)
    if not data.value.requires_grad:
        seen = tx.add_node("call_method", "detach", [made], {})
        data.node, data.value = seen.node, seen.value
    else:
        tx.copied.append((made, version, data, version_of(data.value), tx.stop_here("Parameter")))
    return made


def _is_own(tx: Any, data: Any) -> bool:
    """Whether a tensor is made in this region, of known sizes, and alone shows its memory."""
    if not isinstance(data, Tensor) or data.cls is not torch.Tensor or data.source is not None:
        return False
    value = data.value
    numbers = (*value.shape, *value.stride(), value.storage_offset())
    if len(tx.graph.levels.stack) > 1 or value._is_view() or value.is_inference():
        return False
    if not all(isinstance(n, int) for n in numbers) or value.layout is not torch.strided:
        return False
    storage = value.untyped_storage()._cdata
    others = [entry.node for entry in tx.graph.inputs]
    others += [n for n in data.node.users if n.meta.get("example_value") is not value]
    return not any(_shows(n.meta.get("example_value"), storage) for n in others)


def _shows(value: Any, storage: int) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_shows(v, storage) for v in value)
    return isinstance(value, torch.Tensor) and value.untyped_storage()._cdata == storage


def _make(tx: Any, value: torch.Tensor, cls: type, wants: bool) -> MadeLeaf:
    form = (cls, tuple(value.shape), tuple(value.stride()), value.dtype, value.device, wants)
    with torch.enable_grad():
        example = empty_leaf(form)
        source = tx.pinned(form, "leaf")
        fake = tx.graph.fake_tensor(example, source, None)
        node = tx.graph.add_input(source, example, fake, convert=empty_leaf)
    tx.graph.inputs[-1].made = True
    return MadeLeaf(node, fake, cls)
