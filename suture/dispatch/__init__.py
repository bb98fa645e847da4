"""Points and their variants: limits, what changed between calls, why something recompiled."""

from suture.dispatch import torch_state
from suture.dispatch.history import History
from suture.dispatch.point_data import PointData, Variant
from suture.dispatch.stats import Record, Stats
from suture.dispatch.uncompiled import INTERPRET, THIS_CALL_PLAINLY, Uncompiled
from suture.dispatch.unit import Options, Unit

__all__ = [
    "INTERPRET",
    "THIS_CALL_PLAINLY",
    "History",
    "Options",
    "PointData",
    "Record",
    "Stats",
    "Uncompiled",
    "Unit",
    "Variant",
    "torch_state",
]
