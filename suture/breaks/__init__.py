"""The registry of numbered graph breaks.

A family of breaks is a module of this package; a raise site names an entry and its fields:

    from suture.breaks import Break, control_flow
    raise Break(control_flow.TENSOR_BRANCH, tensor="y")

`catalog` gives all entries, `page` their pages, `audit` checks the whole, `export` writes it out.
"""

from __future__ import annotations

from suture.breaks.exception import Break, NodeText, readable
from suture.breaks.registry import BreakType, Kind, Leaves, RegistryError, Status

__all__ = [
    "Break",
    "BreakType",
    "Kind",
    "Leaves",
    "NodeText",
    "RegistryError",
    "Status",
    "readable",
]
