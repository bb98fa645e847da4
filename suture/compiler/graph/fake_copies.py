"""Fake counterparts of weights that are like another one in all but their numbers.

torch describes a tensor at length before it makes a fake one. The layers of a model have the same
weights again and again: what torch made of the first of a kind is looked at, and if a new tensor
made of no more than its sizes, strides, dtype and device is the same in all that can be asked, the
next ones are made like that.
"""

from __future__ import annotations

from typing import Any

import torch

from suture.compiler.graph.results import is_watched, span_of
from suture.torch_private import fake_memory, functorch_parts, structured_trace, tensor_parts

_KINDS = (torch.Tensor, torch.nn.Parameter)


class Alike:
    """The kinds of weights that one trace has met, and whether they can be made at once."""

    def __init__(self) -> None:
        self._kinds: dict[Any, bool] = {}

    def find(self, mode: Any, tensor: torch.Tensor, kind: Any) -> Any:
        """The fake counterpart of a tensor of that kind, or None if torch has to make it."""
        if not self._kinds.get(kind) or not fake_memory.is_unknown(mode, tensor):
            return None
        made = _made(mode, tensor)
        fake_memory.remember(mode, tensor, made)
        return made

    def look(self, mode: Any, tensor: torch.Tensor, kind: Any, fake: Any) -> None:
        """torch has made `fake` of a tensor of that kind: see whether others can be made so."""
        if kind not in self._kinds:
            self._kinds[kind] = fake_memory.can_remember(mode) and _is_same(
                fake, _made(mode, tensor)
            )


def kind_of(tensor: torch.Tensor) -> Any:
    """What tensors have in common whose fake counterparts are alike; None of a tensor with more to
    it. For leaves without gradient that view no other tensor, of one dimension or more."""
    if type(tensor) not in _KINDS or not tensor.dtype.is_floating_point:
        return None
    if functorch_parts.is_wrapped(tensor):  # it has no memory of its own
        return None
    size, stride = tuple(tensor.shape), tensor.stride()
    nbytes = tensor.untyped_storage().nbytes()
    if tensor.storage_offset() or not nbytes or getattr(tensor, "_is_buffer", False):
        return None
    if nbytes != span_of(size, stride) * tensor.element_size():
        return None
    if is_watched() or structured_trace.is_written():  # each input is told there
        return None
    derived = tensor.requires_grad
    return (
        type(tensor),
        size,
        stride,
        tensor.dtype,
        tensor.device,
        derived,
        getattr(tensor, "grad_dtype", None) if derived else None,
        tensor_parts.dispatch_keys(tensor).raw_repr(),
        torch.is_inference_mode_enabled(),
    )


def _made(mode: Any, tensor: torch.Tensor) -> Any:
    """A fake tensor of which the sizes, strides, dtype and device of a weight are all there is."""
    meta = torch.empty_strided(
        tuple(tensor.shape), tensor.stride(), dtype=tensor.dtype, device="meta"
    )
    made = mode.make(meta, tensor.device)
    if tensor.requires_grad:
        made.requires_grad = True
    if type(tensor) is torch.nn.Parameter:
        made._is_param = True
    return made


def _is_same(fake: Any, made: Any) -> bool:
    """Whether nobody can tell two fake tensors apart but by their identity."""
    return vars(fake) == vars(made) and _told(fake) == _told(made)


def _told(fake: Any) -> tuple[Any, ...]:
    return (
        type(fake),
        tuple(fake.shape),
        fake.stride(),
        fake.storage_offset(),
        fake.untyped_storage().nbytes(),
        fake.dtype,
        fake.device,
        fake.requires_grad,
        fake.is_leaf,
        fake.grad is None,
        getattr(fake, "grad_dtype", None) if fake.requires_grad else None,
        tensor_parts.is_view(fake),
        tensor_parts.version_of(fake),
        tensor_parts.dispatch_keys(fake).raw_repr(),
    )
