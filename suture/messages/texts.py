"""A break in words: what, where, why, what to do, what suture did.

Every text about a break that a person reads in a terminal, a log or an exception is made here.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

from suture.breaks import Break
from suture.breaks.page import path_of
from suture.breaks.registry import BreakType
from suture.events import Where
from suture.messages.source import excerpt

CONTINUED = "Python ran this operation, and capture continued right after it."
INTERPRETED = "The rest of this frame ran in the interpreter; calls it makes are still compiled."
RAISED = "fullgraph=True (or error_on_graph_break) was asked for, so this is an error."
_LABEL = 8


def address(entry: BreakType) -> str:
    """Where the page of an entry can be read: an address that terminals make a link of."""
    return path_of(entry).resolve().as_uri()


def stack_lines(stack: tuple[Where, ...]) -> list[str]:
    """The user's stack, innermost first as `Broke.stack` has it, with source and carets."""
    out = []
    for depth, where in enumerate(users(stack)):
        said = "" if depth == 0 else "called from "
        out.append(f"{said}{shorten(where.file)}:{where.line} in {where.function}")
        lines = excerpt(where)
        number = str(where.line)
        for i, line in enumerate(lines):
            gutter = number if i == 0 else " " * len(number)
            out.append(f"  {gutter} | {line}")
        if not lines:
            out.append("    (its source is not available)")
    return out


def users(stack: tuple[Where, ...]) -> tuple[Where, ...]:
    """The stack without torch's own frames between the user's; the innermost stays."""
    return stack[:1] + tuple(where for where in stack[1:] if "/torch/nn/modules/" not in where.file)


def shorten(file: str) -> str:
    """A file below the working directory by its relative path, as compilers print it; one of an
    installed package from the package on."""
    _, found, inside = file.rpartition("/site-packages/")
    if found:
        return inside
    try:
        return str(Path(file).relative_to(Path.cwd()))
    except (ValueError, OSError):
        return file


def break_text(reason: Break, stack: tuple[Where, ...], outcome: str) -> str:
    """The full text of one break; its first line says all that is needed to find it again."""
    lines = [f"{reason.number} {reason.type.heading}: {reason.message()}", ""]
    lines += ["  " + line for line in stack_lines(stack)]
    lines.append("")
    lines += _labelled("why", reason.explanation())
    for i, hint in enumerate(reason.hints()):
        lines += _labelled("try" if i == 0 else "", hint)
    lines += _labelled("did", outcome)
    if reason.context():
        lines += _labelled("detail", reason.context())
    lines.append(f"  {'page':{_LABEL}}{address(reason.type)}")
    lines.append(f"  {'':{_LABEL}}suture break {reason.number}")
    return "\n".join(lines)


def _labelled(label: str, text: str) -> list[str]:
    """A paragraph with a word in front of it, wrapped; nothing in it is cut."""
    indent = "  " + " " * _LABEL
    return textwrap.wrap(
        text,
        width=88,
        initial_indent=f"  {label:{_LABEL}}",
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
