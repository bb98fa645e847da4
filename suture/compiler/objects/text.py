"""Text with tensors or symbolic numbers in it, written only where somebody reads it."""

from __future__ import annotations

import types
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from suture.breaks import Break, builtin_calls, objects, tensors
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects.bound_method import BoundMethod
from suture.compiler.objects.constant import Constant
from suture.compiler.objects.made_by_python import MadeByPython
from suture.compiler.objects.methods import method
from suture.compiler.objects.tensor import Symbol, Tensor
from suture.torch_private.tensor_parts import version_of


@dataclass(slots=True)
class Field:
    """One value in a text, and `how` it gets there: by a builtin ("format", "str", "repr" or
    "ascii"), by "percent", or by a method of str. `given` are the other arguments: a format, a
    directive such as "%5d", what the method takes. `position` is where the text was made, by code
    that may be asked to let Python do so."""

    value: Any
    how: str
    given: tuple[Any, ...]
    version: int
    position: Any

    def text(self, emit: Emitter) -> str:
        if isinstance(self.value, Tensor) and version_of(self.value.value) != self.version:
            raise MadeByPython(self.position, "the text of a tensor that is written to later")
        value = emit.value(self.value)
        if self.how == "percent":
            return f"{self.given[0]!r} % ({value},)"
        rest = [repr(argument) for argument in self.given]
        if self.how in METHODS:
            return f"{value}.{self.how}({', '.join(rest)})"
        builtin = emit.constant(_BUILTINS[self.how], self.how)
        return f"{builtin}({', '.join([value, *rest])})"

    def of(self, known: Any) -> str:
        """The text, of the value itself."""
        return written(known, self.how, self.given)


_BUILTINS: dict[str, Any] = {"format": format, "str": str, "repr": repr, "ascii": ascii}

# Methods of a text that give a text, whatever the text is.
METHODS = {
    "capitalize", "casefold", "center", "expandtabs", "ljust", "lower", "lstrip", "removeprefix",
    "removesuffix", "replace", "rjust", "rstrip", "strip", "swapcase", "title", "upper", "zfill",
}  # fmt: skip


def written(known: Any, how: str, given: tuple[Any, ...]) -> str:
    """What a field with these parts is in a text."""
    if how == "percent":
        return str(given[0] % (known,))
    if how in METHODS:
        return str(getattr(known, how)(*given))
    return str(_BUILTINS[how](known, *given))


def field(trace: Trace, value: Value, how: str, *given: Any) -> Field:
    """A value whose text is made when the variant runs."""
    version = version_of(value.value) if isinstance(value, Tensor) else 0
    position = (trace.frames[-1].code.code, trace.frames[-1].ip)
    if isinstance(value, Tensor) and position in trace.region.plan.by_python:
        raise Break(tensors.PRINT_TENSOR, builtin=how, arguments=value.describe())
    return Field(value, how, given, version, position)


class Text(Value):
    """A str whose `parts` are plain strings and fields. Any use of it but passing it around and
    adding to it needs what the fields hold."""

    __slots__ = ("parts",)

    def __init__(self, parts: list[Any]) -> None:
        super().__init__(None)
        self.parts = parts

    def as_constant(self, trace: Trace) -> Any:
        return self.settle(trace)

    def python_type(self) -> type:
        return str

    def describe(self) -> str:
        return "a text with values in it"

    def settle(self, trace: Trace) -> str:
        """The text itself: numbers are specialised, a tensor breaks."""
        return "".join(
            self._settled(trace, part) if isinstance(part, Field) else part for part in self.parts
        )

    def _settled(self, trace: Trace, part: Field) -> str:
        if isinstance(part.value, Text):
            return part.of(part.value.settle(trace))
        if isinstance(part.value, Tensor):
            raise Break(tensors.PRINT_TENSOR, builtin=part.how, arguments=part.value.describe())
        if not isinstance(part.value, Symbol):
            raise Break(builtin_calls.STR_IN_C, object=part.value.describe())
        return part.of(abstract.specialise(trace, part.value))

    def constant(self) -> Any:
        raise Break(objects.UNKNOWN_OBJECT, operation="take the value of", object=self.describe())

    def hash_key(self, trace: Trace) -> Hashable:
        return self.settle(trace)

    def truth(self, trace: Trace) -> bool | None:
        return (
            True if any(isinstance(p, str) and p for p in self.parts) else bool(self.settle(trace))
        )

    def getattr(self, trace: Trace, name: str) -> Value:
        if name in METHODS:
            return TextMethod(self, name)
        return abstract.getattr(trace, Constant(self.settle(trace)), name)

    def call_method(
        self, trace: Trace, name: str, args: list[Value], kwargs: dict[str, Value]
    ) -> Value:
        if name in METHODS and not kwargs and all(isinstance(a, Constant) for a in args):
            given = [a.constant() for a in args]
            if all(type(a) in (str, int) for a in given) and _fits(name, given):
                return Text([field(trace, self, name, *given)])
        return abstract.tail_call_method(trace, Constant(self.settle(trace)), name, args, kwargs)

    def rebuild(self, emit: Emitter) -> str:
        parts = [p.text(emit) if isinstance(p, Field) else repr(p) for p in self.parts]
        return f"''.join([{', '.join(parts)}])"


class TextMethod(BoundMethod):
    """A method that makes another text of a text, such as `"...".upper`."""

    __slots__ = ()

    def python_type(self) -> type:
        return types.BuiltinMethodType


@method(Text, "__add__")
def text_add(self: Text, trace: Trace, other: Value) -> Value:
    return joined(trace, [self, other]) if other.python_type() is str else Constant(NotImplemented)


@method(Text, "__radd__")
def text_radd(self: Text, trace: Trace, other: Value) -> Value:
    return joined(trace, [other, self]) if other.python_type() is str else Constant(NotImplemented)


@method(Text, "__eq__")
def text_eq(self: Text, trace: Trace, other: Value) -> Value:
    return abstract.compare(trace, "==", Constant(self.settle(trace)), other)


@method(Text, "__ne__")
def text_ne(self: Text, trace: Trace, other: Value) -> Value:
    return abstract.compare(trace, "!=", Constant(self.settle(trace)), other)


@method(Text, "__len__")
def text_len(self: Text, trace: Trace) -> Value:
    return Constant(len(self.settle(trace)))


@method(Text, "__getitem__")
def text_getitem(self: Text, trace: Trace, key: Value) -> Value:
    return abstract.getitem(trace, Constant(self.settle(trace)), key)


@method(Text, "__contains__")
def text_contains(self: Text, trace: Trace, item: Value) -> Value:
    return abstract.contains(trace, Constant(self.settle(trace)), item)


@method(Text, "__iter__")
def text_iter(self: Text, trace: Trace) -> Value:
    return abstract.iterate(trace, Constant(self.settle(trace)))


def joined(trace: Trace, texts: list[Any]) -> Value:
    """Texts one behind the other; a constant if all of them are."""
    if not any(isinstance(t, Text) for t in texts):
        return Constant("".join(abstract.constant_value(trace, t) for t in texts))
    parts: list[Any] = []
    for text in texts:
        parts += text.parts if isinstance(text, Text) else [abstract.constant_value(trace, text)]
    return Text(parts)


def _fits(name: str, given: list[Any]) -> bool:
    """Whether a method of str takes these arguments."""
    try:
        getattr("", name)(*given)
    except (TypeError, ValueError):
        return False
    return True
