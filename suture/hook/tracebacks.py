"""Tracebacks as the user expects them: no line of a variant, none of the operations it runs."""

from __future__ import annotations

import os

_HERE = os.path.dirname(__file__)
OWN = tuple(os.path.join(_HERE, name) for name in ("operations.py", "async_operations.py"))
VARIANT = "<suture "  # how the file names of variants begin


def clean_traceback(exc: BaseException) -> None:
    """Remove the leading entries that are ours: the variant's frame, then the operation's."""
    entry = exc.__traceback__
    while entry is not None:
        name = entry.tb_frame.f_code.co_filename
        if not name.startswith(VARIANT) and name not in OWN:
            break
        entry = entry.tb_next
    exc.__traceback__ = entry


def set_context(exc: BaseException, handled: BaseException) -> None:
    """What `raise exc` does while `handled` is being handled: its context, without circles."""
    if exc is handled:
        return
    at = handled
    while at.__context__ is not None:
        if at.__context__ is exc:
            at.__context__ = None
            break
        at = at.__context__
    exc.__context__ = handled
