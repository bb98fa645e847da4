"""Marks on tensors: which sizes are to be symbols, which constants.

The marks are attributes of the tensor under the names torch gives them, so a mark set here counts
for torch.compile and one set by torch._dynamo.mark_dynamic counts here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch

from suture.errors import ConstraintViolation, UserError

__all__ = ["mark_dynamic", "mark_static", "mark_unbacked", "maybe_mark_dynamic"]


@dataclass(frozen=True, slots=True)
class DimRange:
    """The sizes a marked dimension may have; None: no bound."""

    dim: int
    min: int | None
    max: int | None


@dataclass(frozen=True, slots=True)
class Marks:
    """What the user said about the dimensions of one tensor."""

    dynamic: dict[int, DimRange]
    maybe: frozenset[int]
    static: frozenset[int]
    unbacked: dict[int, DimRange]

    def __bool__(self) -> bool:
        return bool(self.dynamic or self.maybe or self.static or self.unbacked)


def mark_dynamic(
    t: torch.Tensor,
    index: int | Iterable[int],
    *,
    min: int | None = None,
    max: int | None = None,
) -> None:
    """Compile size `index` of `t` as a symbol from the first call on.

    A program that makes the size constant anyway is an error when it is compiled. `min` and `max`
    promise the range of the size.
    """
    for dim in _dims(t, index, "mark_dynamic"):
        _check_range(t, dim, min, max, "mark_dynamic")
        _attribute(t, "_dynamo_dynamic_indices", set).add(dim)
        ranges = _attribute(t, "_dynamo_dynamic_range", set)
        ranges.difference_update([r for r in ranges if r.dim == dim])
        ranges.add(DimRange(dim, min, max))
        _attribute(t, "_dynamo_hint_overrides", dict)
        _attribute(t, "_specialize_on", dict).setdefault(dim, [])


def maybe_mark_dynamic(t: torch.Tensor, index: int | Iterable[int]) -> None:
    """Compile size `index` of `t` as a symbol where the program allows it."""
    for dim in _dims(t, index, "maybe_mark_dynamic"):
        _attribute(t, "_dynamo_weak_dynamic_indices", set).add(dim)


def mark_static(t: torch.Tensor, index: int | Iterable[int] | None = None) -> None:
    """Keep size `index` of `t` (all, if None) a constant, even if it changes between calls."""
    wanted = range(t.dim()) if index is None else index
    for dim in _dims(t, wanted, "mark_static"):
        _attribute(t, "_dynamo_static_indices", set).add(dim)


def mark_unbacked(
    t: torch.Tensor,
    index: int | Iterable[int],
    *,
    min: int | None = None,
    max: int | None = None,
) -> None:
    """Compile size `index` of `t` as a number nothing is known about, 0 and 1 included: it
    never makes the program compile again. A decision on it breaks the graph there."""
    for dim in _dims(t, index, "mark_unbacked"):
        _check_range(t, dim, min, max, "mark_unbacked")
        _attribute(t, "_dynamo_unbacked_indices", set).add(dim)
        _attribute(t, "_dynamo_hint_overrides", dict)
        _attribute(t, "_specialize_on", dict).setdefault(dim, [])
        if min is not None or max is not None:
            _attribute(t, "_dynamo_unbacked_bounds", dict)[dim] = (min, max)


def _attribute(t: torch.Tensor, name: str, kind: type) -> Any:
    found = getattr(t, name, None)
    if found is None:
        found = kind()
        setattr(t, name, found)
    t._has_dynamo_dim_marking = True  # type: ignore[attr-defined]
    return found


def _dims(t: Any, index: Any, what: str) -> list[int]:
    """The dimensions named, counted from the front; raises if one is none of the tensor's."""
    if not isinstance(t, torch.Tensor):
        raise TypeError(f"{what} takes a tensor, not {type(t).__name__}")
    wanted = [index] if isinstance(index, int) else list(index)
    for dim in wanted:
        if type(dim) is not int:
            raise TypeError(f"{what}: a dimension is an int, not {dim!r}")
        if not -t.dim() <= dim < t.dim():
            raise IndexError(
                f"{what}: dimension {dim} is out of range for a tensor of {t.dim()} dimensions"
                f" and shape {tuple(t.shape)}"
            )
    return [dim % t.dim() for dim in wanted]


def _check_range(t: torch.Tensor, dim: int, low: int | None, high: int | None, what: str) -> None:
    if low is not None and high is not None and low > high:
        raise ValueError(f"{what}: min={low} is greater than max={high}")
    size = t.size(dim)
    if (low is not None and size < low) or (high is not None and size > high):
        raise ValueError(f"{what}: size({dim}) is {size}, outside min={low}, max={high}")


NO_MARKS = Marks({}, frozenset(), frozenset(), {})


def marks_of(t: torch.Tensor) -> Marks:
    """The marks on a tensor, whoever set them."""
    if not any(name.startswith("_dynamo_") for name in t.__dict__):
        return NO_MARKS
    ranges = {r.dim % t.dim(): r for r in getattr(t, "_dynamo_dynamic_range", ())}
    dynamic = {}
    for dim in getattr(t, "_dynamo_dynamic_indices", ()):
        found = ranges.get(dim % t.dim())
        dynamic[dim % t.dim()] = DimRange(
            dim % t.dim(), getattr(found, "min", None), getattr(found, "max", None)
        )
    bounds = getattr(t, "_dynamo_unbacked_bounds", {})
    unbacked = {
        dim % t.dim(): DimRange(dim % t.dim(), *bounds.get(dim, (None, None)))
        for dim in (
            *getattr(t, "_dynamo_unbacked_indices", ()),
            *getattr(t, "_dynamo_strict_unbacked_indices", ()),
        )
    }
    return Marks(
        dynamic,
        frozenset(d % t.dim() for d in getattr(t, "_dynamo_weak_dynamic_indices", ())),
        frozenset(d % t.dim() for d in getattr(t, "_dynamo_static_indices", ())),
        unbacked,
    )


def check_marks(t: torch.Tensor, marks: Marks, path: str) -> None:
    """Raise UserError where a marked size cannot be a symbol in this call."""
    for dim, mark in marks.dynamic.items():
        size = t.size(dim)
        if (mark.min is not None and size < mark.min) or (mark.max is not None and size > mark.max):
            raise ConstraintViolation(
                f"{path}.size({dim}) is {size}, but mark_dynamic promised min={mark.min},"
                f" max={mark.max}"
            )
        if size in (0, 1):
            raise UserError(
                f"{path}.size({dim}) is marked dynamic and is {size}: sizes 0 and 1 are always"
                " compiled as constants, since broadcasting and empty tensors behave differently."
                " Mark a tensor with a larger size, or use maybe_mark_dynamic or mark_unbacked."
            )
