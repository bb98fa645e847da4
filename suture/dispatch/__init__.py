"""Points and their variants: limits, what changed between calls, why something recompiled."""

from suture.dispatch.history import History
from suture.dispatch.unit import Unit, Variant

__all__ = ["History", "Unit", "Variant"]
