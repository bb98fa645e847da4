"""Keeping a variant for the next process: described before it runs, then written."""

from __future__ import annotations

import logging
from typing import Any

from suture import config
from suture.compiler.capture import Capture
from suture.compiler.misses.describe import describe
from suture.runtime.store import files
from suture.runtime.store.environment import key_of
from suture.runtime.store.literals import Unstorable
from suture.runtime.unit import Unit

_log = logging.getLogger("suture.cache")


def described(
    unit: Unit, point: Any, state: tuple[Any, ...], capture: Capture, emitted: Any
) -> tuple[str, Any, Any] | None:
    """The key and the artefact of a variant; None, with a line in the log, if it is not kept."""
    if not config.cache_dir:
        return None
    try:
        key = key_of(unit.options, point.data.chain)
        return key, *describe(point.data.chain, state, capture, emitted)
    except (Unstorable, LookupError, RecursionError, OSError) as error:
        _log.info("%s: not kept: %s", point.name, error)
        point.data.unkept.append(str(error))
        return None


def write(point: Any, kept: tuple[str, Any, Any] | None) -> None:
    """Write it to the disk."""
    root = files.folder()
    if kept is None or root is None:
        return
    path = files.write(root, *kept)
    if path is not None:
        point.data.stored.add(path.name)
        _log.info("%s: kept as %s", point.name, path.name)
