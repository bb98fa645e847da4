"""Functions that were compiled from one code object with the same options.

The layers of a model, each compiled on its own, run the same code. What one of them compiled
serves the others, if its guards hold there; what they saw decides what the next one takes for a
symbol. Each keeps its own variants and its own limit.
"""

from __future__ import annotations

import weakref
from typing import Any

from suture.members import Members

_FAMILIES: weakref.WeakValueDictionary[Any, Family] = weakref.WeakValueDictionary()


class Family:
    """The units of one code object. `modules` are those that some of them are bound to."""

    def __init__(self, code: Any) -> None:
        self.code = code  # so that its id stays its own
        self.units: Members[Any] = Members()
        self.modules: Members[Any] = Members()

    def join(self, unit: Any, module: Any) -> None:
        self.units.add(unit)
        if module is not None:
            self.modules.add(module)

    def other_points(self, unit: Any, key: Any) -> list[Any]:
        """The same point in the other units."""
        found = (other.points.get(key) for other in self.units if other is not unit)
        return [point for point in found if point is not None and point.data.variants]


def family_of(code: Any, options: tuple[Any, ...] | None) -> Family:
    """The family of a code object under these options; None: one of its own."""
    if options is None:
        return Family(code)
    key = (id(code), *options)
    found = _FAMILIES.get(key)
    if found is None:
        found = _FAMILIES[key] = Family(code)
    return found
