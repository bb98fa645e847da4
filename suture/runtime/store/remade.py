"""Objects of ours that are kept by their parts: predicates of guards, readers of sources, nodes."""

from __future__ import annotations

from typing import Any

from suture.runtime import predicates
from suture.runtime.crossings import Crossing
from suture.runtime.reads import NthHook, RawItem

BY_NAME: dict[str, Any] = {
    one.__name__: one
    for one in (*predicates.Predicate.__subclasses__(), RawItem, NthHook, Crossing)
}
PREDICATES = frozenset(BY_NAME.values())
