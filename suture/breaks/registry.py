"""The table of numbered graph breaks: what an entry is, and how one is added.

An entry is made once, at import, by `define`; nothing else makes one. A number and a type are never
used twice. The texts of an entry may hold `{placeholders}`: those of `message` and `context` are
the fields that a raise site has to give, and the explanation and the hints may use no others.
"""

from __future__ import annotations

import enum
import re
import string
from dataclasses import dataclass

_NUMBER = re.compile(r"GB\d{4}")


class Kind(enum.Enum):
    """Why a break happens, as far as it matters for what a user can do about it."""

    FUNDAMENTAL = "fundamental"  # a graph cannot hold this, however good the tracer is
    NOT_YET = "not yet supported"  # a graph could hold it; the note says what it would take
    USER_ERROR = "user error"  # the program is wrong, and eager says so too
    BY_REQUEST = "by request"  # the program asked for it
    RESOURCE_LIMIT = "resource limit"  # a limit on time or memory was reached


class Status(enum.Enum):
    """What suture does with the situation; the program on the entry's page proves it."""

    CAPTURED = "captured"  # never breaks: the program is one graph
    BREAK = "break"  # breaks with this number, and capture continues after it
    ERROR = "error"  # eager raises too: the same exception
    NOT_APPLICABLE = "not applicable"  # only TorchDynamo's machinery has it; the note says why


class Leaves(enum.Enum):
    """What a break leaves to Python, and so how the region ends."""

    OPERATION = "the operation"  # Python runs the one instruction; capture continues after it
    FRAME = "the rest of the frame"  # the interpreter runs it; what it calls is compiled
    YIELD = "the yield"  # Python hands the value out; capture continues when the frame is resumed
    NOTHING = "nothing"  # changes are written back; the next region begins with the instruction


class RegistryError(ValueError):
    """An entry that cannot be right. Raised at import, so that no broken table is ever used."""


@dataclass(frozen=True, slots=True)
class BreakType:
    """One numbered situation.

    `leaves` is what is left to Python where the situation comes up. `fields` holds the names that a
    raise site gives, in the order of first use. `kind` is None where nothing breaks (captured, not
    applicable). `note` is never empty for a kind NOT_YET (what it would take) and a status
    NOT_APPLICABLE (why the situation cannot arise).
    """

    number: str
    type: str
    message: str
    context: str
    fields: tuple[str, ...]
    explanation: str
    hints: tuple[str, ...]
    kind: Kind | None
    status: Status
    note: str
    leaves: Leaves = Leaves.OPERATION
    title: str = ""

    @property
    def heading(self) -> str:
        """What the situation is called where people read: `title`, or the type where that says it.

        The type is the name that TorchDynamo gives it; it stays an alias."""
        return self.title or self.type

    @property
    def page(self) -> str:
        """The file name of this entry's page."""
        return f"{self.number}.md"

    @property
    def from_dynamo(self) -> bool:
        """Whether the number is one of TorchDynamo's (suture's own start at GB2000)."""
        return int(self.number[2:]) < 2000


_by_number: dict[str, BreakType] = {}
_by_type: dict[str, BreakType] = {}


def define(
    number: str,
    type: str,
    *,
    message: str = "",
    context: str = "",
    explanation: str,
    hints: tuple[str, ...],
    kind: Kind | None = Kind.NOT_YET,
    status: Status = Status.BREAK,
    note: str = "",
    leaves: Leaves = Leaves.OPERATION,
    title: str = "",
) -> BreakType:
    """Add an entry to the table and return it.

    `title` calls it by what a program says, where `type`, TorchDynamo's name, does not.
    `message` says in one line what was met and where the fields go; `context` is further detail for
    developers, shown below it. Raises RegistryError if number or type is taken, or if a text
    is missing or uses an unknown field.
    """
    fields = placeholders(message + "\n" + context)
    entry = BreakType(
        number,
        type,
        message,
        context,
        fields,
        explanation,
        tuple(hints),
        kind,
        status,
        note,
        leaves,
        title,
    )
    _validate(entry)
    _by_number[number] = _by_type[type] = entry
    return entry


def captured(
    number: str,
    type: str,
    *,
    title: str,
    explanation: str,
    hints: tuple[str, ...],
    note: str = "",
) -> BreakType:
    """Add a situation that stops TorchDynamo and that suture takes into the graph."""
    return define(
        number,
        type,
        explanation=explanation,
        hints=hints,
        kind=None,
        status=Status.CAPTURED,
        note=note,
        title=title,
    )


def not_applicable(
    number: str, type: str, *, explanation: str, hints: tuple[str, ...], note: str
) -> BreakType:
    """Add a situation that cannot arise in suture; `note` says why."""
    return define(
        number,
        type,
        explanation=explanation,
        hints=hints,
        kind=None,
        status=Status.NOT_APPLICABLE,
        note=note,
    )


def user_error(
    number: str,
    type: str,
    *,
    title: str,
    message: str = "",
    explanation: str,
    hints: tuple[str, ...],
    note: str = "",
) -> BreakType:
    """Add a mistake in the program: eager raises, and so does the compiled function."""
    return define(
        number,
        type,
        message=message,
        explanation=explanation,
        hints=hints,
        kind=Kind.USER_ERROR,
        status=Status.ERROR,
        note=note,
        title=title,
    )


def defined() -> tuple[BreakType, ...]:
    """The entries defined so far, in the order of their numbers.

    These are all of them once `suture.breaks.catalog` has been imported.
    """
    return tuple(_by_number[number] for number in sorted(_by_number))


def placeholders(template: str) -> tuple[str, ...]:
    """The names of the `{placeholders}` of a template, each once, in order."""
    try:
        names = [name for _, name, _, _ in string.Formatter().parse(template) if name is not None]
    except ValueError as exc:
        raise RegistryError(f"not a template: {template!r} ({exc})") from exc
    for name in names:
        if not name.isidentifier():
            raise RegistryError(f"{{{name}}} in {template!r} is not the name of a field")
    return tuple(dict.fromkeys(names))


def _validate(entry: BreakType) -> None:
    """Raise RegistryError unless `entry` may join the table."""
    if not _NUMBER.fullmatch(entry.number):
        raise RegistryError(f"{entry.number!r} is not a number of the form GB0000")
    if entry.number in _by_number:
        raise RegistryError(f"{entry.number} is taken by {_by_number[entry.number].type!r}")
    if not entry.type.strip():
        raise RegistryError(f"{entry.number} has no type")
    if entry.type in _by_type:
        raise RegistryError(f"{entry.type!r} is the type of {_by_type[entry.type].number}")
    if not entry.explanation.strip():
        raise RegistryError(f"{entry.number} has no explanation")
    if not entry.hints or not all(hint.strip() for hint in entry.hints):
        raise RegistryError(f"{entry.number} has no hints, or an empty one")
    _validate_status(entry)
    for text in (entry.explanation, *entry.hints):
        unknown = set(placeholders(text)) - set(entry.fields)
        if unknown:
            names = ", ".join(sorted(unknown))
            raise RegistryError(f"{entry.number} uses fields that no raise site gives: {names}")


def _validate_status(entry: BreakType) -> None:
    """Raise RegistryError where kind, status, message and note contradict each other."""
    breaks = entry.status in (Status.BREAK, Status.ERROR)
    if breaks != (entry.kind is not None):
        raise RegistryError(f"{entry.number}: a kind goes with the statuses break and error only")
    if entry.status is Status.BREAK and not entry.message.strip():
        raise RegistryError(f"{entry.number} has no message")
    needs_note = entry.status is Status.NOT_APPLICABLE or entry.kind is Kind.NOT_YET
    if needs_note and not entry.note.strip():
        raise RegistryError(f"{entry.number} needs a note: why not applicable, or what it takes")
