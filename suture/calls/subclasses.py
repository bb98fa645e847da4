"""Subclasses of torch.Tensor, and objects that take part in torch's operations.

A subclass that leaves operations to torch (its `__torch_function__` is torch.Tensor's own, and it
has no `__torch_dispatch__`) is a plain tensor in the graph: the variant hands the tensor behind it
to the graph, and results get its class. Other subclasses are left to Python.
"""

from __future__ import annotations

import types
from typing import Any

import torch

from suture.breaks import Break, subclasses, tensors
from suture.calls.attributes import MISSING
from suture.calls.operators import BINARY, COMPARE
from suture.calls.part import Part
from suture.calls.tensor_methods import method
from suture.variables import Class, Constant, Dict, List, Object, Tensor, Tuple, is_literal

PLAIN = (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer)
_OWN_FUNCTION = torch.Tensor.__torch_function__.__func__
# Special methods that do not change what operations do, or that are looked for where they matter.
_HARMLESS = frozenset(
    {"__module__", "__doc__", "__dict__", "__weakref__", "__annotations__", "__qualname__"}
    | {"__init__", "__new__", "__repr__", "__str__", "__format__", "__firstlineno__"}
    | {"__static_attributes__", "__reduce_ex__", "__deepcopy__", "__init_subclass__"}
    | {name for pair in BINARY.values() for name in pair}
    | {name for row in COMPARE.values() for name in row[1:]}
    | {f"__i{name.strip('_')}__" for name in BINARY}
)
_BINDABLE = (types.FunctionType, property, staticmethod, classmethod)


def is_subclass(kind: Any) -> bool:
    """Whether tensors of that class are plain tensors that only carry another class."""
    if kind in PLAIN or issubclass(kind, torch.nn.Parameter):
        return False
    own = getattr(kind.__torch_function__, "__func__", None) is _OWN_FUNCTION
    plain = own and kind.__torch_dispatch__ is torch.Tensor.__torch_dispatch__
    return plain and _HARMLESS.issuperset(_special_names(kind))


def _special_names(kind: type) -> list[str]:
    """The special methods that a subclass defines itself."""
    bases = kind.__mro__[: kind.__mro__.index(torch.Tensor)]
    return [n for b in bases for n in b.__dict__ if n.startswith("__") and n.endswith("__")]


def plain_tensor(value: torch.Tensor) -> torch.Tensor:
    """The plain tensor behind one of a subclass: the same memory, the same history."""
    with torch._C.DisableTorchFunctionSubclass():
        return value.as_subclass(torch.Tensor)


def defined_in(kind: type, name: str) -> Any:
    """What a subclass itself says about `name`, before torch.Tensor is asked; or MISSING."""
    for base in kind.__mro__:
        if base is torch.Tensor:
            break
        if name in base.__dict__:
            return base.__dict__[name]
    return MISSING


class Subclasses(Part):
    """The part of the tracer that knows classes of tensors."""

    def subclass_attribute(self, tensor: Tensor, name: str) -> Any:
        """An attribute that the subclass defines; None if it leaves it to torch.Tensor."""
        raw = defined_in(tensor.cls, name)
        self.type_lookup(tensor.cls, name)
        if raw is MISSING or name in ("__module__", "__doc__", "__dict__"):
            return None
        if isinstance(raw, _BINDABLE):
            return self.bind(raw, tensor, tensor.cls, name)
        if is_literal(raw):
            return Constant(raw)
        kind = tensor.cls.__name__
        if hasattr(torch.Tensor, name):
            raise Break(subclasses.OVERRIDDEN_ATTRIBUTE, subclass=kind, attribute=name)
        raise Break(subclasses.SUBCLASS_ATTRIBUTE, subclass=kind, attribute=name)

    def with_class(self, made: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """The result of an operation, as the class that its arguments ask for."""
        kind = _class_of([*args, *kwargs.values()])
        if kind is not None:
            _give_class(made, kind, [*args, *kwargs.values()])
        return made

    def refuse_overridden(self, methods: Any, *operands: Any) -> None:
        """Operators that a subclass defines itself are left to Python."""
        for side in operands:
            if isinstance(side, Tensor) and side.cls not in PLAIN:
                for name in methods:
                    if defined_in(side.cls, name) is not MISSING:
                        kind = side.cls.__name__
                        raise Break(subclasses.OVERRIDDEN_METHOD, subclass=kind, method=name)

    def refuse_binary(self, name: str, left: Any, right: Any) -> None:
        if not (_carries_class(left) or _carries_class(right)):
            return
        plain = name if name in BINARY else name.removeprefix("i")
        known = BINARY.get(plain) or BINARY.get(plain + "_") or ()
        self.refuse_overridden((*known, f"__{name.rstrip('_')}__"), left, right)

    def refuse_compare(self, symbol: str, left: Any, right: Any) -> None:
        if _carries_class(left) or _carries_class(right):
            self.refuse_overridden(COMPARE[symbol][1:], left, right)

    def torch_function(self, real: Any, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Ask an argument that defines `__torch_function__`; None if there is none, or it does not
        know the operation."""
        for value in (*args, *kwargs.values()):
            if isinstance(value, Object) and not issubclass(value.cls, torch.nn.Module):
                raw = self.type_lookup(value.cls, "__torch_function__")
                if isinstance(raw, classmethod):
                    bound = self.finish(self.bind(raw, value, value.cls, "__torch_function__"))
                    kinds = Tuple([self.wrap(value.cls, None)])
                    named = Dict({k: (Constant(k), v) for k, v in kwargs.items()})
                    given = [fn, kinds, Tuple(list(args)), named]
                    result = self.call(bound, given, {})
                    known = not (result.is_constant() and result.constant() is NotImplemented)
                    return result if known else None
        return None


def _carries_class(value: Any) -> bool:
    return isinstance(value, Tensor) and value.cls not in PLAIN


def _class_of(values: list[Any]) -> type | None:
    """The class that operations on these values give, if not torch.Tensor."""
    found: type | None = None
    for value in values:
        if type(value) in (List, Tuple):
            kind = _class_of([v for v in value.items if isinstance(v, (Tensor, List, Tuple))])
        else:
            kind = value.cls if isinstance(value, Tensor) and is_subclass(value.cls) else None
        if kind is None or found is kind:
            continue
        if found is None or issubclass(kind, found):
            found = kind
        elif not issubclass(found, kind):
            raise Break(tensors.SUBCLASS, tensor=f"a {found.__name__}", subclass=kind.__name__)
    return found


def _give_class(made: Any, kind: type, given: list[Any]) -> None:
    if isinstance(made, Tensor):
        if made.source is None and not any(made is g for g in given):
            made.cls = kind
    elif type(made) in (List, Tuple):
        for item in made.items:
            _give_class(item, kind, given)
    elif isinstance(made, Object) and made.storage is not None:
        _give_class(made.storage, kind, given)


@method("as_subclass")
def _as_subclass(tx: Any, tensor: Tensor, args: Any, kwargs: Any) -> Any:
    kind = args[0].value if len(args) == 1 and isinstance(args[0], Class) else None
    if kind is None or not (kind is torch.Tensor or is_subclass(kind)):
        name = kind.__name__ if kind is not None else "?"
        raise Break(subclasses.AS_SUBCLASS, subclass=name)
    made = tx.call_torch(torch.ops.aten.alias.default, [tensor], {})
    made.cls = kind
    return made
