"""Mutations seen while tracing, in order, to put back when the region ends.

No object of the program is changed while tracing: abstract values change, and are noted here the
first time they do. The emitter lets each write itself back. Global variables have no abstract
container of their own; their new values are kept here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Answer:
    """What a cached function gave when it was traced: `value`, for the arguments in `key`. `span`
    are the births before and after, between which are those of the objects that it made; `changes`
    counts those that had been made by then; `position` is the call, as (code, index)."""

    key: Any
    value: Any
    span: tuple[int, int]
    changes: int
    position: Any


class Effects:
    """`touched`: changed objects in the order of their first change. `globals`: new values of
    global variables by (id of the globals dict, name). `calls`: functions to call with values that
    never change, in order. `passed`: (exception, code, globals, offset) for each frame that an
    exception from outside went through; (exception, None, context, 0) where it was raised.
    `unfinished`: what the region has begun and must not end with, such as a collective that nobody
    has waited for; making one real says what to do instead. `owners`: by the id of an instance's
    dict, the keys in `touched` of those whose dict it is, of the first `indexed` that were touched.
    `changes` counts every change: an instruction that has made one cannot be left to Python as if
    it had not begun, so a break in it traces the region again and stops before it. `log` has, for
    each change, when the changed object was made; 0 if the region did not make it. `answers`: of
    functions with a cache."""

    __slots__ = (
        "answers", "calls", "changes", "globals", "indexed", "log", "owners", "passed", "touched",
        "unfinished",
    )  # fmt: skip

    def __init__(self) -> None:
        self.touched: dict[int, Any] = {}
        self.owners: dict[int, list[int]] = {}
        self.indexed = 0
        self.globals: dict[tuple[int, str], tuple[dict[str, Any], Any]] = {}
        self.calls: list[tuple[Any, list[Any], dict[str, Any]]] = []
        self.passed: list[tuple[Any, Any, Any, int]] = []
        self.unfinished: list[Any] = []
        self.changes = 0
        self.log: list[int] = []
        self.answers: list[Answer] = []

    def note_change(self) -> None:
        """The instruction that runs now has changed something of the trace or of the process."""
        self.changes += 1
        self.log.append(0)

    def touch(self, variable: Any) -> None:
        self.changes += 1
        self.log.append(0 if variable.source is not None else getattr(variable, "born", 0))
        self.touched.setdefault(id(variable), variable)

    def call(self, fn: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
        """Call `fn` when the region ends."""
        self.note_change()
        self.calls.append((fn, args, kwargs))

    def absorb(self, later: Effects) -> None:
        """Add what was noted apart, from a moment on. `later` began with these globals."""
        for key, variable in later.touched.items():
            self.touched.setdefault(key, variable)
        self.globals = later.globals
        self.calls += later.calls
        self.passed += later.passed
        self.changes += later.changes
        earlier = len(self.log)
        self.answers += [replace(a, changes=a.changes + earlier) for a in later.answers]
        self.log += later.log

    def store_global(self, namespace: dict[str, Any], name: str, value: Any) -> None:
        """Set global `name`; value None deletes it."""
        self.note_change()
        key = (id(namespace), name)
        self.globals.pop(key, None)  # the last store decides the order
        self.globals[key] = (namespace, value)

    def load_global(self, namespace: dict[str, Any], name: str) -> tuple[bool, Any]:
        """(True, value) if the region has set or deleted the name, else (False, None)."""
        found = self.globals.get((id(namespace), name))
        return (False, None) if found is None else (True, found[1])
