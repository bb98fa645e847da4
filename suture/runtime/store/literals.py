"""Values that mean the same in every process, as JSON. Nothing here runs code of the program."""

from __future__ import annotations

from typing import Any

import torch

from suture import _core
from suture.torch_private import dtensor_parts


class Unstorable(Exception):
    """Why something cannot be kept, as a sentence for the log."""


_SINGLES: dict[str, Any] = {
    "Ellipsis": Ellipsis,
    "NotImplemented": NotImplemented,
    "UNBOUND": _core.UNBOUND,
}
_NAMED = (torch.dtype, torch.layout, torch.memory_format)


def encode(value: Any) -> Any:
    """The value as JSON; raises Unstorable for anything that is not made of constants alone."""
    kind = type(value)
    if value is None or kind in (bool, int, str):
        return value
    if kind is float:
        return {"float": value.hex()}
    if kind is complex:
        return {"complex": [value.real.hex(), value.imag.hex()]}
    if kind is bytes:
        return {"bytes": value.hex()}
    if kind in (tuple, list):
        return {kind.__name__: [encode(one) for one in value]}
    if kind is torch.Size:
        return {"Size": [encode(one) for one in value]}
    if kind is frozenset:
        return {"frozenset": sorted((encode(one) for one in value), key=repr)}
    if kind is slice:
        return {"slice": [encode(one) for one in (value.start, value.stop, value.step)]}
    if kind is range:
        return {"range": [value.start, value.stop, value.step]}
    if kind in _NAMED:
        name = str(value).removeprefix("torch.")
        if getattr(torch, name, None) is value:
            return {"torch": name}
    if kind is torch.device:
        return {"device": [value.type, value.index]}
    for name, single in _SINGLES.items():
        if value is single:
            return {"single": name}
    placed = dtensor_parts.placement_facts(value)
    if placed is not None:
        return {"placement": placed}
    raise Unstorable(f"a {kind.__module__}.{kind.__qualname__} is no constant")


def decode(data: Any) -> Any:
    """The value that `encode` wrote; raises ValueError if the data is not of its making."""
    if data is None or type(data) in (bool, int, str):
        return data
    if type(data) is not dict or len(data) != 1:
        raise ValueError("not a constant")
    ((kind, inner),) = data.items()
    maker = _MAKERS.get(kind)
    if maker is None:
        raise ValueError(f"no constant is called {kind!r}")
    try:
        return maker(inner)
    except (TypeError, KeyError, IndexError, AttributeError, RuntimeError) as error:
        raise ValueError(f"not a {kind}") from error


def _items(inner: Any) -> Any:
    return [decode(one) for one in inner]


def _of_torch(name: Any) -> Any:
    found = getattr(torch, name)
    if type(found) not in _NAMED:
        raise ValueError(f"torch.{name} is no constant")
    return found


_MAKERS: dict[str, Any] = {
    "float": float.fromhex,
    "complex": lambda inner: complex(float.fromhex(inner[0]), float.fromhex(inner[1])),
    "bytes": bytes.fromhex,
    "tuple": lambda inner: tuple(_items(inner)),
    "list": _items,
    "Size": lambda inner: torch.Size(_items(inner)),
    "frozenset": lambda inner: frozenset(_items(inner)),
    "slice": lambda inner: slice(*_items(inner)),
    "range": lambda inner: range(*inner),
    "torch": _of_torch,
    "device": lambda inner: (
        torch.device(inner[0]) if inner[1] is None else torch.device(inner[0], inner[1])
    ),
    "single": _SINGLES.__getitem__,
    "placement": dtensor_parts.placement_of,
}
