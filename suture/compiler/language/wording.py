"""What the running Python says of an object that cannot do something, in its own words.

The text of an error changes from one Python to the next, and so does how it names the type. Both
are read off an error about an object of a class made for that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suture._core import type_name

_SHORT, _MODULE, _QUALIFIED = "Asked", "module_of_asked", "Outer.Asked"
_FULL = f"{_MODULE}.{_QUALIFIED}"


def words(does: Callable[[Any], object]) -> Callable[[type], str]:
    """The text of the TypeError that `does` raises for an object of a class that has no methods,
    as a function of the class."""
    asked = type(_SHORT, (), {"__module__": _MODULE, "__qualname__": _QUALIFIED})
    try:
        does(asked())
    except TypeError as error:
        text = str(error)
    else:
        raise AssertionError("an object without methods cannot do that")
    if _FULL in text:
        return lambda cls: text.replace(_FULL, _full_name(cls))
    return lambda cls: text.replace(_SHORT, type_name(cls))


def _full_name(cls: type) -> str:
    """The name of a class with its module, unless that is Python's own or the program itself. The
    class itself is not asked: its metaclass may answer otherwise, or refuse."""
    if not _FLAGS(cls) & _MADE_AT_RUN_TIME:
        return type_name(cls)
    module = _MODULE_OF(cls)
    if not isinstance(module, str) or module in ("builtins", "__main__"):
        return str(_QUALIFIED_NAME_OF(cls))
    return f"{module}.{_QUALIFIED_NAME_OF(cls)}"


_FLAGS, _MODULE_OF, _QUALIFIED_NAME_OF = (
    vars(type)[name].__get__ for name in ("__flags__", "__module__", "__qualname__")
)
_MADE_AT_RUN_TIME = 1 << 9  # Py_TPFLAGS_HEAPTYPE: others have the whole name in C
