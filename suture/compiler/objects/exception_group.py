"""Exception groups that are made while tracing."""

from __future__ import annotations

from typing import Any

from suture.breaks import Break, objects
from suture.compiler.core import Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects.exception import Raise
from suture.compiler.objects.list_ import List
from suture.compiler.objects.sequence import Sequence
from suture.compiler.objects.tuple_ import Tuple
from suture.runtime.exception_groups import share_traceback


class Group(Raise):
    """An object of ExceptionGroup or BaseExceptionGroup, not of a class derived from them.

    `message` and `members` stay what they were; `listed` says that it was made from a list. `of`
    is the group that it is a part of, if it came from a split, and `shared` is how much of the
    traceback it has in common with that."""

    __slots__ = ("listed", "members", "message", "of", "shared")

    def __init__(
        self, cls: type[BaseException], args: list[Value], members: list[Value], listed: bool
    ) -> None:
        super().__init__(cls, args)
        self.message = args[0]
        self.members = Tuple(list(members))
        self.listed = listed
        self.of: Group | None = None
        self.shared = 0

    def getattr(self, trace: Trace, name: str) -> Value:
        if name == "message":
            return self.message
        if name == "exceptions":
            return self.members
        return super().getattr(trace, name)

    def setattr(self, trace: Trace, name: str, value: Value) -> None:
        if name in ("message", "exceptions"):
            raise Break(
                objects.MUTATION_OF_UNKNOWN, operation=f"set {name}", object=self.describe()
            )
        super().setattr(trace, name, value)

    def is_as_made(self) -> bool:
        """Whether its arguments are still what it was made of."""
        if len(self.args) != 2 or self.args[0] is not self.message:
            return False
        held = self.args[1]
        if not isinstance(held, Sequence) or held.kind is not (list if self.listed else tuple):
            return False
        return bool(held.items == self.members.items)

    def is_same_traceback(self, other: Group) -> bool | None:
        """Whether the tracebacks of two groups are one object; None if that is not known."""
        if self is other:
            return True
        if self.traceback != other.traceback:
            return False
        return True if self.traceback_owner() is other.traceback_owner() else None

    def traceback_owner(self) -> Raise:
        at, length = self, len(self.traceback)
        while at.of is not None and at.shared == length and len(at.of.traceback) == length:
            at = at.of
        return at

    def _replace_traceback(self, entries: list[tuple[Any, Any, int]]) -> None:
        if entries != self.traceback:
            self.of, self.shared = None, 0
        super()._replace_traceback(entries)

    def rebuild(self, emit: Emitter) -> str:
        for one in self.members.items:
            emit.value(one)
        already = emit.made(self)
        if already is not None:  # by what it holds, which holds it
            return str(already)
        return super().rebuild(emit)

    def _make(self, emit: Emitter) -> str:
        cls = emit.constant(self.cls, self.cls.__name__)
        inner = "".join(f"{emit.value(one)}, " for one in self.members.items)
        inner = f"[{inner}]" if self.listed else f"({inner})"
        name = str(emit.begin(self, f"{cls}({emit.value(self.message)}, {inner})"))
        emit.line(f"{name}.args = {emit.value(Tuple(self.args))}")
        return name

    def _write_traceback(self, emit: Emitter, name: str) -> None:
        entries, of = self.traceback, self.of
        if of is not None and entries[: self.shared] == of.traceback[: self.shared]:
            share = emit.constant(share_traceback, "share_traceback")
            emit.line(f"{share}({name}, {emit.value(of)}, {len(of.traceback) - self.shared})")
            entries = entries[self.shared :]
        self._add_entries(emit, name, entries)


def group_of(message: Value, members: list[Value], listed: bool) -> Group:
    """The group that the interpreter itself makes of exceptions."""
    plain = all(issubclass(one.python_type(), Exception) for one in members)
    cls = ExceptionGroup if plain else BaseExceptionGroup
    held = List(list(members)) if listed else Tuple(list(members))
    return Group(cls, [message, held], members, listed)
