"""Copies of sets, and the order that they have of sets from outside."""

from __future__ import annotations

from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.objects import set_
from suture.compiler.objects.constant import Constant
from suture.compiler.objects.list_ import List
from suture.compiler.objects.methods import method, run_method
from suture.compiler.objects.set_ import Copied, Set
from suture.compiler.objects.tuple_ import Tuple
from suture.runtime.predicates import places_in_copy


@method(Set, "copy")
def set_copy(self: Set, trace: Trace) -> Value:
    if self.kind is frozenset:
        return self
    made = self._like(trace, "copy", self.base_table().copy())
    made.copied = _copied(trace, self)
    return made


def _copied(trace: Trace, of: Set) -> Copied | None:
    """What is known of the order of a copy that is made here: where the set is as it was when the
    region began, a guard can say which order its copies have. Such a copy cannot be made anew when
    the region ends: if it leaves the region, Python makes it here."""
    if of.source is None or of.changed:
        return None
    frame = trace.frames[-1]
    position = (frame.code.code, frame.ip)
    real = next((real for real, made in trace.outside.known.values() if made is of), None)
    if type(real) is not set or position in trace.region.plan.by_python:
        return None
    return Copied(of.source, list(of.entries), places_in_copy(real), position)


@method(Set, "__reduce_ex__")
def set_reduce_ex(self: Set, trace: Trace, protocol: Value) -> Value:
    parts = [
        abstract.wrap(trace, self.kind, None),
        Tuple([List(set_.set_order(trace, self))]),
        Constant(None),
    ]
    return Tuple(parts)


@method(Set, "__reduce__")
def set_reduce(self: Set, trace: Trace) -> Value:
    return run_method(trace, self, "__reduce_ex__", Constant(2))
