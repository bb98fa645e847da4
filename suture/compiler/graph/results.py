"""Results of operations on fake tensors, known by the operation and what its arguments are.

torch remembers them too, under a key that says more than is needed while no size is a symbol, and
that takes longer to make than most results. What is remembered here is new tensors alone: of
operators that write to nothing, share no memory and look at no data. Their dtype, sizes, strides
and device follow from those of the arguments.
"""

from __future__ import annotations

from typing import Any

import torch

from suture.torch_private import fake_tensors, operators, tensor_parts

_PLAIN = (int, float, bool, str, type(None), complex, torch.dtype, torch.device, torch.layout,
          torch.memory_format)  # fmt: skip
_UNFIT = ("data_dependent_output", "dynamic_output_shape", "inplace_view")


class Unknown(Exception):
    """An argument of which more counts than what is compared."""


class Results:
    """What operators gave in one trace."""

    def __init__(self) -> None:
        self._known: dict[Any, tuple[Any, ...]] = {}
        self._fit: dict[Any, bool] = {}

    def fits(self, func: Any) -> bool:
        """Whether the result of an operator follows from what its arguments are."""
        found = self._fit.get(func)
        if found is None:
            found = self._fit[func] = _fits(func)
        return found

    def key(self, func: Any, args: Any, kwargs: Any) -> Any:
        """What the result depends on; raises Unknown where that cannot be said."""
        return (
            func,
            torch.get_default_dtype(),
            tuple(map(_described, args)),
            tuple((k, _described(v)) for k, v in kwargs.items()),
        )

    def find(self, mode: Any, key: Any) -> Any:
        """A new tensor like the one that was remembered; None if there is none."""
        known = self._known.get(key)
        if known is None:
            return None
        size, stride, dtype, device = known
        made = torch.empty_strided(size, stride, dtype=dtype, device="meta")
        return fake_tensors.FakeTensor(mode, made, device)

    def remember(self, key: Any, args: Any, value: Any) -> None:
        """Remember a result, if it is a tensor that `find` can make again: with memory of its own,
        whatever the schema says (`_unsafe_view`)."""
        if type(value) is not fake_tensors.FakeTensor or value.constant is not None:
            return
        size, stride, offset = tuple(value.shape), value.stride(), value.storage_offset()
        numbers = (*size, *stride, offset)
        if offset or any(type(n) is not int for n in numbers) or not _is_plain(value):
            return
        if value.untyped_storage().nbytes() != _span(size, stride) * value.element_size():
            return
        memory = tensor_parts.storage_key(value)
        for one in tensor_parts.pytree.tree_leaves(args):
            if isinstance(one, torch.Tensor) and tensor_parts.storage_key(one) == memory:
                return
        self._known[key] = (size, stride, value.dtype, value.fake_device)


def _span(size: tuple[int, ...], stride: tuple[int, ...]) -> int:
    """How many elements a tensor of such sizes and strides spans."""
    if 0 in size:
        return 0
    return 1 + sum((n - 1) * step for n, step in zip(size, stride))


def _fits(func: Any) -> bool:
    if not isinstance(func, operators.OpOverload) or func.namespace != "aten":
        return False
    schema = operators.schema_of(func)
    if schema.is_mutable or len(schema.returns) != 1:
        return False
    if str(schema.returns[0].type) != "Tensor" or schema.returns[0].alias_info is not None:
        return False
    return not any(getattr(torch.Tag, name) in func.tags for name in _UNFIT)


def _described(value: Any) -> Any:
    kind = type(value)
    if kind is fake_tensors.FakeTensor:
        if value.constant is not None or not _is_plain(value):
            raise Unknown
        size, stride, offset = tuple(value.shape), value.stride(), value.storage_offset()
        if any(type(n) is not int for n in (*size, *stride, offset)):
            raise Unknown
        return (size, stride, offset, value.dtype, value.fake_device)
    if kind is float:
        return (kind, repr(value))  # 0.0 and -0.0, and numbers that equal no other
    if kind in _PLAIN:
        return (kind, value)
    if kind is list or kind is tuple:
        return (kind, *map(_described, value))
    raise Unknown


def _is_plain(value: torch.Tensor) -> bool:
    """Whether a tensor is what its sizes, strides, dtype and device say, and nothing more."""
    return not (
        value.layout is not torch.strided
        or value.is_quantized
        or value.is_conj()
        or value.is_neg()
        or value.is_nested
    )
