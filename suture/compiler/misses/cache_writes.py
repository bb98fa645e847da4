"""Keeping a variant for the next process: described before it runs, then written."""

from __future__ import annotations

import logging
from typing import Any

from suture._core import Point
from suture.compiler.capture import Capture
from suture.compiler.misses.describe import describe
from suture.runtime.store import files
from suture.runtime.store.environment import key_of
from suture.runtime.store.literals import Unstorable
from suture.runtime.store.pending_writes import PendingWrite, finish, write_when_complete
from suture.runtime.unit import Unit

_log = logging.getLogger("suture.cache")


def described(
    unit: Unit, point: Point, state: tuple[Any, ...], capture: Capture, emitted: Any
) -> PendingWrite | None:
    """The key and the artefact of a variant; None, with a line in the log, if it is not kept."""
    root, data = files.folder(), point.data
    if root is None:
        return None
    try:
        key = key_of(unit.options, data.chain)
        made = describe(data.chain, state, capture, emitted, unit.branches.expected())
        return PendingWrite(point.name, root, key, *made, data.stored, data.unkept)
    except (Unstorable, LookupError, RecursionError, OSError) as error:
        _log.info("%s: not kept: %s", point.name, error)
        data.unkept.append(str(error))
        return None


def write(kept: PendingWrite | None, caller: Any) -> None:
    """Write it to the disk; if something of it is known only when its graph has run, after that."""
    if kept is not None and not write_when_complete(kept) and caller is not None:
        caller.follow(lambda _: finish())
