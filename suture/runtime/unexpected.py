"""What a point learns when a condition was not as its variant expected, and how variants that
expect what earlier calls did take the place of those that end at the branch."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from suture._core import Point
from suture.runtime.branches import Branches, Position
from suture.runtime.fallbacks import other_point, restore

Drop = Callable[[Any, Any], bool]


class Expected(NamedTuple):
    """What a variant expects of a condition on data. `kept`: it hangs on what modules keep;
    `learned`: it went so in earlier calls; `skips`: where it does not hold, the graph ran what the
    program skips."""

    position: Position
    truth: bool
    kept: bool
    learned: bool
    skips: bool


def expect(
    handler: Any, checks: Sequence[Expected], unit: Any, point: Point, variant: Any, drop: Drop
) -> None:
    """Let the handler of a variant's conditions (`AfterCheck`) tell the point of those that did not
    hold."""
    variant.own = True
    if not unit.options.fullgraph:  # a break instead would be an error
        known = (checks, point, variant, drop, unit.branches)
        handler.tell = _forget_after(*known)
        handler.other = _without_expecting(*known)


def _forget_after(
    checks: Sequence[Expected], point: Point, variant: Any, drop: Drop, branches: Branches
) -> Any:
    """Drop the variant when one of the checks fails, and expect it to hold no more; what hangs on
    what modules keep may change once, and the point is entered again. What was expected because of
    earlier calls may fail now and then: the region is run as it was before. Called with what the
    conditions were, and the state."""
    ref = weakref.ref(point)

    def forget(truths: tuple[bool, ...], state: tuple[Any, ...]) -> Any:
        at = ref()
        if at is None:  # all was forgotten meanwhile
            return None
        failed = [one for one, truth in zip(checks, truths) if truth is not one.truth]
        if failed and failed[0].learned:
            # Those after it were computed for a branch that the program did not take.
            _failed(at, variant, failed[0].position, drop, branches)
            return other_point(at, state)
        known = drop(at, variant)
        if at.data.history is not None:  # of a variant from the cache there is none
            at.data.history.unexpected([(one.position, one.kept) for one in failed])
        elif not known:
            return None
        return at if failed and all(one.kept for one in failed) else None

    return forget


def _failed(point: Point, variant: Any, position: Any, drop: Drop, branches: Branches) -> None:
    """A branch did not go as in earlier calls. If it is given up, the variant goes, and those that
    end at the branch come back."""
    data = point.data
    if not branches.failed(position) or not drop(point, variant):
        return
    for kept in [v for v in data.fallbacks if v.ends_at == position]:
        restore(point, kept)


def _without_expecting(
    checks: Sequence[Expected], point: Point, variant: Any, drop: Drop, branches: Branches
) -> Any:
    """What runs a region in the place of a variant that expects what earlier calls did. Called
    with whether its graph raised, and the state. Which of the conditions did not hold is not known
    then: the first stands for all."""
    ref = weakref.ref(point)
    learned = [check.position for check in checks if check.learned]
    skips = [(check.position, False) for check in checks if check.skips]

    def other(raised: bool, state: tuple[Any, ...]) -> Any:
        at = ref()
        if raised and skips and at is not None and at.data.history is not None:
            drop(at, variant)
            at.data.history.unexpected(skips)
            return at
        if at is None or not learned:
            return None
        if raised:
            _failed(at, variant, learned[0], drop, branches)
        return other_point(at, state)

    return other
