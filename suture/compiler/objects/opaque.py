"""Real objects that can only be passed around."""

from __future__ import annotations

from collections.abc import Hashable

from suture.breaks import Break, calls, objects
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.objects.real_object import RealObject


class Opaque(RealObject):
    """A real object suture can only pass around: any use of it is run by Python."""

    __slots__ = ()

    def truth(self, trace: Trace) -> bool | None:
        return None

    def hash_key(self, trace: Trace) -> Hashable:
        """Its identity, where its class hashes and compares by that."""
        cls = self.python_type()
        for name, plain in (("__hash__", object.__hash__), ("__eq__", object.__eq__)):
            if abstract.type_lookup(trace, cls, name) is not plain:
                raise Break(objects.UNKNOWN_OBJECT, operation="hash", object=self.describe())
        return self.identity()

    def call(self, trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        given = ", ".join(a.describe() for a in args)
        raise Break(calls.UNSUPPORTED_CALLABLE, callable=self.describe(), arguments=given)


class Unknown(Opaque):
    """An object whose very type differs from call to call."""

    __slots__ = ()

    def python_type(self) -> type:
        return Value.python_type(self)


class UnstableText(Opaque):
    """A text that has been another one each time: nothing but its type is known."""

    __slots__ = ()

    def describe(self) -> str:
        return f"{super().describe()}, which is different each time"
