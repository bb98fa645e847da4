"""What `suture minify` finds, and when two failures are one."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Minified:
    """The smaller script, the error, and how many of what (`unit`) there were before and after."""

    script: str
    error: BaseException
    before: int
    after: int
    unit: str


def kind_of(error: BaseException) -> tuple[type, str]:
    """What two errors have in common if they have one cause: numbers and names may differ."""
    first = str(error).strip().splitlines()[:1]
    return type(error), re.sub(r"\d+", "0", first[0]) if first else ""
