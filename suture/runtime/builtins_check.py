"""Whether the builtins are Python's own."""

from __future__ import annotations

import builtins
from builtins import all, map  # noqa: UP029  (as they are before the program can replace them)
from operator import is_

_NAMES = tuple(
    name
    for name, value in vars(builtins).items()
    if isinstance(value, type) or name in (
        "__import__", "abs", "all", "any", "callable", "getattr", "hasattr", "hash", "id",
        "isinstance", "issubclass", "iter", "len", "max", "min", "next", "repr",
        "setattr", "sorted", "sum",
    )
)  # fmt: skip
_VALUES = tuple(vars(builtins)[name] for name in _NAMES)


def builtins_replaced() -> bool:
    """Whether the program has put something else in the place of a builtin that suture's own code
    uses too: nothing is compiled meanwhile."""
    return not all(map(is_, map(builtins.__dict__.get, _NAMES), _VALUES))
