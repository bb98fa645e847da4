"""torch.bincount of numbers that are known to be below `minlength`: as many counts, whatever the
data are.

How many counts bincount gives hangs on the largest number, so that nothing can be done with a list
of them in a graph. Places that `topk`, `argmax` and the like have found are below the size of the
dimension they were found in (`graph/index_bounds.py`). Counts of those are added up at places that
are known to be there, which no device has to be waited for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.graph.index_bounds import bound_of
from suture.compiler.models import handles
from suture.compiler.objects import Constant, Tensor


@handles("bincount")
def _bincount(
    trace: Trace, target: Callable[..., Any], args: list[Value], kwargs: dict[str, Value]
) -> Value:
    length = _length(args, kwargs)
    if length is None:
        return abstract.call_torch(trace, target, args, kwargs)
    numbers: Any = args[0]
    options: dict[str, Value] = {
        "dtype": Constant(torch.int64),
        "device": Constant(numbers.value.device),
    }
    counts = abstract.call_torch(trace, torch.zeros, [Constant(length)], options)
    ones = abstract.call_torch(trace, torch.ones_like, [numbers], {})
    return abstract.call_torch(trace, torch.index_add, [counts, Constant(0), numbers, ones], {})


@handles("Tensor.bincount")
def _bincount_method(
    trace: Trace, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    return _bincount(trace, torch.bincount, [tensor, *args], kwargs)


def _length(args: list[Value], kwargs: dict[str, Value]) -> int | None:
    """How many counts there are, if that is known: the call's `minlength`, and no number is as
    large. None if it is not known, or the call has weights, or is one that raises."""
    numbers = args[0] if args else None
    given = args[2] if len(args) > 2 else kwargs.get("minlength")
    weights = args[1] if len(args) > 1 else kwargs.get("weights", Constant(None))
    if len(args) > 3 or not kwargs.keys() <= {"minlength", "weights"}:
        return None
    if not weights.is_constant() or weights.constant() is not None:
        return None
    if type(numbers) is not Tensor or numbers.cls is not torch.Tensor or numbers.node is None:
        return None
    length = given.constant() if given is not None and given.is_constant() else None
    if numbers.value.dim() != 1 or numbers.value.dtype is not torch.int64:
        return None
    bound = bound_of(numbers.node)
    return length if type(length) is int and bound is not None and bound <= length else None
