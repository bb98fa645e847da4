"""What a point learns when a condition was not as its variant expected, and how variants that
expect what earlier calls did take the place of those that end at the branch."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from suture import _core
from suture.dispatch.branches import Branches

Drop = Callable[[Any, Any], None]


def forget_after(checks: Any, point: Any, variant: Any, drop: Drop, branches: Branches) -> Any:
    """Drop the variant when one of the checks fails, and expect it to hold no more; what hangs on
    what modules keep may change once, and the point is entered again. What was expected because of
    earlier calls may fail now and then: the region is run as it was before. Called with what the
    conditions were, and the state."""
    ref = weakref.ref(point)
    expected = [(c.place, c.expected, c.stands, c.learned) for c in checks]

    def forget(truths: tuple[bool, ...], state: tuple[Any, ...]) -> Any:
        at = ref()
        if at is None:
            return None
        failed = [one for one, truth in zip(expected, truths) if truth is not one[1]]
        if failed and failed[0][3]:
            # Those behind it were computed for a way that the program did not go.
            _failed(at, variant, failed[0][0], drop, branches)
            return other_point(at, state)
        at.data.history.unexpected([(place, stands) for place, _, stands, _ in failed])
        if variant in at.data.variants:
            drop(at, variant)
        return at if failed and all(stands for _, _, stands, _ in failed) else None

    return forget


def _failed(point: Any, variant: Any, place: Any, drop: Drop, branches: Branches) -> None:
    """A branch did not go as in earlier calls. If it is given up, the variant goes, and those that
    end at the branch come back."""
    data = point.data
    if not branches.failed(place) or variant not in data.variants:
        return
    drop(point, variant)
    for kept in [v for v in data.put_aside if v.ends_at == place]:
        put_back(point, kept)


def put_back(point: Any, variant: Any) -> None:
    """A variant that was put aside is one of its point's again."""
    point.data.put_aside.remove(variant)
    point.data.variants.append(variant)
    point.add(variant.function, variant.program, variant.general)


def without_expecting(checks: Any, point: Any, variant: Any, drop: Drop, branches: Branches) -> Any:
    """What runs a region in the place of a variant that expects what earlier calls did. Called
    with whether its graph raised, and the state. Which of the conditions did not hold is not known
    then: the first stands for all."""
    ref = weakref.ref(point)
    learned = [check.place for check in checks if check.learned]

    def other(raised: bool, state: tuple[Any, ...]) -> Any:
        at = ref()
        if at is None or not learned:
            return None
        if raised:
            _failed(at, variant, learned[0], drop, branches)
        return other_point(at, state)

    return other


def other_point(point: Any, state: tuple[Any, ...]) -> Any:
    """A point whose one variant ends at the branch and fits the state; None if there is none."""
    variant = fitting(point.data, state)
    if variant is None:
        return None
    return _core.Point(point.name, lambda at, given: variant.function)


def fitting(data: Any, state: tuple[Any, ...]) -> Any:
    """A variant that was put aside and fits the state; None if there is none."""
    return next((v for v in data.put_aside if v.program.check(*state)), None)


def watch(seen: Any, point: Any, variant: Any, drop: Drop, branches: Branches) -> None:
    """Let a variant tell how the branch goes that it ends with. When that is steady it is put
    aside, and the next call makes one that expects the branch to go so again."""
    variant.ends_at = seen.place
    ref, own = weakref.ref(point), weakref.ref(variant)

    def tell(truth: bool) -> None:
        at, ending = ref(), own()
        if not branches.saw(seen.place, truth) or at is None or ending is None:
            return
        if ending in at.data.variants and branches.may_put_aside():
            drop(at, ending)
            at.data.put_aside.append(ending)

    seen.tell = tell
