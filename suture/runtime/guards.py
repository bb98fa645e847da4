"""What a variant assumed, and the program that checks it.

The tracer adds guards by source while it reads; `finish` turns them into one
`_core.GuardProgram`. The text of each guard and the user's line that made it stay in
`Guards.entries`, so a failing guard can be reported in the user's terms.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from suture import _core
from suture.runtime.reads import storage_of
from suture.runtime.sources import Source


@dataclass(slots=True)
class Guard:
    """One check on one source, and the line of the user's program that caused it."""

    source: Source | None
    kind: str
    arg: Any
    where: tuple[str, int] | None = None

    def text(self) -> str:
        path = self.source.path() if self.source is not None else ""
        return _KINDS[self.kind].text(path, self.arg)


def _short(value: Any) -> str:
    from suture.breaks import readable  # texts are for people: a call makes none

    return readable(value, 120)


def _weak_name(value: Any) -> str:
    """The class of an object that may be held weakly, or be gone."""
    if isinstance(value, weakref.ref):
        value = value()
    return type(value).__qualname__ if value is not None else "object"


@dataclass(frozen=True, slots=True)
class _Kind:
    """What is said of all guards of a kind.

    text           (path, argument) -> the guard as an expression, for people
    by_value       the argument is small and hashable: guards with equal ones are the same
    whole_program  it is about several sources or none, so it belongs to no node of the tree
    """

    text: Callable[[str, Any], str]
    by_value: bool = False
    whole_program: bool = False


# The core has the check of each kind (csrc/guard_checks.c, guard_relations.c).
_KINDS = {
    "is": _Kind(lambda p, a: f"{p} is {_short(a)}"),
    "weak": _Kind(lambda p, a: f"{p} is the {_weak_name(a)} it was"),
    "type": _Kind(lambda p, a: f"type({p}) is {a.__module__}.{a.__qualname__}"),
    "equals": _Kind(lambda p, a: f"{p} == {_short(a)}"),
    "len": _Kind(lambda p, a: f"len({p}) == {a}", by_value=True),
    "keys": _Kind(lambda p, a: f"list({p}) == {_short(list(a))}"),
    "no_key": _Kind(lambda p, a: f"{_short(a)} not in {p}", by_value=True),
    "no_attr": _Kind(lambda p, a: f"not hasattr({p}, {a!r})", by_value=True),
    "no_mro_attr": _Kind(lambda p, a: f"{p} has no {a!r}", by_value=True),
    "tensor": _Kind(lambda p, a: f"{p}: {_short(a)}"),
    "int": _Kind(lambda p, a: f"type({p}) is int", by_value=True),
    "float": _Kind(lambda p, a: f"type({p}) is float", by_value=True),
    "bool": _Kind(lambda p, a: f"type({p}) is bool", by_value=True),
    "unbound": _Kind(lambda p, a: f"{p} is unbound", by_value=True),
    "truth": _Kind(lambda p, a: f"{getattr(a, '__name__', a)}({p})"),
    "exists": _Kind(lambda p, a: f"{p} exists", by_value=True),
    "same": _Kind(lambda p, a: f"{p} is {a.path()}", whole_program=True),
    "distinct": _Kind(
        lambda p, a: "no two of " + ", ".join(s.path() for s in a) + " are one object",
        whole_program=True,
    ),
    "expr": _Kind(lambda p, a: str(a[-1]), whole_program=True),
    "expr_py": _Kind(lambda p, a: str(a[-1]), whole_program=True),
    "torch_state": _Kind(lambda p, a: f"torch state: {a[2]} == {_short(a[1])}", whole_program=True),
}


_BY_VALUE = frozenset(name for name, kind in _KINDS.items() if kind.by_value)
_WHOLE_PROGRAM = frozenset(name for name, kind in _KINDS.items() if kind.whole_program)


class Guards:
    """Collects guards during one trace; each (source, kind, argument) once. `anew` holds objects
    that are others in each call, by id, with the sources where they are then."""

    __slots__ = ("_seen", "anew", "entries", "where")

    def __init__(self) -> None:
        self.entries: list[Guard] = []
        self._seen: set[Any] = set()
        self.anew: dict[int, tuple[Any, Source]] = {}
        self.where: Any = None  # callable giving (file, line); set by the tracer

    def add(self, source: Source | None, kind: str, arg: Any = None) -> None:
        """Require `kind` of the value at `source`. Cheap to call again with the same arguments."""
        if self.anew and kind in ("is", "weak", "type") and id(arg) in self.anew:
            assert source is not None  # only guards of the whole program have none
            self._add_same(source.type() if kind == "type" else source, self.anew[id(arg)][1])
            return
        key = (id(source), kind, arg if kind in _BY_VALUE else id(arg))
        if key in self._seen:
            return
        self._seen.add(key)
        self.entries.append(Guard(source, kind, arg, self.where() if self.where else None))

    def _add_same(self, source: Source, other: Source) -> None:
        """An object that is another one in each call is the same at both sources."""
        if source is not other:
            self.add(source, "same", other)


class _Node:
    __slots__ = ("checks", "children", "id", "label", "picks", "source")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.id = -1
        self.checks: list[tuple[Any, ...]] = []
        self.children: list[_Node] = []
        self.label: int | None = None
        self.picks: tuple[int, int] | None = None  # the labels of what an item is picked from

    def describe(self) -> tuple[Any, ...]:
        return (
            self.source.kind,
            self.source.arg if self.picks is None else self.picks,
            tuple(self.checks),
            tuple([c.describe() for c in self.children]),
            self.label,
            self.id,
        )


class _Tree:
    """What is read, by source: each below what it is read from. There are no reference cycles: the
    objects that guards are about are freed as soon as the program drops them."""

    def __init__(self) -> None:
        self.roots: list[_Node] = []
        self.picked: list[_Node] = []  # roots too, after those their list and index are below
        self.nodes: dict[int, _Node] = {}  # by the ids of their sources
        self._labels = itertools.count()

    def node(self, source: Source) -> _Node:
        found = self.nodes.get(id(source))
        if found is None:
            found = self.nodes[id(source)] = _Node(source)
            if source.kind == "pick" and source.base is not None:
                found.picks = self.label(source.base), self.label(source.arg)
                self.picked.append(found)
            else:
                above = self.node(source.base).children if source.base is not None else self.roots
                above.append(found)
        return found

    def label(self, source: Source) -> int:
        at = self.node(source)
        if at.label is None:
            at.label = next(self._labels)
        return at.label


def finish(guards: Guards) -> _core.GuardProgram:
    """The guard program of everything collected, in the order it was asked for."""
    tree = _Tree()
    node, label, nodes = tree.node, tree.label, tree.nodes
    same, distinct, exprs, state = [], [], [], []
    for number, guard in enumerate(guards.entries):
        if guard.kind not in _WHOLE_PROGRAM:
            assert guard.source is not None  # only guards of the whole program have none
            at = nodes.get(id(guard.source)) or node(guard.source)
            if at.id < 0:
                at.id = number
            if guard.kind != "exists":
                at.checks.append((guard.kind, guard.arg, number))
        elif guard.kind == "same":
            assert guard.source is not None
            same.append((label(guard.source), label(guard.arg), number))
        elif guard.kind == "distinct":
            memory = all(s.kind == "call" and s.arg is storage_of for s in guard.arg)
            of = [s.base for s in guard.arg] if memory else guard.arg  # the core reads it itself
            distinct.append((tuple(map(label, of)), number, memory))
        elif guard.kind in ("expr", "expr_py"):
            symbols, code = guard.arg[0], guard.arg[1]
            exprs.append((number, tuple((label(s), k, d) for s, k, d in symbols), code))
        else:
            state.append((guard.arg[0], guard.arg[1], number))
    return _core.GuardProgram(
        tuple(r.describe() for r in (*tree.roots, *tree.picked)),
        tuple(same),
        tuple(distinct),
        tuple(exprs),
        tuple(state),
    )
