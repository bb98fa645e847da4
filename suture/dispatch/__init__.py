"""Points and their variants: limits, what changed between calls, why something recompiled."""

from suture.dispatch import torch_state
from suture.dispatch.history import History
from suture.dispatch.stats import Record, Stats
from suture.dispatch.unit import Options, PointData, Unit, Variant

__all__ = ["History", "Options", "PointData", "Record", "Stats", "Unit", "Variant", "torch_state"]
