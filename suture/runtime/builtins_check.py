"""Whether the builtins are Python's own."""

from __future__ import annotations

import builtins
from builtins import any

_BUILTINS = {
    name: value
    for name, value in vars(builtins).items()
    if isinstance(value, type) or name in (
        "__import__", "abs", "all", "any", "callable", "getattr", "hasattr", "hash", "id",
        "isinstance", "issubclass", "iter", "len", "max", "min", "next", "repr",
        "setattr", "sorted", "sum",
    )
}  # fmt: skip


def builtins_replaced() -> bool:
    """Whether the program has put something else in the place of a builtin that suture's own code
    uses too: nothing is compiled meanwhile."""
    now = builtins.__dict__
    return any(now.get(name) is not value for name, value in _BUILTINS.items())
