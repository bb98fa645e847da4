"""The answer to "what does the tracer do with this callable": plain data.

A `Verdict` is what `lookup` hands to the tracer; a `Step` is one rule that was asked on
the way there, kept for `explain` and for the command line.
"""

from __future__ import annotations

import enum
import sys
from dataclasses import dataclass, field, replace
from types import CodeType
from typing import Any


class Kind(enum.Enum):
    """What happens at a call of the object. The set is closed: match on it exhaustively."""

    INLINE = "inline"  # trace into it
    IN_GRAPH = "in graph"  # one node
    RUN = "run"  # Python runs it: a graph break
    CONSTANT = "constant"  # fold it now, if its arguments are constants
    SPECIAL = "special"  # a model is filed under Verdict.name (compiler/models.py)

    def __repr__(self) -> str:
        return self.name


class Origin(enum.Enum):
    """Which part of the chain of rules gave a verdict. Control flow uses this; the text of
    `Verdict.rule` is for people. A verdict on a callable that wraps another one has the origin of
    the verdict on the callable inside."""

    DISABLED = "a mark: disable"
    DISALLOWED = "a mark: disallow_in_graph"
    FORBIDDEN = "a mark: forbid_in_graph"
    MARK = "another mark of the program"
    NAMED = "a row for one named object"
    TORCH_OPERATION = "an operation of torch, written in C"
    TORCH_FUNCTION = "a Python function of torch that takes tensors"
    TENSOR_METHOD = "a method of Tensor, written in C"
    TORCH_BINDING = "a C function of torch that is no operation"
    TORCH_SETTING = "a C function that reads a setting of torch"
    OPERATOR = "an operator of torch.ops"
    PARTIAL = "a functools.partial object"
    TRITON_KERNEL = "a triton kernel"
    SUBSTITUTE = "a Python version of a C function"
    BUILTIN = "a builtin function or type of Python, or one of operator"
    BUILTIN_METHOD = "a method of a builtin type"
    FOLDABLE = "a C function on numbers alone"
    PACKAGE = "a rule for a package"
    NUMPY = "the rule for numpy, parts of which have a model"
    GENERATED = "generated code without a file"
    TORCH = "torch as a whole"
    NO_CODE = "nothing to trace"
    DEFAULT = "no rule says otherwise"

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
    where   the location of that rule, "file:line"
    name    SPECIAL: the handler's name; otherwise the dotted name of the object, if known
    target  what is traced instead of the object (a substitute, a wrapped function), or None;
            for SPECIAL and CONSTANT what to trace where no handler applies or nothing folds
    otherwise  SPECIAL: what happens where no handler is filed under `name`
    origin  which part of the chain spoke
    """

    kind: Kind
    reason: str
    rule: str
    where: str
    name: str = ""
    target: Any = None
    otherwise: Kind = Kind.RUN
    origin: Origin = field(kw_only=True)

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


def location(depth: int = 1) -> str:
    """ "file:line" of the caller `depth` frames above the function that calls this."""
    frame = sys._getframe(depth + 1)
    return f"{shorten(frame.f_code.co_filename)}:{frame.f_lineno}"


def location_of(code: CodeType) -> str:
    """ "file:line" of the definition of a code object."""
    return f"{shorten(code.co_filename)}:{code.co_firstlineno}"


def shorten(filename: str) -> str:
    """The tail of a path from its installed package on: the same text on every machine."""
    for marker in ("/site-packages/", "/suture/"):
        before, found, after = filename.replace("\\", "/").rpartition(marker)
        if found and before:
            return after if marker == "/site-packages/" else "suture/" + after
    return filename
