"""`__torch_function__`: operations that classes of tensors, and other objects, take over.

An operation asks each of its arguments whose class has a `__torch_function__` of its own, in
torch's order; what that does is traced like any other function. Inside of it, with the switch
off, the same operation is a node of the graph. Classes that leave torch.Tensor's own in place are
not asked: their results get their class (calls/tensor_classes/subclasses.py).
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable
from typing import Any

import torch
import torch.overrides

from suture import rules
from suture.breaks import Break, calls, objects, tensors
from suture.calls.language.operators import BINARY, COMPARE, IN_PLACE, UNARY
from suture.calls.objects.attributes import MISSING
from suture.calls.outside.wrapping import Equals, wraps
from suture.calls.part import Part
from suture.calls.table import handles, special
from suture.calls.tensor_classes.subclasses import DISABLED, OWN_FUNCTION, PLAIN, defined_in
from suture.calls.tensor_classes.wrappers import asked_by_graphs
from suture.torch_private import operators, tensor_parts, thread_state
from suture.variables import Builtin, Class, Constant, Dict, Function, List, Object, Tensor, Tuple
from suture.variables.base import Identity
from suture.variables.held import RealIdentity
from suture.variables.switches import FunctionSwitch, Switch, leave, state_behind

_OPERATORS = (operators.OpOverload,)
_GETSET = types.GetSetDescriptorType


def is_overloaded(kind: type) -> bool:
    """Whether torch asks objects of that class before it does an operation."""
    found = getattr(kind, "__torch_function__", DISABLED)
    return kind not in PLAIN and found is not DISABLED


def torch_functions_on() -> bool:
    """Whether operations ask `__torch_function__` now."""
    return bool(thread_state.is_torch_function_enabled())


def is_custom(kind: type) -> bool:
    """Whether such a class has more to say than torch.Tensor's own answer, and it is traced."""
    own = getattr(kind.__torch_function__, "__func__", None) is OWN_FUNCTION  # type: ignore[attr-defined]
    return not own and not asked_by_graphs(kind)


class Overrides(Part):
    """The part of the tracer that asks `__torch_function__`. `asks` says whether a tensor was seen
    that may be asked; `functions_on` whether operations ask at all."""

    asks: bool
    functions_on: bool

    def overloaded(self, values: Any, lists: bool = True) -> list[Any]:
        """Those of an operation's arguments that torch asks, one of each class, in its order."""
        found: list[Any] = []
        for value in values:
            if isinstance(value, Tensor):
                if value.cls not in PLAIN and is_overloaded(value.cls):
                    _insert(found, value)
            elif type(value) in (List, Tuple):
                if lists and (self.asks or _holds_objects(value)):
                    for item in self.overloaded(value.items, False):
                        _insert(found, item)
            elif isinstance(value, Object) and is_overloaded(value.cls):
                if not issubclass(value.cls, torch.nn.Module):
                    _insert(found, value)
        return found

    def asked_first(self, args: Any, kwargs: Any) -> list[Any]:
        """The same if one of them has an answer of its own and torch asks now; else nothing."""
        found = self.overloaded((*args, *kwargs.values()))
        if not found:
            return found
        self.guard_functions()
        if not self.functions_on or not any(is_custom(v.cls) for v in found):
            return []
        return found

    def guard_functions(self) -> None:
        """Require that torch asks at the start of the region as it does now."""
        reader = thread_state.is_torch_function_enabled
        self.guards.add(None, "torch_state", (reader, self.functions_at_start, reader.__name__))

    def ask(self, func: Any, found: list[Any], args: list[Any], kwargs: Any, plain: bool) -> Any:
        """What the first says that has an answer. `plain`: as C asks, which leaves out empty
        keyword arguments."""
        kinds = Tuple([self.wrap(v.cls, None) for v in found])
        given = [func, kinds, Tuple(list(args))]
        if kwargs or not plain:
            given.append(Dict({k: (Constant(k), v) for k, v in kwargs.items()}))
        if self.modes_see(_real(func)):
            return self.ask_mode(func, kinds, args, kwargs, plain)
        for value in found:
            raw = self.type_lookup(value.cls, "__torch_function__")
            bound = self.finish(self.bind(raw, value, value.cls, "__torch_function__"))
            result = self.call(bound, given, {})
            if not (result.is_constant() and result.constant() is NotImplemented):
                return result
        names = ", ".join(v.cls.__name__ for v in found)
        raise Break(tensors.SUBCLASS, tensor=f"an argument of {func.describe()}", subclass=names)

    def meet_subclass(self, kind: type | None = None) -> None:
        """A tensor was met whose class may take part in operations. What the tracer itself reads of
        it, and does with fake tensors, asks nobody."""
        if kind is not None:
            self.type_lookup(kind, "__torch_function__")  # how it takes part is guarded
        if self.asks:
            return
        self.asks = True
        switch = Switch()
        switch.__enter__()
        self.restores.append(functools.partial(leave, switch))

    def refuse_in_graph(self, real: Any, args: list[Any], kwargs: Any) -> None:
        """A function of the program that is a node sees plain tensors when the graph runs: those
        of a class that has a say in operations are not given to it."""
        if not isinstance(real, types.FunctionType) or real.__module__.startswith("torch."):
            return
        for value in self.asked_first(args, kwargs):
            if isinstance(value, Tensor) and type(value.value) is not value.cls:
                kind = value.cls.__name__
                raise Break(tensors.SUBCLASS, tensor=value.describe(), subclass=kind)

    # ---- the ways into an operation

    def call_override(self, real: Any, fn: Any, args: list[Any], kwargs: Any) -> Any:
        """A call of a torch function that an argument takes over; None if none does."""
        if not (self.asks or any(_may_be_asked(a) for a in args)):
            return None
        if isinstance(real, types.MethodWrapperType):
            return self._call_field(real, args)
        if not _is_operation(real):
            return None
        found = self.asked_first(args, kwargs)
        if not found and not self.modes_see(real):
            return None
        if isinstance(real, types.FunctionType):
            return self.inline(fn, args, kwargs)  # it asks itself
        return self.ask(fn, found, args, kwargs, True)

    def _call_field(self, real: Any, args: list[Any]) -> Any:
        """`torch.Tensor.shape.__get__(x)`."""
        field = real.__self__
        if not isinstance(field, _GETSET) or not args or not isinstance(args[0], Tensor):
            return None
        if real.__name__ == "__get__":
            return self.torch_attribute(args[0], field.__name__)
        if real.__name__ == "__set__" and len(args) == 2:
            self.tensor_set_attribute(args[0], field.__name__, args[1])
            return Constant(None)
        return None

    def method_override(self, tensor: Tensor, name: str, args: list[Any], kwargs: Any) -> Any:
        """A method of a tensor that an argument takes over; None if none does."""
        method = getattr(torch.Tensor, name, None)
        if method is None or name in _NEVER:
            return None
        found = self.asked_first([tensor, *args], kwargs)
        if not found and not self.modes_see():
            return None
        if isinstance(method, types.FunctionType):
            return self.inline(Function(method, self.pinned(method)), [tensor, *args], kwargs)
        if not _is_operation(method):
            return None
        return self.ask(self.wrap(method, None), found, [tensor, *args], kwargs, True)

    def field_override(self, tensor: Tensor, name: str, *value: Any) -> Any:
        """Reading (or, with a value, setting) a field that torch.Tensor has, where the class of
        the tensor takes it over; None if not."""
        field = getattr(torch.Tensor, name, None)
        if not isinstance(field, _GETSET) or name in _NEVER:
            return None
        found = self.asked_first([tensor], {})
        if not found and not self.modes_see():
            return None
        func = field.__set__ if value else field.__get__
        return self.ask(self.wrap(func, None), found, [tensor, *value], {}, True)

    def operator_override(self, name: str, *operands: Any) -> Any:
        """An operator that an operand takes over; None if none does. The operator itself tells,
        on a tensor that only listens, which function it asks with."""
        found = self.asked_first(operands, {})
        if not found:
            return self.mode_operator(name, *operands)
        marks = "".join(_mark(v) for v in operands)
        heard = _heard(name, marks)
        if heard is None:
            names = ", ".join(v.cls.__name__ for v in found)
            raise Break(tensors.SUBCLASS, tensor=f"an operand of {name}", subclass=names)
        func, order, plain = heard
        return self.ask(self.wrap(func, None), found, [operands[i] for i in order], {}, plain)

    def special_override(self, tensor: Any, method: str, args: list[Any]) -> Any:
        """A special method (`__len__`, `__getitem__`) that the class of a tensor defines, or that
        `__torch_function__` takes over; None if neither."""
        if not isinstance(tensor, Tensor) or (tensor.cls in PLAIN and not self.modes_see()):
            return None
        if tensor.cls not in PLAIN:
            self.type_lookup(tensor.cls, method)
        if defined_in(tensor.cls, method) is not MISSING:
            return self.finish(self.call_type_method(tensor, method, args, {}))
        return self.finish(self.method_override(tensor, method, args, {}))

    def special_methods(self, name: str, *operands: Any) -> Any:
        """An operator as Python does it, where the class of a tensor defines it itself."""
        for obj, method, other in self._order_of(name, operands):
            if isinstance(obj, Tensor) and defined_in(obj.cls, method) is MISSING:
                if method.startswith("__i") and name in IN_PLACE and obj.cls not in PLAIN:
                    continue  # the class has the operator, though not in place
                return self._torch_operator(name, operands)
            if isinstance(obj, Tensor):
                result = self.finish(self.call_type_method(obj, method, other, {}))
                if not (result.is_constant() and result.constant() is NotImplemented):
                    return result
            elif other:
                done = self.special_method(obj, method, other[0])
                if done is not None:
                    return done
        raise Break(objects.UNKNOWN_OPERATOR, operator=name, operands=_names(operands))

    def _order_of(self, name: str, operands: Any) -> list[tuple[Any, str, list[Any]]]:
        """(object, method, other operands) in the order in which Python asks."""
        if name in UNARY:
            return [(operands[0], UNARY[name], [])]
        left, right = operands
        pairs = {row[0].__name__: row[1:] for row in COMPARE.values()}
        forward, backward = pairs.get(name) or BINARY[IN_PLACE.get(name, name)]
        kinds = left.python_type(), right.python_type()
        order = [(left, forward, [right]), (right, backward, [left])]
        if kinds[0] is not kinds[1] and issubclass(kinds[1], kinds[0]):
            if name in pairs or self._overrides(kinds, backward):
                order.reverse()
        if name in IN_PLACE:
            order.insert(0, (left, f"__{name}__", [right]))
        return order

    def _torch_operator(self, name: str, operands: Any) -> Any:
        asked = self.operator_override(name, *operands)
        if asked is not None:
            return asked
        return self.call_torch(_operator(name), list(operands), {})

    def base_method(self, tensor: Tensor, name: str, args: list[Any], kwargs: Any) -> Any:
        """`super().name(...)`: the method that torch's C class has."""
        found = self.asked_first([tensor, *args], kwargs) if self.asks else []
        if not found:
            return self.add_node("call_method", name, [tensor, *args], kwargs)
        func = getattr(tensor_parts.TensorBase, name)
        heard = _heard("." + name, "".join(_mark(v) for v in (tensor, *args)))
        if heard is not None and name.startswith("__") and not kwargs:
            func = heard[0]
        return self.ask(self.wrap(func, None), found, [tensor, *args], kwargs, True)

    # ---- torch.Tensor's own answer

    def with_functions(self, on: bool, call: Callable[[], Any]) -> Any:
        """The result of `call`, with the switch so."""
        before, self.functions_on = self.functions_on, on
        try:
            return self.finish(call())
        finally:
            self.functions_on = before

    def own_function(self, cls: Any, func: Any, kinds: Any, args: list[Any], kwargs: Any) -> Any:
        """torch.Tensor.__torch_function__: the operation itself, its tensors as `cls`."""
        if not all(issubclass(cls.value, k.value) for k in self.unpack(kinds)):
            return Constant(NotImplemented)
        made = self.with_functions(False, lambda: self.tail_call(func, args, kwargs))
        if _real(func) in torch.overrides.get_default_nowrap_functions():
            return made
        return self.with_functions(False, lambda: self.as_class(made, cls.value, args))


def _may_be_asked(value: Any) -> bool:
    return isinstance(value, Object) or (type(value) in (List, Tuple) and _holds_objects(value))


def _holds_objects(value: Any) -> bool:
    return any(isinstance(item, Object) for item in value.items)


def _insert(found: list[Any], value: Any) -> None:
    """Put an argument in front of those whose class it derives from; one of each class."""
    if any(v.cls is value.cls for v in found):
        return
    before = [i for i, v in enumerate(found) if issubclass(value.cls, v.cls)]
    found.insert(before[0] if before else len(found), value)


# Methods and fields of tensors that ask nobody.
_NEVER = frozenset(
    ("as_subclass", "__class__", "__dict__", "__torch_function__", "__hash__", "_make_subclass")
)


@functools.cache
def _overridable() -> Any:
    return torch.overrides.get_testing_overrides()


def _is_operation(real: Any) -> bool:
    """Whether torch asks `__torch_function__` when this is called."""
    if isinstance(real, _OPERATORS):
        return True
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


# ---- which function an operator asks with


class _Listener(torch.Tensor):
    """A tensor that keeps what it was asked last."""

    heard: Any = None

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        _Listener.heard = (func, args, kwargs is None)
        return None


class _Duck:
    """An object that is no tensor and keeps what it was asked last."""

    __torch_function__ = _Listener.__torch_function__


_MAKERS: dict[str, Callable[[], Any]] = {
    "o": lambda: torch.zeros(()).as_subclass(_Listener),
    "t": lambda: torch.zeros(()),
    "d": _Duck,
    "n": lambda: 2,
}


def _mark(value: Any) -> str:
    if isinstance(value, Tensor):
        return "o" if value.cls not in PLAIN and is_overloaded(value.cls) else "t"
    return "d" if isinstance(value, Object) else "n"


@functools.cache
def _heard(name: str, marks: str) -> Any:
    """(function, order of the operands, whether C asks) for an operator on operands of these
    kinds; None if it asks nobody."""
    with tensor_parts.DisableTorchFunctionSubclass():
        operands = [_MAKERS[mark]() for mark in marks]
    _Listener.heard = None
    try:
        with tensor_parts.EnableTorchFunction():
            _operator(name)(*operands)
    except TypeError:
        return None
    finally:
        heard, _Listener.heard = _Listener.heard, None
    if heard is None:
        return None
    func, args, plain = heard
    order = [next((i for i, o in enumerate(operands) if o is a), -1) for a in args]
    return (func, order, plain) if -1 not in order else None


def _names(operands: Any) -> str:
    return ", ".join(o.describe() for o in operands)


def _operator(name: str) -> Any:
    if name.startswith("."):
        return getattr(tensor_parts.TensorBase, name[1:])
    return divmod if name == "divmod" else getattr(operator, name)


# ---- handlers


@handles(OWN_FUNCTION)
def _own_function(tx: Any, args: Any, kwargs: Any) -> Any:
    names = ("cls", "func", "types", "args", "kwargs")
    given = dict(zip(names, args)) | dict(kwargs)
    if not isinstance(given.get("cls"), Class) or "types" not in given:
        raise Break(calls.C_FUNCTION, function="__torch_function__")
    named = given.get("kwargs")
    if named is None or named.is_constant():
        pairs = {}
    else:
        pairs = {tx.constant_value(k): v for k, v in tx.dict_pairs(named)}
    rest = tx.unpack(given["args"]) if "args" in given else []
    return tx.own_function(given["cls"], given["func"], given["types"], list(rest), pairs)


@handles(DISABLED)
def _disabled_function(tx: Any, args: Any, kwargs: Any) -> Any:
    """(cls or self, func, types, args, kwargs): the operation itself."""
    if args and isinstance(args[0], Class) and issubclass(args[0].value, torch.Tensor):
        args = args[1:]
    func = args[0]
    rest = list(tx.unpack(args[2])) if len(args) > 2 else []
    pairs = {}
    if len(args) > 3 and not args[3].is_constant():
        pairs = {tx.constant_value(k): v for k, v in tx.dict_pairs(args[3])}
    return tx.with_functions(False, lambda: tx.tail_call(func, rest, pairs))


@special("has_torch_function")
def _has_torch_function(tx: Any, target: Any, args: Any, kwargs: Any) -> Any:
    values = args
    if target.__name__ == "_has_torch_function":
        values = tx.unpack(args[0])
    found = tx.overloaded(values, False)
    if found:
        tx.guard_functions()
    return Constant(tx.modes_see() or (bool(found) and tx.functions_on))


@handles(torch.overrides.handle_torch_function)
def _handle(tx: Any, args: Any, kwargs: Any) -> Any:
    """handle_torch_function(function, relevant arguments, *args, **kwargs)"""
    found = tx.overloaded(tx.unpack(args[1]), False)
    return tx.ask(args[0], found, list(args[2:]), kwargs, False)


_FIELD_ACCESS: dict[Any, Any] = {}


class FieldAccess(Builtin):
    """`Tensor.shape.__get__`: equal to others that do the same, and identical to none."""

    __slots__ = ()

    def identity(self) -> Any:
        return Identity(self)

    def hash_key(self, tx: Any) -> Any:
        return RealIdentity(self.value)

    def m___eq__(self, tx: Any, other: Any) -> Any:
        return Constant(isinstance(other, FieldAccess) and other.value is self.value)

    def m___ne__(self, tx: Any, other: Any) -> Any:
        return Constant(not (isinstance(other, FieldAccess) and other.value is self.value))


@wraps(types.MethodWrapperType)
def _wrap_field_access(tx: Any, value: Any, source: Any) -> Any:
    """`Tensor.shape.__get__` and its like are made anew each time, and compare by what they do."""
    if source is not None:
        tx.guards.add(source, "type", type(value))
        tx.guards.add(source, "truth", Equals(value))
    if isinstance(value.__self__, _GETSET):
        value = _FIELD_ACCESS.setdefault(value, value)
        return FieldAccess(value, tx.pinned(value))
    return Builtin(value, tx.pinned(value))


@wraps(Switch)
def _wrap_switch(tx: Any, value: Any, source: Any) -> Any:
    """One that the program holds: if it is entered, what it goes back to is known."""
    source = source if source is not None else tx.pinned(value)
    tx.guards.add(source, "type", Switch)
    if tx.functions_at_start:
        return FunctionSwitch(source)
    before = state_behind(value)
    tx.guards.add(source.call(state_behind), "equals", before)
    return FunctionSwitch(source, before)
