"""Weak references and weak proxies that exist."""

from __future__ import annotations

import weakref
from collections.abc import Hashable
from typing import Any

import torch

from suture.breaks import Break, objects
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.objects.opaque import Opaque
from suture.compiler.objects.real_object import RealObject
from suture.runtime.predicates import has_callback
from suture.runtime.reads import behind_proxy, dereferenced


class WeakReference(RealObject):
    """A weakref.ref without a callback that can be asked what it refers to."""

    __slots__ = ()

    def hash_key(self, trace: Trace) -> Hashable:
        """Of what it refers to: two references to one object are one key."""
        referent = None if self.value() is None else self.call(trace, [], {})
        if referent is None:
            return super().hash_key(trace)
        if isinstance(self.value(), torch.Tensor) and has_callback(self.value):
            # It is no other reference to the tensor: to find it, Python compares the tensors.
            what = f"references to {referent.describe()}"
            raise Break(objects.UNKNOWN_OBJECT, operation="compare", object=what)
        return (weakref.ref, referent.hash_key(trace))

    def call(self, trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        """What it refers to: known already if the program holds it too."""
        target = self.value()
        known = (
            trace.outside.known.get(id(target))
            if abstract.is_fixed(trace, self.known_source)
            else None
        )
        if known is not None:
            at = known[1].source
            if at is None or abstract.is_fixed(trace, at):
                return known[1]
        return abstract.wrap(trace, target, self.known_source.call(dereferenced))


class WeakProxy(Opaque):
    """A weakref.proxy: its attributes are those of what it refers to."""

    __slots__ = ()

    def getattr(self, trace: Trace, name: str) -> Value:
        return self.target(trace).getattr(trace, name)

    def setattr(self, trace: Trace, name: str, value: Value) -> None:
        self.target(trace).setattr(trace, name, value)

    def call_method(
        self, trace: Trace, name: str, args: list[Value], kwargs: dict[str, Value]
    ) -> Value:
        return abstract.tail_call(trace, self.getattr(trace, name), args, kwargs)

    def truth(self, trace: Trace) -> bool | None:
        return self.target(trace).truth(trace)

    def target(self, trace: Trace) -> Value:
        return abstract.wrap(trace, behind_proxy(self.value), self.known_source.call(behind_proxy))


def shows_target(proxy: Any) -> bool:
    """Whether what a weak proxy refers to can be had from it."""
    try:
        target = proxy.__str__.__self__
    except (ReferenceError, AttributeError):
        return False
    return type(target) is proxy.__class__ and weakref.getweakrefcount(target) > 0
