"""Functions that are called while tracing and would warn: the program is to make the call itself,
since a warning says where it was made."""

from __future__ import annotations

import threading
import types
import warnings
from typing import Any

from suture.breaks import Break, calls


class _Warned(BaseException):
    """A function that is called while tracing is about to warn."""


def without_warnings(real: types.FunctionType, values: list[Any], named: dict[str, Any]) -> Any:
    """`real(*values, **named)`, a pure function in Python; Break if it would warn."""
    warn, here = warnings.warn, threading.get_ident()

    def refuse(
        message: Any, category: Any = None, stacklevel: int = 1, source: Any = None, **more: Any
    ) -> None:
        if threading.get_ident() == here:
            raise _Warned
        warn(message, category, stacklevel + 1, source, **more)

    warnings.warn = refuse
    try:
        return real(*values, **named)
    except _Warned:
        raise Break(calls.C_FUNCTION, function=real.__qualname__) from None
    finally:
        warnings.warn = warn
