"""What a user sees of a variant on the stack: the program's own line, and in tracebacks nothing."""

from __future__ import annotations

import os
import types
from typing import Any

from suture import _core

_HERE = os.path.dirname(__file__)
_OPERATIONS = ("operations.py", "async_operations.py", "exception_groups.py")
OWN = tuple(os.path.join(_HERE, name) for name in _OPERATIONS)
VARIANT = "<suture "  # how the qualified names of variants begin


def relocated(variant: types.CodeType, code: Any, index: int) -> types.CodeType:
    """A variant's code with the file, the name and the line of instruction `index` of the code it
    stands for: whoever looks at the caller's frame (logging, warnings) finds the program."""
    line = code.line(min(index, len(code.instructions) - 1)) or code.code.co_firstlineno
    units = len(variant.co_code) // 2
    table = bytearray()
    for at in range(0, units, _MOST_UNITS):
        count = min(_MOST_UNITS, units - at)
        table += bytes((0x80 | _NO_COLUMNS << 3 | count - 1, 0))  # as many units on the same line
    return variant.replace(
        co_filename=code.code.co_filename,
        co_name=code.code.co_name,
        co_qualname=variant.co_filename,
        co_firstlineno=line,
        co_linetable=bytes(table),
    )


# Of the table of lines in a code object: a kind of entry, and how much code one entry covers.
_NO_COLUMNS = 13
_MOST_UNITS = 8


def is_variant(code: types.CodeType) -> bool:
    """Whether the code is that of a variant."""
    return code.co_qualname.startswith(VARIANT)


def clean_traceback(exc: BaseException) -> None:
    """Remove the leading entries that are ours: the variant's frame, then the operation's."""
    entry = exc.__traceback__
    while entry is not None:
        code = entry.tb_frame.f_code
        if not is_variant(code) and code.co_filename not in OWN:
            break
        entry = entry.tb_next
    exc.__traceback__ = entry


def keep_alive(
    exc: BaseException, code: types.CodeType, space: dict[str, Any], slots: tuple[Any, ...]
) -> None:
    """The frame of `code`, which `exc` has passed, ends with these slots: as long as the traceback
    lives, they do."""
    entry = exc.__traceback__
    if entry is None or entry.tb_frame.f_code is not code:
        return
    holder = Exception()
    _core.add_traceback(holder, code, space, entry.tb_lasti, slots)
    made = holder.__traceback__
    if made is not None:
        exc.__traceback__ = types.TracebackType(
            entry.tb_next, made.tb_frame, entry.tb_lasti, entry.tb_lineno
        )


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
