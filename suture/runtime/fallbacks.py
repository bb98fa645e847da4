"""Fallbacks: variants that end at a branch on data, kept for when another one speculates on it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from suture import _core, config, stance, switches
from suture.runtime.checks import tell_nobody
from suture.runtime.points import PointData, Variant, try_remove


def restore(point: _core.Point, variant: Variant) -> None:
    """A fallback is one of its point's again."""
    if not try_remove(point.data.fallbacks, variant):
        return  # another thread was faster
    point.data.variants.append(variant)
    point.add(variant.function, variant.program, variant.general)


def fitting(data: PointData, state: tuple[Any, ...]) -> Variant | None:
    """A fallback that fits the state; None if there is none."""
    return next((v for v in data.fallbacks if v.program.check(*state)), None)


def other_point(point: _core.Point, state: tuple[Any, ...]) -> Any:
    """A point whose one variant ends at the branch and fits the state; None if there is none."""
    variant = fitting(point.data, state)
    if variant is None:
        return None
    return _core.Point(point.name, lambda at, given: variant.function)


def fallback_for(
    unit: Any, point: _core.Point, state: tuple[Any, ...], compiling: bool
) -> Variant | None:
    """The fallback, where the variant that is to speculate may not be made now:
    to expect a branch to go as before is no reason to fail, or to interpret. It comes back if the
    branch has turned meanwhile. `compiling`: this thread compiles already."""
    data = point.data
    kept = fitting(data, state)
    if kept is None:
        return None
    if kept.ends_at not in unit.branches.expected():
        restore(point, kept)
        return kept
    count = len(data.variants)
    if count >= data.full_at or (count and count >= unit.options.limit()) or data.never_compiles:
        return kept
    forbidden = stance.current() != "default" or config.error_on_recompile
    return kept if forbidden or compiling or switches.disabled() else None


def watch(
    seen: Any, unit: Any, point: _core.Point, variant: Variant, drop: Callable[[Any, Variant], bool]
) -> None:
    """Let a variant tell how the branch goes that it ends with, if the branch may be expected to go
    one way later. When that is steady the variant is made a fallback, and the next call makes one
    that expects the branch to go so again."""
    if not _may_expect(unit, point.data, seen.position):
        return
    variant.ends_at = seen.position
    ref, own, branches = weakref.ref(point), weakref.ref(variant), unit.branches

    def tell(truth: bool) -> None:
        at, ending = ref(), own()
        if not branches.saw(seen.position, truth) or at is None or ending is None:
            if branches.is_unpredictable(seen.position):
                seen.tell = tell_nobody
            return
        if ending in at.data.variants and branches.may_speculate() and drop(at, ending):
            at.data.fallbacks.append(ending)

    seen.tell = tell


def _may_expect(unit: Any, data: PointData, position: Any) -> bool:
    history = data.history  # None while the compiler was not asked: nothing has failed yet
    if unit.options.fullgraph or (history and position in history.plan().unexpected):
        return False
    return position not in unit.branches.expected()
