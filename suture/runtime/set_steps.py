"""Making a set by the operations that the program made it by: its table comes out the same.

The order of a set is that of its hash table, and so are the places of what comes in later: they
depend on the size of the table and on what has left it. A list of steps has all of that.
"""

from __future__ import annotations

from typing import Any

# A step is the name of a method of set, whether the set that it returns is the one that goes on,
# and its operands: ("key", k), ("list", keys), ("dict", keys), ("set", steps),
# ("frozen", frozenset), ("outside", position among the sets given). BE goes on with its operand.
Step = tuple[str, bool, tuple[tuple[str, Any], ...]]
BE = "be"


def follow(
    steps: tuple[Step, ...],
    outside: tuple[Any, ...] = (),
    given: set[Any] | frozenset[Any] | None = None,
) -> Any:
    """A new set, or the given one, that has gone through the steps. An empty frozenset gives
    another one: its union with members fills a table as `update` does."""
    made: Any = set() if given is None else given
    for name, goes_on, operands in steps:
        others = [_operand(kind, of, outside) for kind, of in operands]
        if name == BE:
            made = others[0]
            continue
        base: Any = set if isinstance(made, set) else frozenset  # whatever a class says
        if name == "update" and base is frozenset:
            name, goes_on = "union", True
        done = getattr(base, name)(made, *others)
        if goes_on:
            made = done
    return made


def _operand(kind: str, of: Any, outside: tuple[Any, ...]) -> Any:
    if kind == "set":
        return follow(of, outside)
    if kind == "outside":
        return outside[of]
    return list(of) if kind == "list" else dict.fromkeys(of) if kind == "dict" else of
