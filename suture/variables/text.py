"""Text with tensors or symbolic numbers in it, written only where somebody reads it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from suture.breaks import Break, builtin_calls, objects, tensors
from suture.torch_private.tensor_parts import version_of
from suture.variables.base import Variable
from suture.variables.constant import Constant
from suture.variables.tensor import Symbol, Tensor


@dataclass(slots=True)
class Field:
    """One value in a text: `how` is "format", "str", "repr" or "ascii"."""

    value: Any
    how: str
    spec: str
    version: int

    def text(self, emit: Any) -> str:
        if isinstance(self.value, Tensor) and version_of(self.value.value) != self.version:
            raise Break(objects.UNKNOWN_OBJECT, operation="write", object="a tensor changed since")
        value = emit.value(self.value)
        builtin = emit.constant(_BUILTINS[self.how], self.how)
        spec = f", {self.spec!r}" if self.how == "format" else ""
        return f"{builtin}({value}{spec})"


_BUILTINS: dict[str, Any] = {"format": format, "str": str, "repr": repr, "ascii": ascii}


def field(value: Any, how: str, spec: str = "") -> Field:
    version = version_of(value.value) if isinstance(value, Tensor) else 0
    return Field(value, how, spec, version)


class Text(Variable):
    """A str whose `parts` are plain strings and fields. Any use of it but passing it around and
    adding to it needs what the fields hold."""

    __slots__ = ("parts",)

    def __init__(self, parts: list[Any]) -> None:
        super().__init__(None)
        self.parts = parts

    def python_type(self) -> type:
        return str

    def describe(self) -> str:
        return "a text with values in it"

    def settle(self, tx: Any) -> str:
        """The text itself: numbers are specialised, a tensor breaks."""
        out = []
        for part in self.parts:
            if isinstance(part, Field):
                if isinstance(part.value, Tensor):
                    raise Break(
                        tensors.PRINT_TENSOR, builtin=part.how, arguments=part.value.describe()
                    )
                if not isinstance(part.value, Symbol):
                    raise Break(builtin_calls.STR_IN_C, object=part.value.describe())
                known = tx.specialise(part.value)
                spec = (part.spec,) if part.how == "format" else ()
                part = _BUILTINS[part.how](known, *spec)
            out.append(part)
        return "".join(out)

    def constant(self) -> Any:
        raise Break(objects.UNKNOWN_OBJECT, operation="take the value of", object=self.describe())

    def hash_key(self, tx: Any) -> Any:
        return self.settle(tx)

    def truth(self, tx: Any) -> Any:
        return True if any(isinstance(p, str) and p for p in self.parts) else bool(self.settle(tx))

    def getattr(self, tx: Any, name: str) -> Any:
        return tx.getattr(Constant(self.settle(tx)), name)

    def call_method(self, tx: Any, name: str, args: list[Any], kwargs: dict[str, Any]) -> Any:
        return tx.tail_call_method(Constant(self.settle(tx)), name, args, kwargs)

    def m___add__(self, tx: Any, other: Any) -> Any:
        return joined(tx, [self, other]) if other.python_type() is str else Constant(NotImplemented)

    def m___radd__(self, tx: Any, other: Any) -> Any:
        return joined(tx, [other, self]) if other.python_type() is str else Constant(NotImplemented)

    def m___eq__(self, tx: Any, other: Any) -> Any:
        return tx.compare("==", Constant(self.settle(tx)), other)

    def m___ne__(self, tx: Any, other: Any) -> Any:
        return tx.compare("!=", Constant(self.settle(tx)), other)

    def m___len__(self, tx: Any) -> Any:
        return Constant(len(self.settle(tx)))

    def m___getitem__(self, tx: Any, key: Any) -> Any:
        return tx.getitem(Constant(self.settle(tx)), key)

    def m___contains__(self, tx: Any, item: Any) -> Any:
        return tx.contains(Constant(self.settle(tx)), item)

    def m___iter__(self, tx: Any) -> Any:
        return tx.iterate(Constant(self.settle(tx)))

    def rebuild(self, emit: Any) -> str:
        parts = [p.text(emit) if isinstance(p, Field) else repr(p) for p in self.parts]
        return f"''.join([{', '.join(parts)}])"


def joined(tx: Any, texts: list[Any]) -> Any:
    """Texts one behind the other; a constant if all of them are."""
    if not any(isinstance(t, Text) for t in texts):
        return Constant("".join(tx.constant_value(t) for t in texts))
    parts: list[Any] = []
    for text in texts:
        parts += text.parts if isinstance(text, Text) else [tx.constant_value(text)]
    return Text(parts)
