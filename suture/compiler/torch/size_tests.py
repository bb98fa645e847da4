"""Tests of sizes in torch's own Python code: guard_or_false and its kin."""

from __future__ import annotations

from typing import Any

import torch

from suture.breaks import Break, calls
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles
from suture.compiler.objects import Constant, Symbol, Tensor
from suture.compiler.objects.sequence import Sequence
from suture.compiler.torch.symbols import unbacked_decision
from suture.runtime.predicates import is_literal
from suture.torch_private import symbolic_shapes


@handles("symbolic_shape")
def _symbolic_shape(
    trace: Trace, target: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """torch answers, from the sizes as they are known; what it decides by that is guarded."""
    values = [_plain(trace, a) for a in args]
    named = {k: _plain(trace, v) for k, v in kwargs.items()}
    answer = None
    try:
        answer = target(*values, **named)
        if isinstance(answer, torch.SymBool):
            answer = bool(answer)
    except symbolic_shapes.GuardOnDataDependentSymNode as error:
        if isinstance(answer, torch.SymBool):
            return abstract.call_torch(trace, target, args, kwargs)  # asked when the graph runs
        raise unbacked_decision(trace, error) from None
    except (TypeError, ValueError) as error:
        if isinstance(error, TypeError) and not any(isinstance(a, Symbol) for a in args[1:]):
            return abstract.raise_(trace, TypeError, str(error))  # as in eager mode
        raise Break(  # torch refuses the symbol, and may take the number
            calls.PYTHON_FUNCTION_RUN,
            module=target.__module__,
            qualname=target.__qualname__,
            reason=str(error),
        ) from None
    if not is_literal(answer):
        raise Break(calls.C_FUNCTION, function=target.__name__)
    return Constant(answer)


def _plain(trace: Trace, variable: Value) -> Any:
    if isinstance(variable, (Symbol, Tensor)):
        return variable.value
    if isinstance(variable, Sequence):
        return tuple(_plain(trace, v) for v in variable.unpacked(trace))
    return abstract.constant_value(trace, variable)
