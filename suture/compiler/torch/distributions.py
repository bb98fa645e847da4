"""torch.distributions: what its classes say about themselves."""

from __future__ import annotations

import torch
from torch.distributions.utils import lazy_property

from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles
from suture.compiler.objects import Size
from suture.torch_private import operators


@handles(lazy_property.__get__.__code__)
def _lazy_property(
    trace: Trace, function: Value, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    """Through a class, which tests whether there is one: an object that is made for the answer."""
    through_class = len(args) > 1 and args[1].is_constant() and args[1].constant() is None
    if not through_class or kwargs:
        return abstract.inline(trace, function, args, kwargs)
    return abstract.wrap(trace, args[0].real().__get__(None, args[2].real()), None)


@handles(operators.infer_size)
def _infer_size(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The shape that two shapes have together."""
    return Size(
        abstract.unpack(trace, abstract.fold(trace, torch.broadcast_shapes, list(args), {}))
    )


@handles(operators.distribution_is_valid)
def _is_valid(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value | None:
    """Whether all numbers are in range. torch makes a truth value of the answer, and its callers
    only raise if it is not true: a tensor does as well, and the check stays in the graph."""
    return abstract.call_torch(trace, operators.all_true, [args[0]], {})
