"""Operations in place whose result the tensor that they write to cannot hold, such as floats in a
tensor of ints. torch's kernels refuse them; some of its kernels for fake tensors do not, and a
compiler then rounds the result."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from suture.torch_private import operators


def refuse_cast(run: Callable[..., Any], func: Any, args: Any, kwargs: Any) -> None:
    """Raise what torch raises, if an operator writes a result to its first argument that cannot be
    cast to the dtype of that. `run(operator, args, kwargs)` gives results on fake tensors."""
    written = args[0] if args else None
    if not isinstance(written, torch.Tensor) or not _may_be_refused(written.dtype, args[1:]):
        return
    plain = _out_of_place(func)
    if plain is None:
        return
    try:
        kind = run(plain, args, kwargs).dtype
    except Exception:
        return  # the operation says what is wrong with its arguments
    if not torch.can_cast(kind, written.dtype):
        raise RuntimeError(f"result type {kind} can't be cast to the desired output type")


def _may_be_refused(dtype: torch.dtype, others: Any) -> bool:
    """Whether a tensor of this dtype may be too narrow for a result. One of floats is for all but
    complex results."""
    if dtype.is_complex:
        return False
    return not dtype.is_floating_point or any(
        type(v) is complex or (isinstance(v, torch.Tensor) and v.dtype.is_complex) for v in others
    )


@functools.cache
def _out_of_place(func: Any) -> Any:
    """The operator that gives what this one writes to its first argument (`mul` of `mul_`); None if
    it is not in place."""
    if not isinstance(func, operators.OpOverload) or func.namespace != "aten":
        return None
    schema = operators.schema_of(func)
    name = schema.name.removeprefix("aten::")
    if not name.endswith("_") or name.startswith("_"):
        return None
    packet = getattr(torch.ops.aten, name[:-1], None)
    return getattr(packet, schema.overload_name or "default", None)
