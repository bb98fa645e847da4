"""The exception that ends a graph: a break type and the fields of this one occurrence."""

from __future__ import annotations

import types
from typing import Any

from suture.breaks import cases
from suture.breaks.registry import BreakType

_LIMIT = 200  # characters of a field that a message shows


class NodeText(str):
    """A text that names a value by its node in the graph. People know such a value by the
    expression that makes it, and messages show that where they can."""

    __slots__ = ()


class Break(Exception):
    """A graph break, as `raise Break(control_flow.TENSOR_BRANCH, tensor="y")`.

    There is none without an entry of the registry, and the fields are exactly those that the entry
    names. Field values are turned into text at once, so that a break keeps no tensor and no frame
    of the user's alive. `nodes` are the names of the fields that were given as NodeText.
    """

    def __init__(self, type: BreakType, /, **fields: object) -> None:
        if not isinstance(type, BreakType):
            raise TypeError(f"a break needs an entry of the registry, not {type!r}")
        _check_fields(type, fields)
        self.type = type
        self.fields = {name: _text(fields[name]) for name in type.fields}
        self.nodes = frozenset(n for n, value in fields.items() if isinstance(value, NodeText))
        super().__init__(type.number)

    @property
    def number(self) -> str:
        """The number of the break's type, such as "GB0170"."""
        return self.type.number

    def message(self) -> str:
        """What was met, in one line."""
        return self._fill(self.type.message or self.type.type)

    def context(self) -> str:
        """Further detail for developers; may be empty."""
        return self._fill(self.type.context)

    def explanation(self) -> str:
        """Why this ends a graph."""
        return self._fill(self.type.explanation)

    def hints(self) -> tuple[str, ...]:
        """What a user can do about it, what is meant for just this case first; never empty."""
        own, replaced = cases.hints(self.number, self.fields)
        general = (self._fill(hint) for hint in self.type.hints[replaced:])
        return tuple(dict.fromkeys((*own, *general)))

    def _fill(self, template: str) -> str:
        return template.format_map(self.fields)

    def told(self) -> str:
        """The break in one line, for people: by its title."""
        return f"{self.type.number} {self.type.heading}: {self.message()}"

    def __str__(self) -> str:
        return f"{self.type.number} {self.type.type}: {self.message()}"

    def __reduce__(self) -> tuple[object, ...]:
        fields = {n: NodeText(v) if n in self.nodes else v for n, v in self.fields.items()}
        return _rebuild, (self.type.number, fields)


def _rebuild(number: str, fields: dict[str, str]) -> Break:
    """The break of that number again, in a process that has the same registry."""
    from suture.breaks.catalog import lookup

    return Break(lookup(number), **fields)


def _check_fields(type: BreakType, fields: dict[str, object]) -> None:
    """Raise TypeError unless `fields` has exactly the names that `type` declares."""
    given = set(fields)
    wanted = set(type.fields)
    if given == wanted:
        return
    problems = []
    if wanted - given:
        problems.append("lacks " + ", ".join(sorted(wanted - given)))
    if given - wanted:
        problems.append("does not know " + ", ".join(sorted(given - wanted)))
    raise TypeError(f"{type.number} {' and '.join(problems)}")


def readable(value: object, limit: int) -> str:
    """The repr of a value in at most `limit` characters. Code of the program is not run for it:
    of an object whose class says itself how it is printed, the type is told."""
    try:
        text = repr(value) if _prints_itself(value, 0) else f"<{type(value).__name__} object>"
    except Exception:
        text = f"<{type(value).__name__} whose repr() raises>"
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _prints_itself(value: object, depth: int) -> bool:
    kind = type(value)
    if kind in (list, tuple, set, frozenset, dict):
        items: Any = value
        parts = [*items, *items.values()] if kind is dict else list(items)
        small = depth < 4 and len(parts) <= 128
        return small and all(_prints_itself(part, depth + 1) for part in parts)
    if issubclass(kind, type):
        return kind is type
    shown = kind.__repr__
    if issubclass(kind, types.ModuleType) and kind is not types.ModuleType:
        return False
    return not isinstance(shown, types.FunctionType) or shown.__module__ in _HARMLESS


_HARMLESS = ("enum", "torch._tensor", "torch.fx.node", "functools", "typing")


def _text(value: object) -> str:
    """A field as one readable line."""
    text = value if isinstance(value, str) else readable(value, 10 * _LIMIT)
    text = " ".join(text.split())
    return text if len(text) <= _LIMIT else text[: _LIMIT - 3] + "..."
