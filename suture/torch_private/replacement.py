"""Attributes of torch that stand for others while a block is open."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class Replacement:
    """A context manager that may be nested, and entered by several threads: other attributes stand
    there from the first block that is entered to the last one that is left. They belong to the
    whole process.

    `make()` gives the object and its new attributes by name; None where torch is not as it is
    known: then nothing is replaced, and it is asked again by the next block.
    """

    def __init__(self, make: Callable[[], tuple[Any, dict[str, Any]] | None]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._open = 0  # blocks
        self._of: Any = None
        self._before: dict[str, Any] = {}  # torch's own, while others stand there

    def __enter__(self) -> None:
        with self._lock:
            made = None if self._before else self._make()
            if made is not None:
                self._of, attributes = made
                self._before = {name: getattr(self._of, name) for name in attributes}
                self._put(attributes)
            self._open += 1

    def __exit__(self, *raised: object) -> None:
        with self._lock:
            self._open -= 1
            if not self._open:
                self._put(self._before)
                self._of, self._before = None, {}

    def _put(self, attributes: dict[str, Any]) -> None:
        for name, value in attributes.items():
            setattr(self._of, name, value)
