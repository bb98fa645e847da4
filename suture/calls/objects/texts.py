"""The text of containers and of objects: made of the texts of what they hold."""

from __future__ import annotations

from typing import Any, ClassVar

from suture.breaks import Break, builtin_calls
from suture.calls.part import Part
from suture.variables import Constant, Dict, List, Object, Set, Tuple
from suture.variables.text import Text, field, joined

_BRACKETS: dict[type, tuple[str, str]] = {list: ("[", "]"), tuple: ("(", ")"), dict: ("{", "}")}
_PLAIN_REPR = (list.__repr__, tuple.__repr__, dict.__repr__)


class Texts(Part):
    """The part of the tracer that writes containers."""

    writing: ClassVar[list[Any]] = []  # containers whose text is being made

    def container_text(self, value: Any) -> Any:
        """repr() of a list, a tuple or a dict; None if it is none of these."""
        if type(value) not in (List, Tuple, Dict) and not isinstance(value, (List, Dict)):
            return None
        kind = value.python_type()
        if kind not in _BRACKETS:
            return None
        start, end = _BRACKETS[kind]
        if any(value is outer for outer in self.writing):
            return Constant(f"{start}...{end}")
        self.writing.append(value)
        try:
            items = self._items_text(value)
        finally:
            self.writing.pop()
        one = ("," if kind is tuple and len(items) == 1 else "") + end
        return joined(self, [Constant(start), *_between(items), Constant(one)])

    def _items_text(self, value: Any) -> list[Any]:
        if not isinstance(value, Dict):
            return [self.convert_value(item, "repr") for item in value.unpacked(self)]
        pairs = self.dict_pairs(value)
        colon = Constant(": ")
        return [
            joined(self, [self.convert_value(k, "repr"), colon, self.convert_value(v, "repr")])
            for k, v in pairs
        ]

    def text_in_c(self, value: Object, raw: Any, how: str) -> Any:
        """The text of an object whose class leaves that to a builtin type."""
        if raw is object.__repr__:  # the names of its class and its address, which both stay
            return Text([field(value, how)])
        storage = value.storage
        if raw in _PLAIN_REPR and storage is not None:
            text = self.container_text(storage)
            if text is not None:
                return text
        if isinstance(storage, Set) and raw is storage.kind.__repr__:
            items = [self.convert_value(i, "repr") for i in self.set_order(storage)]
            around = ("({", "})") if items else ("(", ")")
            name = Constant(value.cls.__name__ + around[0])
            return joined(self, [name, *_between(items), Constant(around[1])])
        raise Break(builtin_calls.STR_IN_C, object=value.describe())


def _between(items: list[Any]) -> list[Any]:
    """The items with commas between them."""
    out: list[Any] = []
    for item in items:
        out += [Constant(", "), item] if out else [item]
    return out
