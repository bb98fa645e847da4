"""Exceptions of the traced program."""

from __future__ import annotations

from typing import NoReturn

from suture.compiler.abstract.declare import declared
from suture.compiler.core import Trace, Value


@declared
def raise_(trace: Trace, kind: type[BaseException], *args: object) -> NoReturn:
    """Raise `kind(*args)` in the traced program; the arguments are plain values."""


@declared
def raise_with(trace: Trace, kind: type[BaseException], args: list[Value]) -> NoReturn:
    """Raise `kind(*args)` in the traced program; the arguments are values."""


@declared
def traceback_of(trace: Trace, exc: Value) -> Value:
    """`exc.__traceback__`: only real exceptions have one; others have not been raised yet."""


@declared
def with_context(trace: Trace, exc: Value) -> Value:
    """Set __context__ as `raise` does: what is being handled right now."""
