"""What a point learns when a condition was not as its variant expected."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any


def forget_after(checks: Any, point: Any, variant: Any, drop: Callable[[Any, Any], None]) -> Any:
    """Drop the variant when one of the checks fails, and expect it to hold no more; what hangs on
    what modules keep may change once, and the point is entered again. Called with what the
    conditions were."""
    ref = weakref.ref(point)
    expected = [(check.position, check.expected, check.from_module_state) for check in checks]

    def forget(truths: tuple[bool, ...]) -> Any:
        at = ref()
        if at is None or at.data.history is None:  # all was forgotten meanwhile
            return None
        failed = [
            (place, stands)
            for (place, wanted, stands), truth in zip(expected, truths)
            if truth is not wanted
        ]
        at.data.history.unexpected(failed)
        if variant in at.data.variants:
            drop(at, variant)
        return at if failed and all(stands for _, stands in failed) else None

    return forget
