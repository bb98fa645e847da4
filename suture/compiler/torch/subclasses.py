"""Subclasses of torch.Tensor, and objects that take part in torch's operations.

A subclass without a `__torch_dispatch__` is a plain tensor in the graph: the variant hands the
tensor behind it to the graph, and results get its class, as torch.Tensor's `__torch_function__`
gives it to them. A `__torch_function__` of its own is traced (calls/tensor_classes/overrides.py).
"""

from __future__ import annotations

import functools
import types
from typing import Any

import torch

from suture.breaks import Break, subclasses, tensors
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.language.attributes import MISSING, is_data_descriptor
from suture.compiler.language.class_lookup import class_source
from suture.compiler.language.operators import BINARY, COMPARE, IN_PLACE, UNARY
from suture.compiler.models import handles
from suture.compiler.objects import Class, List, Object, Tensor, Tuple
from suture.compiler.objects.sequence import is_list_or_tuple
from suture.compiler.objects.tensor import known_tensor
from suture.compiler.torch.function_modes import mode_operator
from suture.torch_private import tensor_parts

PLAIN = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)
OWN_FUNCTION = vars(torch.Tensor)["__torch_function__"].__func__
DISABLED = tensor_parts.disabled_torch_function
# Special methods that do not change what operations do, or that are looked for where they matter.
_HARMLESS = frozenset(
    {"__module__", "__doc__", "__dict__", "__weakref__", "__annotations__", "__qualname__"}
    | {"__init__", "__new__", "__repr__", "__str__", "__format__", "__firstlineno__"}
    | {"__static_attributes__", "__reduce_ex__", "__deepcopy__", "__init_subclass__"}
    | {name for pair in BINARY.values() for name in pair}
    | {name for row in COMPARE.values() for name in row[1:]}
    | {f"__i{name.strip('_')}__" for name in BINARY}
    | {"__torch_function__", "__len__", "__getitem__", "__setitem__", "__contains__", "__iter__"}
    | {"__bool__", "__call__", "__slots__", "__orig_bases__", "__parameters__", "__init_subclass__"}
    | {"__neg__", "__pos__", "__invert__", "__abs__", "__class_getitem__", "__match_args__"}
    | {"__int__", "__float__", "__index__", "__complex__", "__enter__", "__exit__", "__copy__"}
    | {"__setattr__", "__getattr__", "__array_priority__", "__tensor_flatten__"}
    | {"__tensor_unflatten__", "__type_params__", "__final__", "__slotnames__"}
)
_BINDABLE = (types.FunctionType, property, staticmethod, classmethod)


def is_subclass(kind: Any) -> bool:
    """Whether tensors of that class are plain tensors that only carry another class."""
    if kind in PLAIN:
        return False
    if issubclass(kind, torch.nn.Parameter) and kind.__torch_function__ is DISABLED:
        return False
    plain = kind.__torch_dispatch__ is torch.Tensor.__torch_dispatch__
    return plain and _HARMLESS.issuperset(_special_names(kind))


def _special_names(kind: type) -> list[str]:
    """The special methods that a subclass defines itself."""
    bases = kind.__mro__[: kind.__mro__.index(torch.Tensor)]
    return [n for b in bases for n in b.__dict__ if n.startswith("__") and n.endswith("__")]


def plain_tensor(value: torch.Tensor) -> torch.Tensor:
    """The plain tensor behind one of a subclass: the same memory, the same history."""
    with tensor_parts.DisableTorchFunctionSubclass():
        return value.as_subclass(torch.Tensor)


def plain_example(value: torch.Tensor) -> torch.Tensor:
    """A plain tensor with the same memory, and with a history like that of the other: tracing
    leaves no trace in the autograd graph of the program."""
    with tensor_parts.DisableTorchFunctionSubclass():
        made = value.detach().as_subclass(torch.Tensor).requires_grad_(value.requires_grad)
        return made if value.is_leaf else made.view_as(made)


def defined_in(kind: type, name: str) -> Any:
    """What a subclass itself says about `name`, before torch.Tensor is looked at; or MISSING."""
    for base in kind.__mro__:
        if base is torch.Tensor:
            break
        if name in base.__dict__:
            return base.__dict__[name]
    return MISSING


def put_by_program(trace: Trace, tensor: Tensor, name: str) -> Value | None:
    """The function that the program has set in torch.Tensor under a name; None if it has not, or if
    the tensor's class has its own. What the class has there is guarded."""
    raw = abstract.type_lookup(trace, tensor.cls, name)
    if type(raw) is not types.FunctionType or defined_in(tensor.cls, name) is raw:
        return None
    if (raw.__module__ or "").partition(".")[0] == "torch":
        return None
    return abstract.wrap(trace, raw, None)


def has_own(trace: Trace, tensor: Tensor, method: str) -> bool:
    """Whether a special method is not torch's: the class has it, or the program has set it."""
    own = defined_in(tensor.cls, method) is not MISSING
    return own or put_by_program(trace, tensor, method) is not None


def subclass_attribute(trace: Trace, tensor: Tensor, name: str) -> Value | None:
    """An attribute that the subclass defines; None if it leaves it to torch.Tensor."""
    raw = defined_in(tensor.cls, name)
    abstract.type_lookup(trace, tensor.cls, name)
    if name in ("__module__", "__doc__", "__dict__", "__class__"):
        return None
    if not is_data_descriptor(raw if raw is not MISSING else getattr(torch.Tensor, name, None)):
        held = held_attribute(trace, tensor, name)
        if held is not None:
            return held
    if raw is MISSING:
        return None
    if isinstance(raw, types.MemberDescriptorType):
        return abstract.slot_attribute(trace, tensor, name)
    if isinstance(raw, _BINDABLE):
        return abstract.bind(trace, raw, tensor, tensor.cls, name)
    if not hasattr(type(raw), "__get__"):
        return abstract.wrap(trace, raw, class_source(trace, tensor.cls, name, raw))
    if isinstance(raw, type):
        return abstract.wrap(trace, raw, None)
    kind = tensor.cls.__name__
    if hasattr(torch.Tensor, name):
        raise Break(subclasses.OVERRIDDEN_ATTRIBUTE, subclass=kind, attribute=name)
    raise Break(subclasses.SUBCLASS_ATTRIBUTE, subclass=kind, attribute=name)


def held_attribute(trace: Trace, tensor: Tensor, name: str) -> Value | None:
    """What the tensor's own dict has under `name`; None if nothing."""
    if tensor.example is None:
        return None
    table = tensor.known_source.instance_dict()
    held = tensor.example.__dict__
    if name in held:
        return abstract.wrap(trace, held[name], table.item(name))
    trace.guards.add(table, "no_key", name)
    return None


@implements(abstract.set_in_class)
def set_in_class(trace: Trace, tensor: Tensor, name: str, value: Any) -> bool:
    raw = abstract.type_lookup(trace, tensor.cls, name)
    kind = tensor.cls.__name__
    if defined_in(tensor.cls, "__setattr__") is not MISSING:
        raise Break(subclasses.OVERRIDDEN_METHOD, subclass=kind, method="__setattr__")
    plain = isinstance(raw, types.MemberDescriptorType) or not is_data_descriptor(raw)
    if defined_in(tensor.cls, name) is MISSING or plain:
        return False
    if type(raw) is not property or raw.fset is None:
        raise Break(subclasses.OVERRIDDEN_ATTRIBUTE, subclass=kind, attribute=name)
    abstract.call(trace, abstract.wrap(trace, raw.fset, None), [tensor, value], {})
    return True


def with_class(trace: Trace, made: Value, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """The result of an operation, as the class that its arguments give it."""
    kind = _class_of([*args, *kwargs.values()])
    if kind is not None:
        abstract.guard_functions(trace)
        if trace.modes.functions_on:
            return as_class(trace, made, kind, [*args, *kwargs.values()])
    return made


def as_class(trace: Trace, made: Value, kind: type, given: list[Any]) -> Value:
    """A result as torch.Tensor's `__torch_function__` gives it back: its tensors, in tuples and
    lists too, of that class. An argument that comes back is seen anew."""
    if isinstance(made, Tensor):
        if kind is torch.Tensor or issubclass(made.cls, kind):
            return made
        if not is_subclass(kind):
            raise Break(subclasses.AS_SUBCLASS, subclass=kind.__name__)
        if made.source is not None or any(made is g for g in given):
            return seen_as(trace, made, kind)
        abstract.meet_subclass(trace, kind)
        made.cls = kind
        return made
    if is_list_or_tuple(made):
        for i, item in enumerate(made.unpacked(trace)):
            made.items[i] = as_class(trace, item, kind, given)
    elif isinstance(made, Object) and made.storage is not None:
        as_class(trace, made.storage, kind, given)
    return made


def seen_as(trace: Trace, tensor: Tensor, kind: type) -> Tensor:
    """The tensor once more, as another class: the same memory, the same history."""
    made = known_tensor(
        abstract.with_functions(
            trace,
            False,
            lambda: abstract.call_torch(trace, torch.ops.aten.alias.default, [tensor], {}),
        )
    )
    made.cls = kind
    abstract.meet_subclass(trace, kind)
    return made


@implements(abstract.own_operator)
def own_operator(trace: Trace, name: str, *operands: Any) -> Value | None:
    if any(isinstance(v, Tensor) and _is_put_by_program(trace, v, name) for v in operands):
        return abstract.special_methods(trace, name, *operands)
    if not trace.modes.overridable_seen:
        some = any(type(v) is Object for v in operands)
        return _object_operator(trace, name, operands) if some else None
    if not any(_carries_class(v) for v in operands):
        seen = mode_operator(trace, name, *operands)
        return seen if seen is not None else _object_operator(trace, name, operands)
    names = _methods_of(name)
    for value in operands:
        if _carries_class(value):
            for method_name in names:
                abstract.type_lookup(trace, value.cls, method_name)
    if any(_carries_class(v) and defines(v.cls, names) for v in operands):
        return abstract.special_methods(trace, name, *operands)
    return abstract.operator_override(trace, name, *operands)


def _is_put_by_program(trace: Trace, tensor: Tensor, name: str) -> bool:
    """Whether the program has set one of an operator's methods in torch.Tensor."""
    plain, asked = trace.outside.plain_operators, (tensor.cls, name)
    if asked in plain:
        return False
    if any(put_by_program(trace, tensor, m) is not None for m in _methods_of(name)):
        return True
    plain.add(asked)
    return False


def _object_operator(trace: Trace, name: str, operands: Any) -> Value | None:
    """An operator on a tensor and an object with a `__torch_function__`, which the tensor
    calls unless the object comes before it."""
    if not any(type(v) is Tensor for v in operands):
        return None
    for value in operands:
        if type(value) is Object and hasattr(value.cls, "__torch_function__"):
            methods = _methods_of(name)
            own = type(operands[0]) is Object and hasattr(value.cls, methods[0])
            return None if own else abstract.operator_override(trace, name, *operands)
    return None


def _carries_class(value: object) -> bool:
    return isinstance(value, Tensor) and value.cls not in PLAIN


def defines(kind: type, names: Any) -> bool:
    """Whether a class of tensors defines one of these methods itself."""
    return any(defined_in(kind, name) is not MISSING for name in names)


@functools.cache
def _methods_of(name: str) -> tuple[str, ...]:
    """The special methods that a function of the operator module calls."""
    plain = name.rstrip("_")
    if name in UNARY:
        return (UNARY[name],)
    for _, forward, backward in COMPARE.values():
        if forward == f"__{plain}__":
            return (forward, backward)
    base = IN_PLACE.get(name, name)
    return (*BINARY[base], f"__{plain}__")


def _gives_class(kind: type) -> bool:
    """Whether results of operations on tensors of that class, which is a derived one, get it from
    torch.Tensor."""
    own = getattr(getattr(kind, "__torch_function__", None), "__func__", None) is OWN_FUNCTION
    return own and is_subclass(kind)


def _class_of(values: list[Any]) -> type | None:
    """The class that operations on these values give, if not torch.Tensor."""
    found: type | None = None
    for value in values:
        if is_list_or_tuple(value):
            kind = _class_of([v for v in value.items if isinstance(v, (Tensor, List, Tuple))])
        else:
            kind = value.cls if isinstance(value, Tensor) and value.cls not in PLAIN else None
            kind = kind if kind is not None and _gives_class(kind) else None
        if kind is None or found is kind:
            continue
        if found is None or issubclass(kind, found):
            found = kind
        elif not issubclass(found, kind):
            raise Break(tensors.SUBCLASS, tensor=f"a {found.__name__}", subclass=kind.__name__)
    return found


@handles("Tensor.as_subclass")
def _as_subclass(
    trace: Trace, tensor: Tensor, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    kind = args[0].value if len(args) == 1 and isinstance(args[0], Class) else None
    if kind is None or not (kind is torch.Tensor or is_subclass(kind)):
        name = kind.__name__ if kind is not None else "?"
        raise Break(subclasses.AS_SUBCLASS, subclass=name)
    return seen_as(trace, tensor, kind)
