"""Variants on their way to the disk. Some wait for their first run: which configuration of a kernel
for a GPU is the fastest is measured then."""

from __future__ import annotations

import atexit
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suture.runtime.store import files
from suture.runtime.store.literals import Unstorable

_log = logging.getLogger("suture.cache")


@dataclass
class PendingWrite:
    """A variant that is described but for what `later` adds; each of these says whether it did.
    `stored` gets the name of its file, `unkept` the reason if it has none."""

    point: str
    root: Path
    key: str
    artefact: dict[str, Any]
    blobs: dict[str, bytes]
    later: list[Callable[[], bool]]
    stored: set[str]
    unkept: list[str]

    def is_done(self) -> bool:
        """Write it if nothing is missing; whether nothing more is to be done."""
        try:
            self.later = [add for add in self.later if not add()]
        except (Unstorable, LookupError, OSError) as error:
            _log.info("%s: not kept: %s", self.point, error)
            self.unkept.append(str(error))
            return True
        if self.later:
            return False
        path = files.write(self.root, self.key, self.artefact, self.blobs)
        if path is not None:
            self.stored.add(path.name)
            _log.info("%s: kept as %s", self.point, path.name)
        return True


_WAITING: list[PendingWrite] = []


def write_when_complete(variant: PendingWrite) -> bool:
    """Write a variant now, or when what it lacks is known (`finish`), at the latest when the
    process ends; whether it is written or given up."""
    finish()
    if variant.is_done():
        return True
    if not _WAITING:
        atexit.register(finish)
    _WAITING.append(variant)
    return False


def finish() -> None:
    """Write those that wait and lack nothing any more."""
    if not _WAITING:
        return
    waiting = _WAITING[:]
    _WAITING.clear()
    _WAITING.extend(one for one in waiting if not one.is_done())
