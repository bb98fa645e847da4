"""Operations as optimizers write them when they are compiled: on lists of tensors, and with factors
that are tensors themselves.

torch's kernels read such factors, one by one, which a graph would wait for; and a compiler that
knows the number in a tensor would take it for a constant. So they are multiplied with.
"""

from __future__ import annotations

from typing import Any

import torch

from suture import rules
from suture.breaks import Break, calls
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles
from suture.compiler.objects import Constant, Dict, List, Tensor, TensorMethod, Tuple
from suture.torch_private import operators, releases


def _factors(trace: Trace, given: Any) -> list[Any] | None:
    """The factors, one for each tensor of the list; None if they are Python's numbers."""
    if isinstance(given, Tensor):
        return list(abstract.unpack(trace, abstract.call_torch(trace, torch.unbind, [given], {})))
    if isinstance(given, (List, Tuple)):
        items = list(abstract.unpack(trace, given))
        return items if any(isinstance(item, Tensor) for item in items) else None
    return None


def _file(real: object, combine: Any) -> None:
    def handler(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        factors = _factors(trace, args[3]) if len(args) == 4 and not kwargs else None
        if factors is None:
            return abstract.by_verdict(
                trace, rules.lookup(real), real, abstract.wrap(trace, real, None), args, kwargs
            )
        lists = [list(abstract.unpack(trace, a)) for a in args[:3]]
        for target, first, second, factor in zip(*lists, factors):
            scaled = _scaled(trace, combine, first, second, factor)
            abstract.finish(trace, TensorMethod(target, "add_").call(trace, [scaled], {}))
        return Constant(None)

    handles(real)(handler)


def _file_method(name: str, combine: Any) -> None:
    """`tensor.addcmul_(a, b, value=factor)` and its like, if the factor is a tensor."""

    def handler(trace: Trace, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]) -> Value:
        factor = kwargs.get("value")
        if len(args) != 2 or len(kwargs) != 1 or not _multiplies(factor, tensor):
            return abstract.add_node(trace, "call_method", name, [tensor, *args], kwargs)
        scaled = _scaled(trace, combine, args[0], args[1], factor)
        return abstract.add_node(trace, "call_method", "add_", [tensor, scaled], {})

    handles(f"Tensor.{name}")(handler)


def _scaled(trace: Trace, combine: Any, first: Any, second: Any, factor: Any) -> Any:
    """What is added, rounded as torch's kernels round it: on a CPU the first one is multiplied, and
    halves are computed with as floats."""
    if first.value.dtype in (torch.float16, torch.bfloat16):
        wide = [abstract.known(trace, torch.float32)]
        first, second = (
            abstract.add_node(trace, "call_method", "to", [v, *wide], {}) for v in (first, second)
        )
    if first.value.device.type == "cpu":
        multiplied = abstract.call_torch(trace, torch.mul, [first, factor], {})
        return abstract.call_torch(trace, combine, [multiplied, second], {})
    change = abstract.call_torch(trace, combine, [first, second], {})
    return abstract.call_torch(trace, torch.mul, [change, factor], {})


def _multiplies(factor: Any, tensor: Tensor) -> bool:
    """Whether a factor is one number in a tensor, which may be multiplied with instead of read."""
    if not isinstance(factor, Tensor) or not tensor.value.is_floating_point():
        return False
    value = factor.value
    near = value.device.type == "cpu" or value.device == tensor.value.device
    real = value.is_floating_point() or value.dtype is torch.int64
    return near and real and value.dim() == 0 and not value.requires_grad


def _file_fused(real: Any) -> None:
    """A whole step of an optimizer. Lists that it may leave empty, and would write to, are more
    than torch's functionalization takes, and of some of these steps it has no functional form:
    Python runs it then, behind the graph."""

    def handler(trace: Trace, args: list[Value], kwargs: Any) -> Any:
        position = (trace.frames[-1].code.code, trace.frames[-1].ip)
        empty = any(isinstance(a, (List, Tuple)) and not abstract.unpack(trace, a) for a in args)
        if empty or position in trace.region.plan.by_python:
            raise Break(calls.C_FUNCTION, function=f"torch.{real.__name__}")
        trace.graph.fused.add(position)
        return abstract.by_verdict(
            trace, rules.lookup(real), real, abstract.wrap(trace, real, None), args, kwargs
        )

    handles(real)(handler)


@handles("group_tensors")
def _group_tensors(trace: Trace, target: Any, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Lists of tensors, sorted into groups of one device and dtype each, in torch's own order."""
    if kwargs or len(args) != 2:
        raise Break(calls.C_FUNCTION, function=target.__name__)
    lists = [list(abstract.unpack(trace, one)) for one in abstract.unpack(trace, args[0])]
    numbered = abstract.constant_value(trace, args[1])
    fakes = [[v.value if isinstance(v, Tensor) else None for v in one] for one in lists]
    try:
        groups = target(fakes, True)
    except RuntimeError:
        raise Break(calls.C_FUNCTION, function=target.__name__) from None  # it says what is wrong
    entries = {}
    for kind, (_, indices) in groups.items():
        parts = [List([one[i] for i in indices] if one else []) for one in lists]
        numbers = List([Constant(i) for i in indices] if numbered else [])
        key = abstract.known(trace, kind)
        entries[key.hash_key(trace)] = (key, Tuple([List(parts), numbers]))
    return Dict(entries)


def _groups_as_eager(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Groups of tensors for an optimizer, where "all in one, of no dtype" will not do."""
    grouping = abstract.wrap(trace, operators.tensor_groups, None)
    groups: Value = abstract.call(trace, grouping, args, kwargs)
    return groups


if releases.asks_for_groups():
    handles(operators.optimizer_groups)(_groups_as_eager)
for _fused in (
    operators.fused_adam,
    operators.fused_adamw,
    operators.fused_sgd,
    operators.fused_adagrad,
):
    _file_fused(_fused)
_file(operators.foreach_addcdiv, torch.div)
_file(operators.foreach_addcmul, torch.mul)
_file_method("addcdiv_", torch.div)
_file_method("addcmul_", torch.mul)
