"""All entries of the registry: importing this module imports every family."""

from __future__ import annotations

import difflib
from types import ModuleType

from suture.breaks import (
    arrays,
    autograd,
    builtin_calls,
    calls,
    containers,
    contexts,
    control_flow,
    distributed,
    dynamo_only,
    functorch,
    higher_order,
    internal,
    modules,
    objects,
    python,
    raising,
    subclasses,
    tensor_methods,
    tensors,
)
from suture.breaks.registry import BreakType, defined

FAMILIES: tuple[ModuleType, ...] = (
    control_flow,
    calls,
    raising,
    tensors,
    tensor_methods,
    subclasses,
    arrays,
    autograd,
    objects,
    builtin_calls,
    containers,
    modules,
    contexts,
    python,
    functorch,
    higher_order,
    distributed,
    internal,
    dynamo_only,
)


def entries() -> tuple[BreakType, ...]:
    """Every entry, in the order of the numbers."""
    return defined()


def lookup(number: str) -> BreakType:
    """The entry of that number; case does not matter.

    Raises KeyError with the nearest numbers in its message if there is none.
    """
    wanted = number.upper()
    for entry in defined():
        if entry.number == wanted:
            return entry
    near = difflib.get_close_matches(wanted, [entry.number for entry in defined()])
    also = f"; near it: {', '.join(near)}" if near else ""
    raise KeyError(f"no break has the number {number}{also}")


def family_of(entry: BreakType) -> str:
    """The name of the family that holds `entry`, as in `control_flow`."""
    return names()[entry.number][0]


def names() -> dict[str, tuple[str, str]]:
    """For each number, the family and the constant that holds its entry."""
    return {
        value.number: (family.__name__.rpartition(".")[2], name)
        for family in FAMILIES
        for name, value in vars(family).items()
        if isinstance(value, BreakType)
    }
