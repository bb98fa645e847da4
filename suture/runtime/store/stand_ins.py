"""What is written instead of a constant of a variant that does not say what it was made of."""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class MadeOperation:
    """Stands for an operation that the variant runs, as `OPERATIONS` makes it of an instruction."""

    name: str
    code: types.CodeType
    index: int


@dataclass(frozen=True, slots=True)
class MadeFrames:
    """Stands for synthetic frames: of each its code, its globals and its offset."""

    positions: tuple[tuple[types.CodeType, dict[str, Any], int], ...]


@dataclass(frozen=True, slots=True)
class WarningRegistry:
    """Stands for the `__warningregistry__` of a module, whose globals these are."""

    namespace: dict[str, Any]
