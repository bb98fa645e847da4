"""collections: the helpers written in C behind classes written in Python."""

from __future__ import annotations

import collections
from collections.abc import Iterable, MutableMapping
from typing import Any

from suture.rules.substitutes import substitute


@substitute(collections._count_elements)  # type: ignore[attr-defined]
def count_elements(mapping: MutableMapping[Any, int], iterable: Iterable[Any], /) -> None:
    """What fills a Counter."""
    for item in iterable:
        mapping[item] = mapping.get(item, 0) + 1
