"""Names of parameters that are the same in every process, so that tests can be shared out."""

from __future__ import annotations

import re


def named(value: object) -> str:
    """The value as text, without the addresses in it."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))
