"""Parameters that the program makes: leaves of autograd, so the variant makes them itself."""

from __future__ import annotations

from typing import Any, NoReturn

from suture.breaks import Break, tensor_methods
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects.constant import Constant
from suture.compiler.objects.tensor import Tensor


class SwitchedLeaf(Tensor):
    """A parameter from outside whose requires_grad the program has set (`attrs` holds it): that is
    done when the region ends, so nothing in it may compute with the parameter any more."""

    __slots__ = ()

    @property
    def node(self) -> NoReturn:  # type: ignore[override]
        raise Break(tensor_methods.SWITCHED_BEFORE, tensor=self.describe())


class RenewedTensor(Tensor):
    """A tensor from outside whose `.data` the program has set (`attrs` holds what to). Its node
    shows the new memory with the old history; for the program it is what it was, such as a leaf."""

    __slots__ = ()

    def getattr(self, trace: Trace, name: str) -> Value:
        if name == "is_leaf":
            return Constant(True)  # guarded where the data was set
        if name == "grad_fn":
            return Constant(None)
        return super().getattr(trace, name)


class NewLeaf(Tensor):
    """A leaf made in the region: it has no gradient but the one that the region has set."""

    __slots__ = ()

    def getattr(self, trace: Trace, name: str) -> Value:
        if name in ("grad", "grad_fn") and (self.attrs is None or name not in self.attrs):
            return Constant(None)
        return super().getattr(trace, name)


class InnerLeaf(NewLeaf):
    """A leaf that the graph makes, on memory that others show. It does not leave the region."""

    __slots__ = ()


class MadeLeaf(NewLeaf):
    """A parameter, or another leaf, made in the region. It is an input of the graph, which fills
    it; the variant makes it, empty, before it calls the graph, so that it is the same object
    whoever holds it."""

    __slots__ = ()

    def __init__(self, node: Any, value: Any, cls: type) -> None:
        super().__init__(node, value, None, cls)

    def rebuild(self, emit: Emitter) -> str:
        name = str(emit.made_input(self.node))
        if self.attrs:
            emit.named(self, name)
            self.write_back(emit, name)
        return name
