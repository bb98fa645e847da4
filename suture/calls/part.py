"""The tracer is made of parts, one per family of operations.

Each part is a mixin of `tracer.Tracer` and calls the others through `self`. To the type checker
a part has every attribute; which part has which is plain from the files' names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any


class Part:
    """Base of all parts of the tracer."""

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...
