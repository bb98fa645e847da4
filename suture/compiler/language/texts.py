"""The text of containers and of objects: made of the texts of what they hold."""

from __future__ import annotations

from typing import Any

import torch

from suture.breaks import Break, builtin_calls
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.objects import Constant, Dict, Object, Set, Size, set_
from suture.compiler.objects.sequence import is_list_or_tuple
from suture.compiler.objects.text import Text, field, joined

_BRACKETS: dict[type, tuple[str, str]] = {
    list: ("[", "]"),
    tuple: ("(", ")"),
    dict: ("{", "}"),
    torch.Size: ("torch.Size([", "])"),
}
_PLAIN_REPR = (list.__repr__, tuple.__repr__, dict.__repr__)


def container_text(trace: Trace, value: Any) -> Value | None:
    """repr() of a list, a tuple, a dict or a size; None if it is none of these."""
    if type(value) is not Size and not isinstance(value, Dict) and not is_list_or_tuple(value):
        return None
    kind = value.python_type()
    if kind not in _BRACKETS:
        return None
    start, end = _BRACKETS[kind]
    if any(value is outer for outer in trace.handling.writing):
        return Constant(f"{start}...{end}")
    trace.handling.writing.append(value)
    try:
        items = _items_text(trace, value)
    finally:
        trace.handling.writing.pop()
    one = ("," if kind is tuple and len(items) == 1 else "") + end
    return joined(trace, [Constant(start), *_between(items), Constant(one)])


def _items_text(trace: Trace, value: Any) -> list[Any]:
    if not isinstance(value, Dict):
        return [abstract.convert_value(trace, item, "repr") for item in value.unpacked(trace)]
    pairs = abstract.dict_pairs(trace, value)
    colon = Constant(": ")
    return [
        joined(
            trace,
            [
                abstract.convert_value(trace, k, "repr"),
                colon,
                abstract.convert_value(trace, v, "repr"),
            ],
        )
        for k, v in pairs
    ]


def text_in_c(trace: Trace, value: Object, raw: object, how: str) -> Value:
    """The text of an object whose class leaves that to a builtin type."""
    if raw is object.__repr__:  # the names of its class and its address, which both stay
        return Text([field(trace, value, how)])
    storage = value.storage
    if raw in _PLAIN_REPR and storage is not None:
        text = container_text(trace, storage)
        if text is not None:
            return text
    if isinstance(storage, Set) and raw is storage.kind.__repr__:
        items = [abstract.convert_value(trace, i, "repr") for i in set_.set_order(trace, storage)]
        around = ("({", "})") if items else ("(", ")")
        name = Constant(value.cls.__name__ + around[0])
        return joined(trace, [name, *_between(items), Constant(around[1])])
    raise Break(builtin_calls.STR_IN_C, object=value.describe())


def _between(items: list[Any]) -> list[Any]:
    """The items with commas between them."""
    out: list[Any] = []
    for item in items:
        out += [Constant(", "), item] if out else [item]
    return out
