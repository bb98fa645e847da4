"""Wrapper subclasses: tensors with a `__torch_dispatch__` that say which tensors they are made of.

torch makes a fake one of fake inner tensors, so graphs hold them as they are; AOTAutograd takes
them apart. What an operation does with one, its `__torch_dispatch__` says, run on fake tensors as
any kernel is. Guards look at the inner tensors and at what the class says besides (its context).
"""

from __future__ import annotations

from typing import Any

import torch

from suture import _core
from suture.breaks import Break, subclasses, tensors
from suture.calls.attributes import MISSING
from suture.calls.part import Part
from suture.calls.subclasses import defined_in
from suture.graph._torch import is_traceable_wrapper_subclass
from suture.variables import Class, Tensor, is_literal

_HOW = ("__tensor_flatten__", "__tensor_unflatten__")


def is_wrapper_class(kind: type) -> bool:
    """Whether tensors of that class tell their inner tensors."""
    own = kind.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__  # type: ignore[attr-defined]
    return own and all(hasattr(kind, name) for name in _HOW)


class SameContext:
    """A predicate for guards: the class says the same of the tensor besides its inner ones."""

    __slots__ = ("__name__", "context", "names")

    def __init__(self, names: Any, context: Any) -> None:
        self.names = list(names)
        self.context = context
        self.__name__ = "same_context"

    def __call__(self, tensor: Any) -> bool:
        names, context = tensor.__tensor_flatten__()
        if list(names) != self.names:
            return False
        check = getattr(type(tensor), "__metadata_guard__", None)
        return bool(check(self.context, context) if check else self.context == context)


class Wrappers(Part):
    """The part of the tracer that holds wrapper subclasses."""

    def wrap_wrapper(self, value: torch.Tensor, source: Any) -> Tensor:
        """A wrapper from outside: one input of the graph."""
        self.meet_wrapper()
        self._refuse_inner(value, source)
        fake = self.fake_input(value, source, None)
        self._guard_wrapper(value, source)
        static = self.is_fixed(source) and self.stays(source, value)
        if static:
            self.guards.add(source, "is", value)
        node = self.graph.add_input(source, value, fake, static=static)
        return Tensor(node, fake, source, type(value), value)

    def meet_wrapper(self) -> None:
        """Operations on wrappers, while tracing and in the graph, ask no `__torch_function__`:
        that was traced."""
        self.meet_subclass()
        self.graph.quiet = True

    def _refuse_inner(self, value: Any, source: Any) -> None:
        for name in value.__tensor_flatten__()[0]:
            inner, place = getattr(value, name), source.attr(name)
            if is_traceable_wrapper_subclass(inner):
                self._refuse_inner(inner, place)
            else:
                self.refuse_tensor(inner, place, type(inner))

    def _guard_wrapper(self, value: Any, source: Any) -> None:
        self.guards.add(source, "tensor", _core.TensorSpec(value))
        names, context = value.__tensor_flatten__()
        self.guards.add(source, "truth", SameContext(names, context))
        for name in names:
            inner, place = getattr(value, name), source.attr(name)
            if is_traceable_wrapper_subclass(inner):
                self._guard_wrapper(inner, place)
            else:
                self.guards.add(place, "tensor", _core.TensorSpec(inner))

    def wrapper_attribute(self, tensor: Tensor, name: str) -> Any:
        """An attribute of a wrapper that the graph makes; MISSING if it has none."""
        if not is_traceable_wrapper_subclass(tensor.value) or name not in tensor.value.__dict__:
            return MISSING
        value = tensor.value.__dict__[name]
        if isinstance(value, torch.Tensor):
            node = self.graph.node("call_function", getattr, (tensor.node, name), {}, value)
            self.graph.ops -= 1
            return self.from_value(node, value)
        if is_literal(value) or isinstance(value, (torch.dtype, torch.device, torch.Size)):
            return self.known(value)
        raise Break(tensors.TENSOR_ATTRIBUTE, tensor=tensor.describe(), attribute=name)

    def make_wrapper(self, cls: Class, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A wrapper that the program makes: its constructor is a node of the graph."""
        self.meet_wrapper()
        made = self.call_torch(cls.value, args, kwargs)
        whole = isinstance(made, Tensor) and is_traceable_wrapper_subclass(made.value)
        if not whole or made.value.requires_grad:
            given = ", ".join(a.describe() for a in args)
            name = cls.value.__name__
            raise Break(subclasses.SUBCLASS_CONSTRUCTOR, subclass=name, arguments=given)
        return made

    def hides_method(self, tensor: Any, name: str) -> bool:
        """Whether a wrapper's class defines a method itself: a node that means torch's must say
        so."""
        if not isinstance(tensor, Tensor) or not is_traceable_wrapper_subclass(tensor.value):
            return False
        return defined_in(tensor.cls, name) is not MISSING


def base_call(name: str, *args: Any, **kwargs: Any) -> Any:
    """A method as torch.Tensor has it, whatever the class of the first argument."""
    return getattr(torch.Tensor, name)(*args, **kwargs)
