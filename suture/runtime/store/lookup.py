"""A miss, asked of the cache, and of the file that was loaded, before the compiler is."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from suture._core import Point
from suture.runtime.points import Variant
from suture.runtime.store import files
from suture.runtime.store.environment import key_of, place_key
from suture.runtime.store.install import install
from suture.runtime.store.literals import Unstorable
from suture.runtime.store.references import Unfit
from suture.runtime.unit import LOCK, Unit

_log = logging.getLogger("suture.cache")
Offer = tuple[
    str, Path, Callable[[], dict[str, Any]]
]  # a name, where its files are, how to read it


def variant_for(unit: Unit, point: Point, state: tuple[Any, ...]) -> Variant | None:
    """A variant that fits the state and was compiled by another process; None if there is none,
    with a line in the log that says why each of those that were looked at is not used."""
    try:
        offers = [*_shipped(unit, point), *_cached(unit, point)]
    except Unstorable as error:
        _log.info("%s: the cache is not asked: %s", point.name, error)
        return None
    with LOCK:
        return _first_that_fits(unit, point, state, offers)


def _shipped(unit: Unit, point: Point) -> Iterator[Offer]:
    """What the file that was loaded has for a point."""
    if unit.shipped is None:
        return
    found = unit.shipped.artefacts(place_key(unit.options, point.data.chain))
    if not found:
        _log.info("%s: the file has nothing for this place and these settings", point.name)
    for name, artefact in found:
        yield name, unit.shipped.root, lambda artefact=artefact: artefact  # type: ignore[misc]


def _cached(unit: Unit, point: Point) -> Iterator[Offer]:
    """What the cache has for a point."""
    root = files.folder()
    if root is None:
        return
    key = key_of(unit.options, point.data.chain)
    for path in files.names(root, key):
        yield path.name, root, lambda path=path: files.read(path, key)  # type: ignore[misc]


def _first_that_fits(
    unit: Unit, point: Point, state: tuple[Any, ...], offers: list[Offer]
) -> Variant | None:
    for name, root, read in offers:
        if name in point.data.stored:
            continue  # its guards are among those that were just asked
        try:
            found = install(unit, point, state, read(), root)
        except files.Unreadable as error:
            _log.warning("%s: %s is not used: %s", point.name, name, error)
            continue
        except Unfit as error:
            _log.info("%s: %s is not used: %s", point.name, name, error)
            continue
        except RecursionError:
            return None
        point.data.stored.add(name)
        _log.info("%s: variant %d comes from %s", point.name, found.number, name)
        return found
    return None
