"""The answer to "what does the tracer do with this callable": plain data.

A `Verdict` is what `lookup` hands to the tracer; a `Step` is one rule that was asked on
the way there, kept for `explain` and for the command line.
"""

from __future__ import annotations

import enum
import sys
from dataclasses import dataclass, replace
from types import CodeType
from typing import Any


class Kind(enum.Enum):
    """What happens at a call of the object. The set is closed: match on it exhaustively."""

    INLINE = "inline"  # trace into it
    IN_GRAPH = "in graph"  # one node
    RUN = "run"  # Python runs it: a graph break
    CONSTANT = "constant"  # fold it now, if its arguments are constants
    SPECIAL = "special"  # the calls room has a handler under Verdict.name

    def __repr__(self) -> str:
        return self.name


INLINE = Kind.INLINE
IN_GRAPH = Kind.IN_GRAPH
RUN = Kind.RUN
CONSTANT = Kind.CONSTANT
SPECIAL = Kind.SPECIAL


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the tracer does with one callable, and why.

    kind    what happens
    reason  one sentence for a person
    rule    the rule that spoke, such as "named torch.manual_seed" or "package numpy"
    where   the place of that rule, "file:line"
    name    SPECIAL: the handler's name; otherwise the dotted name of the object, if known
    target  what is traced instead of the object (a substitute, a wrapped function), or None;
            for SPECIAL and CONSTANT what to trace where no handler applies or nothing folds
    otherwise  SPECIAL: what happens where no handler is filed under `name`
    """

    kind: Kind
    reason: str
    rule: str
    where: str
    name: str = ""
    target: Any = None
    otherwise: Kind = Kind.RUN

    def with_target(self, target: Any) -> Verdict:
        """This verdict, spoken about `target`, which the object wraps."""
        return replace(self, target=target)

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.reason} [{self.rule}, {self.where}]"


@dataclass(frozen=True, slots=True)
class Step:
    """One rule of the chain: its name, and what it said (None: nothing, the next is asked)."""

    asked: str
    verdict: Verdict | None
    note: str = ""

    def __str__(self) -> str:
        said = self.verdict.kind.value if self.verdict is not None else "-"
        return f"{self.asked}: {said}" + (f" ({self.note})" if self.note else "")


def place(depth: int = 1) -> str:
    """ "file:line" of the caller `depth` frames above the function that asks."""
    frame = sys._getframe(depth + 1)
    return f"{shorten(frame.f_code.co_filename)}:{frame.f_lineno}"


def place_of(code: CodeType) -> str:
    """ "file:line" of the definition of a code object."""
    return f"{shorten(code.co_filename)}:{code.co_firstlineno}"


def shorten(filename: str) -> str:
    """The tail of a path from its installed package on: the same text on every machine."""
    for marker in ("/site-packages/", "/suture/"):
        before, found, after = filename.replace("\\", "/").rpartition(marker)
        if found and before:
            return after if marker == "/site-packages/" else "suture/" + after
    return filename
