"""Values that mean the same in every process, as JSON. Nothing here runs code of the program.

A constant is written as `{kind: data}`; None, bool, int and str stand for themselves. Adding a kind
is one row of `_KINDS` and one example in `tests/runtime/store/test_round_trips.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from suture import _core
from suture.torch_private import dtensor_parts


class Unstorable(Exception):
    """Why something cannot be kept, as a sentence for the log."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of constant. `to_data` gives None for a value that is not of this kind after all;
    `from_data` may raise what operations on data of a wrong shape raise."""

    name: str
    types: tuple[type, ...]  # of its values; none: any value may be one
    to_data: Callable[[Any], Any]
    from_data: Callable[[Any], Any]


def encode(value: Any) -> Any:
    """The value as JSON; raises Unstorable for anything that is not made of constants alone."""
    kind = type(value)
    if kind in _THEMSELVES:
        return value
    for one in (*_BY_TYPE.get(kind, ()), *_OF_ANY_TYPE):
        data = one.to_data(value)
        if data is not None:
            return {one.name: data}
    raise Unstorable(f"a {kind.__module__}.{kind.__qualname__} is no constant")


def decode(data: Any) -> Any:
    """The value that `encode` wrote; raises ValueError if the data is not of its making."""
    if type(data) in _THEMSELVES:
        return data
    if type(data) is not dict or len(data) != 1:
        raise ValueError("not a constant")
    ((name, inner),) = data.items()
    kind = KINDS.get(name)
    if kind is None:
        raise ValueError(f"no constant is called {name!r}")
    try:
        return kind.from_data(inner)
    except (TypeError, KeyError, IndexError, AttributeError, RuntimeError) as error:
        raise ValueError(f"not a {name}") from error


_THEMSELVES = frozenset({type(None), bool, int, str})
_OF_TORCH = (torch.dtype, torch.layout, torch.memory_format)
_SINGLES = {"Ellipsis": ..., "NotImplemented": NotImplemented, "UNBOUND": _core.UNBOUND}


def _encoded(values: Any) -> list[Any]:
    return [encode(one) for one in values]


def _decoded(data: Any) -> list[Any]:
    return [decode(one) for one in data]


def _name_in_torch(value: Any) -> str | None:
    name = str(value).removeprefix("torch.")
    return name if getattr(torch, name, None) is value else None


def _of_torch(name: Any) -> Any:
    found = getattr(torch, name)
    if type(found) not in _OF_TORCH:
        raise ValueError(f"torch.{name} is no constant")
    return found


def _name_of_single(value: Any) -> str | None:
    return next((name for name, one in _SINGLES.items() if one is value), None)


_KINDS = (
    Kind("float", (float,), float.hex, float.fromhex),
    Kind(
        "complex",
        (complex,),
        lambda value: [value.real.hex(), value.imag.hex()],
        lambda data: complex(float.fromhex(data[0]), float.fromhex(data[1])),
    ),
    Kind("bytes", (bytes,), bytes.hex, bytes.fromhex),
    Kind("tuple", (tuple,), _encoded, lambda data: tuple(_decoded(data))),
    Kind("list", (list,), _encoded, _decoded),
    Kind("Size", (torch.Size,), _encoded, lambda data: torch.Size(_decoded(data))),
    Kind(
        "frozenset",
        (frozenset,),
        lambda value: sorted(_encoded(value), key=repr),
        lambda data: frozenset(_decoded(data)),
    ),
    Kind(
        "slice",
        (slice,),
        lambda value: _encoded((value.start, value.stop, value.step)),
        lambda data: slice(*_decoded(data)),
    ),
    Kind(
        "range",
        (range,),
        lambda value: [value.start, value.stop, value.step],
        lambda data: range(*data),
    ),
    Kind("torch", _OF_TORCH, _name_in_torch, _of_torch),
    Kind(
        "device",
        (torch.device,),
        lambda value: [value.type, value.index],
        lambda data: torch.device(*data) if data[1] is not None else torch.device(data[0]),
    ),
    Kind("single", (), _name_of_single, _SINGLES.__getitem__),
    Kind("placement", (), dtensor_parts.placement_facts, dtensor_parts.placement_of),
)
KINDS = {kind.name: kind for kind in _KINDS}
_BY_TYPE = {one: (kind,) for kind in _KINDS for one in kind.types}
_OF_ANY_TYPE = tuple(kind for kind in _KINDS if not kind.types)
