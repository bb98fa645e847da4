"""Dropout that drops nothing gives its input itself, as torch's own kernel does.

On fake tensors with symbolic sizes torch makes a copy: what the program writes to the result
would not be written to the input.
"""

from __future__ import annotations

from typing import Any

import torch

from suture import rules
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles
from suture.compiler.objects import Constant, Symbol, Tensor
from suture.compiler.torch.subclasses import PLAIN


def _file(real: Any, *names: str) -> None:
    """`names` are those of the arguments: the input, the probability, whether it is on, others."""

    def handler(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Any:
        given = dict(zip(names, args)) | kwargs
        fits = len(given) == len(args) + len(kwargs) and given.keys() <= set(names)
        tensor = given.get(names[0])
        if fits and isinstance(tensor, Tensor) and tensor.cls in PLAIN:
            probability = given.get(names[1], Constant(0.5))
            if _drops_nothing(trace, probability, given.get(names[2], Constant(True))):
                return tensor
        return abstract.by_verdict(
            trace, rules.lookup(real), real, abstract.wrap(trace, real, None), args, kwargs
        )

    handles(real)(handler)


def _drops_nothing(trace: Trace, probability: Value, on: Value) -> bool:
    """Whether the result is the input. Of a number that is no probability torch says so itself."""
    if not isinstance(on, Constant) or type(on.value) is not bool:
        return False
    if isinstance(probability, Constant):
        number = probability.value
        return type(number) in (int, float) and (0 <= number <= 1) and (not on.value or number == 0)
    if not isinstance(probability, Symbol):
        return False
    if on.value:
        return _holds(trace, probability, "==", 0.0)
    return _holds(trace, probability, ">=", 0.0) and _holds(trace, probability, "<=", 1.0)


def _holds(trace: Trace, number: Value, symbol: str, limit: float) -> bool:
    return bool(abstract.truth(trace, abstract.compare(trace, symbol, number, Constant(limit))))


_file(torch.nn.functional.dropout, "input", "p", "training", "inplace")
_file(torch.dropout, "input", "p", "train")
