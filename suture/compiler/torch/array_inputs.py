"""Arrays and scalars of NumPy that come from outside, and calls that make scalars."""

from __future__ import annotations

from typing import Any

from suture.breaks import Break, arrays, calls
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles
from suture.compiler.objects import (
    Builtin,
    Constant,
    Opaque,
    Refused,
    Tensor,
)
from suture.compiler.objects.array import Array
from suture.compiler.objects.wraps import WRAPPERS
from suture.compiler.outside.inputs import note_sizes, tensor_plan, wrap_number
from suture.compiler.torch.array_memory import meets_written
from suture.compiler.torch.arrays import is_number
from suture.dynamic import NO_MARKS
from suture.runtime.predicates import SameLayout, is_writeable
from suture.runtime.reads import number_in_scalar, tensor_of_scalar, tensor_over
from suture.runtime.sources import Source


def _wrap_array(trace: Trace, value: Any, source: Source | None) -> Value:
    source = source if source is not None else abstract.pinned(trace, value, "an array")
    trace.guards.add(source, "type", type(value))
    try:
        real = tensor_over(value)
    except (TypeError, ValueError):
        dtype = str(value.dtype)
        return Refused(value, source, lambda: Break(arrays.ARRAY_DTYPE, dtype=dtype))
    if meets_written(trace, real, source, True):
        return Refused(value, source, lambda: Break(arrays.ARRAY_METHOD, method="read"))
    over = source.call(tensor_over)
    plan = tensor_plan(trace, real, over, NO_MARKS)
    fake = trace.graph.fake_tensor(real, over, plan.context)
    node = trace.graph.add_input(source, real, fake, convert=tensor_over)
    node.meta["writeable"] = is_writeable(value)
    if plan.context is None:
        trace.guards.add(source, "truth", SameLayout(value))
    else:  # its sizes have changed
        trace.guards.add(over, "tensor", plan.spec(real, fake))
        note_sizes(trace, fake, over, plan)
    return Array(Tensor(node, fake), source)


def _wrap_scalar(trace: Trace, value: Any, source: Source | None) -> Value:
    """A NumPy scalar is a constant, with its type; once it has changed, a number of the graph."""
    if source is None:
        return Constant(value)
    trace.guards.add(source, "type", type(value))
    number = value.item()
    if type(number) is not bool and trace.region.history.dynamic_number(
        trace.region.plan, source.path(), number
    ):
        return _changing_scalar(trace, value, source)
    if value != value:
        return Opaque(value, source)
    trace.guards.add(source.call(number_in_scalar), "equals", number)
    return Constant(value, source)


def _changing_scalar(trace: Trace, value: Any, source: Source) -> Value:
    try:
        real = tensor_of_scalar(value)
    except TypeError:
        return Opaque(value, source)
    inner = source.call(number_in_scalar)
    trace.region.history.changes(inner.path())
    number = wrap_number(trace, value.item(), inner)
    if number is None:
        return Opaque(value, source)
    fake = trace.graph.fake_tensor(real, source, None)
    node = trace.graph.add_input(source, real, fake, convert=tensor_of_scalar)
    return Array(Tensor(node, fake), source, number)


def _seed(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """Draws are Python's, so that it is early enough to seed them where the region ends."""
    seed = args[0].value if len(args) == 1 and isinstance(args[0], Constant) else None
    if kwargs or type(seed) is not int or not 0 <= seed < 1 << 32:
        raise Break(calls.C_FUNCTION, function="numpy.random.seed")
    trace.effects.call(numpy.random.seed, args, {})
    return Constant(None)


def _wrap_function(trace: Trace, value: object, source: Source | None) -> Value:
    if source is not None:
        abstract.fix(trace, source, value)
    return Builtin(value, source if source is not None else abstract.pinned(trace, value))


def _scalar_of(kind: type) -> None:
    @handles(kind)
    def make(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        if kwargs or not all(is_number(trace, a) for a in args):
            raise Break(calls.C_FUNCTION, function=f"numpy.{kind.__name__}")
        return abstract.folded(
            trace, lambda: kind(*(abstract.constant_value(trace, a) for a in args))
        )


try:
    import numpy
except ImportError:  # torch works without it, and so does suture
    pass
else:
    WRAPPERS[numpy.ndarray] = _wrap_array
    for _kind in {numpy.dtype(_code).type for _code in "?bBhHiIlLqQfd"}:
        WRAPPERS[_kind] = _wrap_scalar
        _scalar_of(_kind)
    WRAPPERS[numpy.ufunc] = WRAPPERS[type(numpy.sum)] = _wrap_function
    WRAPPERS[type(numpy.random.seed)] = _wrap_function
    handles(numpy.random.seed)(_seed)
