"""What a set of the program has gone through, so that the real one goes through the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from suture.compiler.emitting import Emitter
from suture.runtime.predicates import LITERALS
from suture.runtime.set_steps import BE, Step, follow

_MOST_STEPS, _MOST_KEYS = 64, 2000

Operands = tuple[tuple[str, Any], ...]


class History:
    """The steps of a set that is made in the region, or those since the region began of one that
    was there before. `steps` is None where something is not known: too many, or the table of an
    operand."""

    __slots__ = ("keys", "steps")

    def __init__(self) -> None:
        self.steps: list[Step] | None = []
        self.keys = 0

    def add(self, name: str, operands: Operands | None, goes_on: bool = False) -> None:
        """One more step. Keys that come in one by one are one list."""
        if self.steps is None:
            return
        self.keys += 1 if operands is None else sum(_size(of) for of in operands)
        if operands is None or self.keys > _MOST_KEYS:
            self.steps = None
            return
        last = self.steps[-1] if self.steps else None
        if name == "add" and last is not None and last[0] == "update" and last[2][0][0] == "grown":
            last[2][0][1].append(operands[0][1])
        elif name == "add":
            self.steps.append(("update", False, (("grown", [operands[0][1]]),)))
        else:
            self.steps.append((name, goes_on, operands))
        if len(self.steps) > _MOST_STEPS:
            self.steps = None

    @staticmethod
    def of_outside(value: Any) -> History:
        """That of a set from outside as it is now, of which only others are made."""
        made = History()
        made.add(BE, None if value.changed else (("outside", value),), True)
        return made

    def goes_on(self, name: str, operands: Operands | None) -> History:
        """That of the new set which method `name` of this one gives."""
        made = History()
        frozen = self.frozen()
        made.steps = None if frozen is None else list(frozen)
        made.keys = self.keys
        made.add(name, operands, True)
        return made

    def frozen(self) -> tuple[Step, ...] | None:
        """The steps as they are now, if all keys are numbers and texts, whose hashes are known,
        and sets from outside have not changed."""
        if self.steps is None:
            return None
        found = []
        for name, goes_on, operands in self.steps:
            told = tuple(
                ("list", tuple(of)) if kind == "grown" else (kind, of) for kind, of in operands
            )
            if not all(_is_known(kind, of) for kind, of in told):
                return None
            found.append((name, goes_on, told))
        return tuple(found)

    def gives(self, table: Any, alone: bool = False) -> tuple[Step, ...] | None:
        """The steps to a set like `table`, which has the very keys in the very order. Steps that
        go through sets from outside, of which these have the program's, do when they are taken;
        `alone`: none do."""
        steps = self.frozen()
        if steps is None:
            return None
        if any(True for _ in _outside(steps)):
            return None if alone else steps
        keys, made = list(table), list(follow(steps))
        same = len(keys) == len(made) and all(a is b or a == b for a, b in zip(keys, made))
        return steps if same else None


def makes_new_ones(steps: tuple[Step, ...] | None) -> bool:
    """Whether each step makes another set, as those of a frozenset do: the first fills an empty
    one or takes one as it is."""
    return steps is not None and all(
        goes_on or (at == 0 and name == "update") for at, (name, goes_on, _) in enumerate(steps)
    )


def _size(operand: tuple[str, Any]) -> int:
    kind, of = operand
    if kind == "set":
        return sum(_size(o) for _, _, operands in of for o in operands)
    return 1 if kind in ("key", "outside") else len(of)


def _is_known(kind: str, of: Any) -> bool:
    if kind == "outside":
        return not of.changed
    if kind in ("set", "frozen"):  # steps are frozen where they are known
        return kind == "set" or all(type(key) in LITERALS for key in of)
    return all(type(key) in LITERALS for key in ((of,) if kind == "key" else of))


class Operand:
    """One operand of an operation on sets: its members by key, its keys as the real operation
    takes them, and whether these come in the order of the real ones."""

    __slots__ = ("entries", "keys", "known", "leaf")

    def __init__(
        self,
        entries: dict[Any, Any],
        keys: Any,
        known: bool,
        leaf: Any = None,
        leaf_known: bool = True,
    ) -> None:
        self.entries = entries
        self.keys = keys
        self.known = known
        self.leaf = leaf if leaf_known else None  # as an operand of a step


def leaves(operands: Sequence[Operand], only_asked: bool = False) -> Any:
    """The operands of a step, if all are known; of sets that are only asked what they hold, the
    members say enough."""
    found: list[Any] = [o.leaf for o in operands]
    if only_asked:
        found = [leaf or _holding(o.entries) for leaf, o in zip(found, operands)]
    if not all(found):
        return None
    for kind, of in found:
        if kind == "outside":
            of.lent = True
    return tuple(found)


def _holding(entries: dict[Any, Any]) -> tuple[str, Any]:
    """A set that holds the same."""
    return ("set", (("update", False, (("list", tuple(entries)),)),))


def spelled(emit: Emitter, steps: tuple[Step, ...], name: str = "") -> str:
    """A call that makes the set, or takes the steps with the one that has a name, or that an
    expression gives."""
    others = list({id(of): of for of in _outside(steps)}.values())
    at = {id(of): i for i, of in enumerate(others)}
    given = "".join(f"{emit.value(of)}, " for of in others)
    named = f", {name}" if name else ""
    told = emit.constant(_numbered(steps, at), "steps")
    return f"{emit.constant(follow, 'follow')}({told}, ({given}){named})"


def _outside(steps: tuple[Step, ...]) -> Iterator[Any]:
    """The sets from outside that are operands."""
    for _, _, operands in steps:
        for kind, of in operands:
            if kind == "outside":
                yield of
            elif kind == "set":
                yield from _outside(of)


def _numbered(steps: tuple[Step, ...], at: dict[int, int]) -> tuple[Step, ...]:
    """The steps with the positions of sets from outside instead of their values."""
    told: dict[str, Callable[[Any], Any]] = {
        "outside": lambda of: at[id(of)],
        "set": lambda of: _numbered(of, at),
    }
    return tuple(
        (name, goes_on, tuple((kind, told.get(kind, _as_it_is)(of)) for kind, of in operands))
        for name, goes_on, operands in steps
    )


def _as_it_is(of: Any) -> Any:
    return of
