"""`__torch_function__`: operations that classes of tensors, and other objects, take over.

An operation calls the `__torch_function__` of each argument whose class has one of its own, in
torch's order; what that does is traced like any other function. Inside of it, with the switch off,
the same operation is a node of the graph. Classes that leave torch.Tensor's own in place take over
nothing: their results get their class (subclasses.py).
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Hashable
from typing import Any

import torch
import torch.overrides

from suture import rules
from suture.breaks import Break, calls, objects, tensors
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Identity, Trace, Value
from suture.compiler.language.operators import BINARY, COMPARE, IN_PLACE, UNARY, overrides_method
from suture.compiler.models import handles, model_of
from suture.compiler.objects import (
    Builtin,
    Class,
    Constant,
    Dict,
    Function,
    Object,
    Tensor,
    Tuple,
    tensor,
)
from suture.compiler.objects import tensor as tensor_values
from suture.compiler.objects.bound_builtins import bound_builtin, is_bound
from suture.compiler.objects.methods import method
from suture.compiler.objects.real_object import RealIdentity
from suture.compiler.objects.sequence import is_list_or_tuple
from suture.compiler.objects.torch_switch import FunctionSwitch, Switch, leave, state_behind
from suture.compiler.objects.wraps import wraps
from suture.compiler.torch.function_modes import call_function_mode, mode_operator, modes_see
from suture.compiler.torch.operator_functions import (
    function_asked,
    is_overloaded,
    kind_mark,
    operator_function,
)
from suture.compiler.torch.subclasses import DISABLED, OWN_FUNCTION, PLAIN, as_class, has_own
from suture.compiler.torch.wrappers import torch_function_in_graph
from suture.runtime.predicates import Equals
from suture.runtime.sources import Source
from suture.torch_private import operators, tensor_parts, thread_state

_OPERATORS = (operators.OpOverload,)
_GETSET = types.GetSetDescriptorType


def torch_functions_on() -> bool:
    """Whether operations call `__torch_function__` now."""
    return bool(thread_state.is_torch_function_enabled())


def is_custom(kind: type) -> bool:
    """Whether such a class has more to say than torch.Tensor's own answer, and it is traced."""
    own = getattr(kind.__torch_function__, "__func__", None) is OWN_FUNCTION  # type: ignore[attr-defined]
    return not own and not torch_function_in_graph(kind)


def overloaded(trace: Trace, values: Any, lists: bool = True) -> list[Any]:
    """Those of an operation's arguments whose `__torch_function__` torch calls, one of each class,
    in its order."""
    found: list[Any] = []
    for value in values:
        if isinstance(value, Tensor):
            if value.cls not in PLAIN and is_overloaded(value.cls):
                _insert(found, value)
        elif is_list_or_tuple(value):
            for item in overloaded(trace, value.unpacked(trace), False) if lists else ():
                _insert(found, item)
        elif isinstance(value, Object) and is_overloaded(value.cls):
            if not issubclass(value.cls, torch.nn.Module):
                _insert(found, value)
    return found


def overridden_by(trace: Trace, args: Any, kwargs: dict[str, Value]) -> list[Any]:
    """The same if one of them overrides torch.Tensor's own, and overrides are on; else nothing."""
    found = overloaded(trace, (*args, *kwargs.values()))
    if not found:
        return found
    guard_functions(trace)
    if not trace.modes.functions_on or not any(is_custom(v.cls) for v in found):
        return []
    return found


@implements(abstract.guard_functions)
def guard_functions(trace: Trace) -> None:
    reader = thread_state.is_torch_function_enabled
    trace.guards.add(None, "torch_state", (reader, trace.modes.functions_at_start, reader.__name__))


def call_torch_function(
    trace: Trace,
    func: Any,
    found: list[Any],
    args: list[Value],
    kwargs: dict[str, Value],
    plain: bool,
) -> Value:
    """The result of the first override that does not decline. `plain`: as C calls it, without empty
    keyword arguments."""
    kinds = Tuple([abstract.wrap(trace, v.cls, None) for v in found])
    given = [func, kinds, Tuple(list(args))]
    if kwargs or not plain:
        given.append(Dict({k: (Constant(k), v) for k, v in kwargs.items()}))
    if modes_see(trace, _real(func)):
        return call_function_mode(trace, func, kinds, args, kwargs, plain)
    for value in found:
        raw = abstract.type_lookup(trace, value.cls, "__torch_function__")
        bound = abstract.finish(
            trace, abstract.bind(trace, raw, value, value.cls, "__torch_function__")
        )
        result = abstract.call(trace, bound, given, {})
        if not (result.is_constant() and result.constant() is NotImplemented):
            return result
    names = ", ".join(v.cls.__name__ for v in found)
    raise Break(tensors.SUBCLASS, tensor=f"an argument of {func.describe()}", subclass=names)


@implements(abstract.meet_subclass)
def meet_subclass(trace: Trace, kind: type | None = None) -> None:
    if kind is not None:
        abstract.type_lookup(trace, kind, "__torch_function__")  # how it takes part is guarded
    if trace.modes.overridable_seen:
        return
    trace.modes.overridable_seen = True
    switch = Switch()
    switch.__enter__()
    trace.modes.restores.append(functools.partial(leave, switch))


@implements(abstract.refuse_in_graph)
def refuse_in_graph(
    trace: Trace, real: object, args: list[Value], kwargs: dict[str, Value]
) -> None:
    if not isinstance(real, types.FunctionType) or real.__module__.startswith("torch."):
        return
    for value in overridden_by(trace, args, kwargs):
        if isinstance(value, Tensor) and type(value.value) is not value.cls:
            kind = value.cls.__name__
            raise Break(tensors.SUBCLASS, tensor=value.describe(), subclass=kind)


# ---- the ways into an operation


@implements(abstract.call_override)
def call_override(
    trace: Trace, real: object, fn: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    given = (*args, *kwargs.values())
    if not (trace.modes.overridable_seen or any(_may_override(a) for a in given)):
        return None
    if isinstance(real, types.MethodWrapperType):
        return _call_field(trace, real, args)
    if not _is_operation(real):
        return None
    found = overridden_by(trace, args, kwargs)
    if not found and not modes_see(trace, real):
        return None
    if isinstance(real, types.FunctionType):
        return abstract.inline(trace, fn, args, kwargs)  # it looks for overrides itself
    return call_torch_function(trace, fn, found, args, kwargs, True)


def _call_field(trace: Trace, real: Any, args: list[Value]) -> Value | None:
    """`torch.Tensor.shape.__get__(x)`."""
    field = real.__self__
    if not isinstance(field, _GETSET) or not args or not isinstance(args[0], Tensor):
        return None
    if real.__name__ == "__get__":
        return abstract.torch_attribute(trace, args[0], field.__name__)
    if real.__name__ == "__set__" and len(args) == 2:
        tensor_values.tensor_set_attribute(trace, args[0], field.__name__, args[1])
        return Constant(None)
    return None


def override_of_method(
    trace: Trace, tensor: Tensor, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value | None:
    """A method of a tensor that an argument takes over; None if none does."""
    method = getattr(torch.Tensor, name, None)
    if method is None or name in _NEVER:
        return None
    found = overridden_by(trace, [tensor, *args], kwargs)
    if not found and not modes_see(trace):
        return None
    if isinstance(method, types.FunctionType):
        return abstract.inline(
            trace, Function(method, abstract.pinned(trace, method)), [tensor, *args], kwargs
        )
    if not _is_operation(method):
        return None
    return call_torch_function(
        trace, abstract.wrap(trace, method, None), found, [tensor, *args], kwargs, True
    )


@implements(abstract.field_override)
def field_override(trace: Trace, tensor: Tensor, name: str, *value: Value) -> Value | None:
    field = getattr(torch.Tensor, name, None)
    if not isinstance(field, _GETSET) or name in _NEVER:
        return None
    found = overridden_by(trace, [tensor], {})
    if not found and not modes_see(trace):
        return None
    func = field.__set__ if value else field.__get__
    return call_torch_function(
        trace, abstract.wrap(trace, func, None), found, [tensor, *value], {}, True
    )


@implements(abstract.operator_override)
def operator_override(trace: Trace, name: str, *operands: object) -> Value | None:
    found = overridden_by(trace, operands, {})
    if not found:
        return mode_operator(trace, name, *operands)
    marks = "".join(kind_mark(v) for v in operands)
    heard = function_asked(name, marks)
    if heard is None:
        names = ", ".join(v.cls.__name__ for v in found)
        raise Break(tensors.SUBCLASS, tensor=f"an operand of {name}", subclass=names)
    func, order, plain = heard
    return call_torch_function(
        trace, abstract.wrap(trace, func, None), found, [operands[i] for i in order], {}, plain
    )


@implements(abstract.special_override)
def special_override(trace: Trace, tensor: Value, method: str, args: list[Value]) -> Value | None:
    if not isinstance(tensor, Tensor) or (tensor.cls in PLAIN and not modes_see(trace)):
        return None
    if has_own(trace, tensor, method):
        return abstract.finish(trace, abstract.call_type_method(trace, tensor, method, args, {}))
    made = override_of_method(trace, tensor, method, args, {})
    return None if made is None else abstract.finish(trace, made)


@implements(abstract.special_methods)
def special_methods(trace: Trace, name: str, *operands: object) -> Value | None:
    for obj, dunder, other in _order_of(trace, name, operands):
        if isinstance(obj, Tensor) and not has_own(trace, obj, dunder):
            if dunder.startswith("__i") and name in IN_PLACE and obj.cls not in PLAIN:
                continue  # the class has the operator, though not in place
            return _torch_operator(trace, name, operands)
        if isinstance(obj, Tensor):
            result = abstract.finish(
                trace, abstract.call_type_method(trace, obj, dunder, other, {})
            )
            if not (result.is_constant() and result.constant() is NotImplemented):
                return result
        elif other:
            done = abstract.special_method(trace, obj, dunder, other[0])
            if done is not None:
                return done
    raise Break(objects.UNKNOWN_OPERATOR, operator=name, operands=_names(operands))


def _order_of(trace: Trace, name: str, operands: Any) -> list[tuple[Any, str, list[Any]]]:
    """(object, method, other operands) in the order in which Python tries them."""
    if name in UNARY:
        return [(operands[0], UNARY[name], [])]
    left, right = operands
    pairs = {row[0].__name__: row[1:] for row in COMPARE.values()}
    forward, backward = pairs.get(name) or BINARY[IN_PLACE.get(name, name)]
    kinds = left.python_type(), right.python_type()
    order = [(left, forward, [right]), (right, backward, [left])]
    if kinds[0] is not kinds[1] and issubclass(kinds[1], kinds[0]):
        if name in pairs or overrides_method(trace, kinds, backward):
            order.reverse()
    if name in IN_PLACE:
        order.insert(0, (left, f"__{name}__", [right]))
    return order


def _torch_operator(trace: Trace, name: str, operands: Any) -> Value:
    overridden = operator_override(trace, name, *operands)
    if overridden is not None:
        return overridden
    return abstract.call_torch(trace, operator_function(name), list(operands), {})


@implements(tensor.base_method)
def base_method(
    trace: Trace, tensor: Tensor, name: str, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    found = overridden_by(trace, [tensor, *args], kwargs) if trace.modes.overridable_seen else []
    if not found:
        return abstract.add_node(trace, "call_method", name, [tensor, *args], kwargs)
    func = getattr(tensor_parts.TensorBase, name)
    heard = function_asked("." + name, "".join(kind_mark(v) for v in (tensor, *args)))
    if heard is not None and name.startswith("__") and not kwargs:
        func = heard[0]
    return call_torch_function(
        trace, abstract.wrap(trace, func, None), found, [tensor, *args], kwargs, True
    )


# ---- torch.Tensor's own answer


@implements(abstract.with_functions)
def with_functions(trace: Trace, on: bool, call: Callable[[], Any]) -> Value:
    before, trace.modes.functions_on = trace.modes.functions_on, on
    try:
        return abstract.finish(trace, call())
    finally:
        trace.modes.functions_on = before


def own_function(
    trace: Trace, cls: Any, func: Value, kinds: Any, args: list[Value], kwargs: Any
) -> Value:
    """torch.Tensor.__torch_function__: the operation itself, its tensors as `cls`."""
    if not all(issubclass(cls.value, k.value) for k in abstract.unpack(trace, kinds)):
        return Constant(NotImplemented)
    made = with_functions(trace, False, lambda: abstract.tail_call(trace, func, args, kwargs))
    if _real(func) in torch.overrides.get_default_nowrap_functions():
        return made
    return with_functions(trace, False, lambda: as_class(trace, made, cls.value, args))


def _may_override(value: object) -> bool:
    """Whether an argument may take over an operation, as far as it is known: items of a list that
    nobody has looked at yet may be anything."""
    if is_list_or_tuple(value):
        return not value.settled or any(isinstance(item, Object) for item in value.items)
    return isinstance(value, Object)


def _insert(found: list[Any], value: Any) -> None:
    """Put an argument in front of those whose class it derives from; one of each class."""
    if any(v.cls is value.cls for v in found):
        return
    before = [i for i, v in enumerate(found) if issubclass(value.cls, v.cls)]
    found.insert(before[0] if before else len(found), value)


# Methods and fields of tensors that cannot be overridden.
_NEVER = frozenset(
    ("as_subclass", "__class__", "__dict__", "__torch_function__", "__hash__", "_make_subclass")
)


@functools.cache
def _overridable() -> Any:
    return torch.overrides.get_testing_overrides()


def _is_operation(real: object) -> bool:
    """Whether torch calls `__torch_function__` when this is called."""
    if isinstance(real, _OPERATORS):
        return True
    if getattr(real, "__objclass__", None) is object:
        return False  # what tensors inherit from object does not ask their classes
    try:
        if real in _overridable():
            return True
    except TypeError:
        return False
    home = getattr(real, "__module__", None) or ""
    if isinstance(real, types.FunctionType) and not home.startswith("torch"):
        return False
    verdict = rules.lookup(real)
    return verdict.kind is rules.IN_GRAPH and "torch_function" not in getattr(real, "__name__", "")


def _real(func: Any) -> Any:
    try:
        return func.real()
    except LookupError:
        return None


def _names(operands: Any) -> str:
    return ", ".join(o.describe() for o in operands)


# ---- handlers


@handles(OWN_FUNCTION)
def _own_function(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    names = ("cls", "func", "types", "args", "kwargs")
    given = dict(zip(names, args)) | dict(kwargs)
    if not isinstance(given.get("cls"), Class) or "types" not in given:
        raise Break(calls.C_FUNCTION, function="__torch_function__")
    named = given.get("kwargs")
    if named is None or named.is_constant():
        pairs = {}
    else:
        pairs = {abstract.constant_value(trace, k): v for k, v in abstract.dict_pairs(trace, named)}
    rest = abstract.unpack(trace, given["args"]) if "args" in given else []
    return own_function(trace, given["cls"], given["func"], given["types"], list(rest), pairs)


@handles(DISABLED)
def _disabled_function(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """(cls or self, func, types, args, kwargs): the operation itself."""
    if args and isinstance(args[0], Class) and issubclass(args[0].value, torch.Tensor):
        args = args[1:]
    func = args[0]
    rest = list(abstract.unpack(trace, args[2])) if len(args) > 2 else []
    pairs = {}
    if len(args) > 3 and not args[3].is_constant():
        pairs = {
            abstract.constant_value(trace, k): v for k, v in abstract.dict_pairs(trace, args[3])
        }
    return with_functions(trace, False, lambda: abstract.tail_call(trace, func, rest, pairs))


@handles("has_torch_function")
def _has_torch_function(
    trace: Trace, target: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    values = args
    if target.__name__ == "_has_torch_function":
        values = abstract.unpack(trace, args[0])
    found = overloaded(trace, values, False)
    if found:
        guard_functions(trace)
    return Constant(modes_see(trace) or (bool(found) and trace.modes.functions_on))


@handles(torch.overrides.handle_torch_function)
def _handle(trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """handle_torch_function(function, relevant arguments, *args, **kwargs)"""
    found = overloaded(trace, abstract.unpack(trace, args[1]), False)
    return call_torch_function(trace, args[0], found, list(args[2:]), kwargs, False)


_FIELD_ACCESS: dict[Any, Any] = {}


class FieldAccess(Builtin):
    """`Tensor.shape.__get__`: equal to others that do the same, and identical to none."""

    __slots__ = ()

    def identity(self) -> Hashable:
        return Identity(self)

    def hash_key(self, trace: Trace) -> Hashable:
        return RealIdentity(self.value)


@method(FieldAccess, "__eq__")
def field_access_eq(self: FieldAccess, trace: Trace, other: Value) -> Value:
    return Constant(isinstance(other, FieldAccess) and other.value is self.value)


@method(FieldAccess, "__ne__")
def field_access_ne(self: FieldAccess, trace: Trace, other: Value) -> Value:
    return Constant(not (isinstance(other, FieldAccess) and other.value is self.value))


@wraps(types.MethodWrapperType)
def _wrap_field_access(trace: Trace, value: Any, source: Source | None) -> Value:
    """`Tensor.shape.__get__` and its like are made anew each time, and compare by what they do."""
    known = isinstance(value.__self__, _GETSET)
    if source is not None and not known and is_bound(value) and model_of(value) is None:
        return bound_builtin(trace, value, source)
    if source is not None:
        trace.guards.add(source, "type", type(value))
        trace.guards.add(source, "truth", Equals(value))
    if known:
        value = _FIELD_ACCESS.setdefault(value, value)
        return FieldAccess(value, abstract.pinned(trace, value))
    return Builtin(value, abstract.pinned(trace, value))


@wraps(Switch)
def _wrap_switch(trace: Trace, value: object, source: Source | None) -> Value:
    """One that the program holds: if it is entered, what it goes back to is known."""
    source = source if source is not None else abstract.pinned(trace, value)
    trace.guards.add(source, "type", Switch)
    if trace.modes.functions_at_start:
        return FunctionSwitch(source)
    before = state_behind(value)
    trace.guards.add(source.call(state_behind), "equals", before)
    return FunctionSwitch(source, before)
