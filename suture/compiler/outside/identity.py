"""Which objects are the same at every call, and which may be others of their kind.

An object whose identity is guarded is *fixed*, and so is what hangs below it. Modules and
optimizers are fixed wherever they come from, since a program has few of them and keeps them: their
tensors are then held by the variant instead of being read at each call. A module that is an
argument is *general*: what is read of it is guarded, and which one it is, is not, so that all
layers of one class share a variant.
"""

from __future__ import annotations

import types
import weakref
from typing import Any

import torch

from suture.breaks import Break, objects
from suture.bytecode.language import SINGLE_INTS
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.objects import (
    Constant,
    ConstantMethod,
    DictView,
    Function,
    Method,
    Mutable,
    Opaque,
    Proxy,
    Raise,
    Slice,
    Symbol,
    Tensor,
    is_single,
)
from suture.compiler.objects.array import Array
from suture.compiler.objects.bound_method import BoundMethod
from suture.compiler.objects.frozen import Interchangeable
from suture.compiler.objects.made_weakref import MadeReference
from suture.compiler.objects.weakref import WeakReference
from suture.runtime.predicates import has_callback, has_no_callback, not_none
from suture.runtime.sources import Source

_LONG_LIVED = (torch.nn.Module, torch.optim.Optimizer)

# Accessors below an object guarded by identity that keep the source just as fixed.
_FIXED = frozenset(
    {"dict", "item", "attr", "cell", "closure", "default", "kwdefault", "mro_attr", "index", "key"}
)


def is_same(trace: Trace, left: Any, right: Any) -> bool:
    """`left is right`."""
    if left is right:
        return True
    if isinstance(left, (Method, Raise)) or isinstance(right, (Method, Raise)):
        stay_apart(trace, left, right)
        return False
    if isinstance(left, Opaque) or isinstance(right, Opaque):
        return _same_opaque(trace, left, right)
    for one, other in ((left, right), (right, left)):
        if isinstance(one, WeakReference) and isinstance(other, MadeReference):
            return _same_reference(trace, one, other)
    if isinstance(left, Symbol) or isinstance(right, Symbol):
        if left.python_type() is right.python_type() is bool:  # there are only two of them
            return bool(abstract.truth(trace, left) is abstract.truth(trace, right))
        if left.python_type() is right.python_type() is int:
            first, second = (abstract.constant_value(trace, n) for n in (left, right))
            return bool(first == second and first in SINGLE_INTS)
    same = bool(left.identity() == right.identity())
    if not same and isinstance(left, _FROM_OUTSIDE) and isinstance(right, _FROM_OUTSIDE):
        stay_apart(trace, left, right)
    return same


def asked_same(trace: Trace, left: Any, right: Any) -> bool:
    """`left is right` where the program asks: two equal numbers or texts from outside are one
    object or two, which the comparisons inside containers need not know."""
    if isinstance(left, Interchangeable) and isinstance(right, Interchangeable):
        left.settle(trace)
        right.settle(trace)
    if left is not right and left.source is not None and right.source is not None:
        if isinstance(left, Symbol) or isinstance(right, Symbol):
            if not is_same(trace, left, right) and _may_be_one(trace, left, right):
                raise Break(objects.UNKNOWN_OPERATOR, operator="is", operands=left.describe())
        elif _are_constants(left, right) and left.source is not right.source:
            one, other = left.value, right.value
            if type(one) is type(other) and not is_single(one) and one == other:
                return _same_opaque(trace, left, right)
    return is_same(trace, left, right)


def _are_constants(left: Value, right: Value) -> bool:
    return isinstance(left, Constant) and isinstance(right, Constant)


def _may_be_one(trace: Trace, left: Any, right: Any) -> bool:
    """Whether two numbers that are no constants are equal, and so may be one object."""
    if left.python_type() is not right.python_type() or left.python_type() is bool:
        return False
    equal = abstract.constant_value(trace, left) == abstract.constant_value(trace, right)
    return bool(equal)


# Values of which a guard may hold less than which object it is.
_FROM_OUTSIDE = (
    Mutable, Function, Tensor, Array, Slice, DictView, Proxy, BoundMethod, ConstantMethod
)  # fmt: skip


def _same_reference(trace: Trace, real: WeakReference, made: MadeReference) -> bool:
    """An object has one weak reference without a callback, which is given out again."""
    plain = has_no_callback(real.value)
    trace.guards.add(real.source, "truth", has_no_callback if plain else has_callback)
    return plain and is_same(trace, real.call(trace, [], {}), made.to)


def stay_apart(trace: Trace, left: Value, right: Value) -> None:
    """Two objects from outside were asked whether they are one: they must stay two."""
    if left.source is None or right.source is None or type(left) is not type(right):
        return
    if not (is_fixed(trace, left.source) and is_fixed(trace, right.source)):
        trace.guards.add(None, "distinct", (left.source, right.source))


def _same_opaque(trace: Trace, left: Any, right: Any) -> bool:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Opaque) and other.is_constant():
            if one.source is not None and other.constant() is None:
                trace.guards.add(one.source, "truth", not_none)
                return False
    if left.source is None or right.source is None:
        return False
    try:
        same = left.real() is right.real()
    except LookupError:
        return False
    if same and left.source is not right.source:
        trace.guards.add(left.source, "same", right.source)
    elif not same:
        trace.guards.add(None, "distinct", (left.source, right.source))
    return same


@implements(abstract.is_fixed)
def is_fixed(trace: Trace, source: Source) -> bool:
    if id(source) in trace.outside.fixed:
        return True
    if source.base is None or source.kind not in _FIXED or id(source) in trace.outside.loose:
        return False
    if is_fixed(trace, source.base):
        trace.outside.fixed.add(id(source))
        return True
    return False


def is_long_lived(cls: type) -> bool:
    """Whether objects of a class are guarded by identity also where nothing above them is."""
    return issubclass(cls, _LONG_LIVED)


def stays_same(trace: Trace, source: Source, value: object) -> bool:
    """Whether the object at a fixed source has been the same at every call. If not, what hangs
    below it is not fixed either."""
    if trace.region.history.same_object(source.path(), value):
        return True
    trace.outside.loose.add(id(source))
    trace.outside.fixed.discard(id(source))
    return False


def is_general(trace: Trace, source: Source, value: object) -> bool:
    """Whether another module may be at this source at the next call: it is an argument, or
    hangs below one, and not the module that was compiled. What is read of it is guarded then,
    and not which one it is."""
    if not issubclass(type(value), torch.nn.Module):
        return False
    if source.kind == "slot":
        if trace.region.history.is_for(value):
            return False
        trace.outside.general[id(source)] = source
        return True
    return owner_of(trace, source) is not None


def owner_of(trace: Trace, source: Source) -> Source | None:
    """The argument that is a module and that the source belongs to."""
    at: Source | None = source if trace.outside.general else None
    while at is not None and id(at) not in trace.outside.general:
        at = at.base if at.kind in _FIXED else None
    return at


@implements(abstract.fix)
def fix(trace: Trace, source: Source, value: object) -> None:
    if id(value) in trace.guards.anew:
        raise Break(objects.UNKNOWN_OBJECT, operation="use as a constant", object=source.path())
    root = source.base is None or not is_fixed(trace, source.base) or source.base.kind == "const"
    lasting = is_long_lived(type(value))
    kind = "weak" if (root if lasting else is_told_of_its_end(value)) else "is"
    trace.guards.add(source, kind, value)
    trace.outside.fixed.add(id(source))
    if issubclass(type(value), torch.optim.Optimizer):
        trace.outside.optimizers.add(id(source))


def is_of_optimizer(trace: Trace, source: Source) -> bool:
    """Whether something is reached through an optimizer, which changes its numbers in each step."""
    at: Source | None = source if trace.outside.optimizers else None
    while at is not None and id(at) not in trace.outside.optimizers:
        at = at.base
    return at is not None


def is_told_of_its_end(value: object) -> bool:
    """Whether the program can tell when an object goes: its guard must not keep it then."""
    if issubclass(type(value), (type, types.FunctionType, types.ModuleType)):
        return False  # those stay as long as the program that names them
    if issubclass(type(value), torch.Tensor):
        return False  # torch itself has weak references to those that were traced
    return weakref.getweakrefcount(value) > 0 or (
        hasattr(type(value), "__del__") and hasattr(type(value), "__weakref__")
    )


def owner_of_parameter(trace: Trace, source: Source) -> Source | None:
    """The argument in whose modules the source is a parameter or a buffer."""
    table = source.base
    if table is None or table.kind != "item" or table.arg not in ("_parameters", "_buffers"):
        return None
    return owner_of(trace, source)
