"""A miss, asked of the cache before the compiler is."""

from __future__ import annotations

import logging
from typing import Any

from suture.runtime.points import Variant
from suture.runtime.store import files
from suture.runtime.store.environment import key_of
from suture.runtime.store.install import Unfit, install
from suture.runtime.store.literals import Unstorable
from suture.runtime.unit import LOCK, Unit

_log = logging.getLogger("suture.cache")


def variant_for(unit: Unit, point: Any, state: tuple[Any, ...]) -> Variant | None:
    """A variant that fits the state and was compiled by another process; None if there is none,
    with a line in the log that says why each of those that were looked at is not used."""
    root = files.folder()
    if root is None:
        return None
    try:
        key = key_of(unit.options, point.data.chain)
    except Unstorable as error:
        _log.info("%s: the cache is not asked: %s", point.name, error)
        return None
    with LOCK:
        return _first_that_fits(unit, point, state, root, key)


def _first_that_fits(
    unit: Unit, point: Any, state: tuple[Any, ...], root: Any, key: str
) -> Variant | None:
    for path in files.names(root, key):
        if path.name in point.data.stored:
            continue  # its guards are among those that were just asked
        try:
            found = install(unit, point, state, files.read(path, key))
        except files.Unreadable as error:
            _log.warning("%s: %s is not used: %s", point.name, path, error)
            continue
        except Unfit as error:
            _log.info("%s: %s is not used: %s", point.name, path.name, error)
            continue
        except RecursionError:
            return None
        point.data.stored.add(path.name)
        _log.info("%s: variant %d comes from %s", point.name, found.number, path.name)
        return found
    return None
