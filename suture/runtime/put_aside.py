"""Variants that end at a branch on data and were put aside for one that expects how it goes."""

from __future__ import annotations

from typing import Any

from suture import _core, config, stance, switches
from suture.runtime.points import PointData, Variant


def put_back(point: Any, variant: Variant) -> None:
    """A variant that was put aside is one of its point's again."""
    point.data.put_aside.remove(variant)
    point.data.variants.append(variant)
    point.add(variant.function, variant.program, variant.general)


def fitting(data: PointData, state: tuple[Any, ...]) -> Variant | None:
    """A variant that was put aside and fits the state; None if there is none."""
    return next((v for v in data.put_aside if v.program.check(*state)), None)


def other_point(point: Any, state: tuple[Any, ...]) -> Any:
    """A point whose one variant ends at the branch and fits the state; None if there is none."""
    variant = fitting(point.data, state)
    if variant is None:
        return None
    return _core.Point(point.name, lambda at, given: variant.function)


def instead(unit: Any, point: Any, state: tuple[Any, ...], compiling: bool) -> Variant | None:
    """The variant that was put aside, where the one that is to take its place may not be made now:
    to expect a branch to go as before is no reason to fail, or to interpret. It comes back if the
    branch has turned meanwhile. `compiling`: this thread compiles already."""
    data = point.data
    kept = fitting(data, state)
    if kept is None:
        return None
    if kept.ends_at not in unit.branches.expected():
        put_back(point, kept)
        return kept
    count = len(data.variants)
    if count >= data.full_at or (count and count >= unit.options.limit()) or data.given_up:
        return kept
    forbidden = stance.current() != "default" or config.error_on_recompile
    return kept if forbidden or compiling or switches.disabled() else None
