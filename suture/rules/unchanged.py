"""A block that changes nothing. The tracer goes into this file."""

from __future__ import annotations

from typing import TypeVar

F = TypeVar("F")


class Unchanged:
    """Stands for a context manager and decorator of torch that sets what suture does anyway."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, *exc: object) -> None:
        return None

    def __call__(self, fn: F) -> F:
        return fn
