"""NumPy's types: what is asked of dtypes is answered while tracing."""

from __future__ import annotations

from typing import Any

from suture.breaks import Break, calls
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles
from suture.compiler.objects import Class, Constant, List, Object, Tuple
from suture.compiler.objects.array import Array, numpy_dtype
from suture.compiler.objects.wraps import WRAPPERS
from suture.runtime.sources import Source

_QUESTIONS = (
    "issubdtype",
    "promote_types",
    "result_type",
    "can_cast",
    "min_scalar_type",
    "isscalar",
)


def _wrap_limits(trace: Trace, value: object, source: Source | None) -> Value:
    """numpy.finfo and iinfo: they never change."""
    if source is not None:
        trace.guards.add(source, "is", value)
    return Constant(value, source)


def _question(real: Any) -> None:
    @handles(real)
    def answer(trace: Trace, args: Any, kwargs: Any) -> Any:
        values = [_known(trace, real, a) for a in args]
        named = {k: _known(trace, real, v) for k, v in kwargs.items()}
        return abstract.folded(trace, lambda: real(*values, **named))


def _known(trace: Trace, real: Any, value: Value) -> Any:
    """A type, or something that has one: of an array its dtype counts, not its numbers."""
    if isinstance(value, Constant):
        return value.value
    if isinstance(value, Array) and real is numpy.result_type and not value.is_scalar:
        return numpy_dtype(value.tensor.value)
    if isinstance(value, (List, Tuple)) and real is numpy.dtype:
        return abstract.constant_value(trace, value)
    if isinstance(value, (Class, Object)):
        try:
            found = value.real()
        except LookupError:
            found = None
        if isinstance(found, (type, numpy.dtype)):
            return found
    raise Break(calls.C_FUNCTION, function=f"numpy.{real.__name__}")


try:
    import numpy
except ImportError:  # torch works without it, and so does suture
    pass
else:
    for _kind in (numpy.finfo, numpy.iinfo):
        WRAPPERS[_kind] = _wrap_limits
        _question(_kind)
    for _function in (numpy.dtype, *(getattr(numpy, name) for name in _QUESTIONS)):
        _question(_function)
    for _function in (numpy.dtype.__eq__, numpy.dtype.__ne__):
        _question(_function)
