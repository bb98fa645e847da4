"""Lines of the user's source for people: with a caret, inert, and never wider than a screen.

Source may be missing (a REPL, `exec`, a zip without its files) or hostile (control codes, lines of
a megabyte). Whatever it is, what comes out is printable text on short lines.
"""

from __future__ import annotations

import ast
import linecache

from suture.events import Where

WIDTH = 96
_TABS = 4


def line_of(file: str, line: int) -> str | None:
    """The text of a line without its end; None where the source cannot be read."""
    if line <= 0:
        return None
    text = linecache.getline(file, line)
    return text.rstrip("\r\n") if text else None


def printable(text: str) -> str:
    """The text with everything spelled out that would move a cursor or change a colour."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def excerpt(where: Where) -> list[str]:
    """The line of `where` and carets under the expression; empty without source."""
    text = line_of(where.file, where.line)
    if text is None:
        return []
    start, end = _columns(where, text)
    before, marked, after = text[:start], text[start:end], text[end:]
    before, marked, after = (_flat(part) for part in (before.lstrip(), marked, after.rstrip()))
    before, marked, after = _cut(before, marked, after)
    lines = [before + marked + after]
    if marked.strip():
        lines.append(" " * len(before) + "^" * len(marked))
    return lines


def expression(where: Where, longest: int = 60) -> str | None:
    """The expression that `where` marks, as the user wrote it; the condition of an assertion.

    None where there is no source, or it is not short and on one line.
    """
    text = line_of(where.file, where.line)
    if text is None or where.column < 0 or where.end_line != where.line:
        return None
    start, end = _columns(where, text)
    marked = text[start:end]
    if marked.startswith("assert "):
        try:
            (statement,) = ast.parse(marked).body
        except (SyntaxError, ValueError):
            return None
        condition = getattr(statement, "test", None)
        marked = ast.get_source_segment(marked, condition) or "" if condition else ""
    return printable(marked) if 0 < len(marked) <= longest else None


def receiver(text: str, attribute: str) -> str | None:
    """Of the expression `text`, what its outermost `attribute` is read or called on; None if it
    reads another one, or is no expression."""
    try:
        found = ast.parse(text, mode="eval").body
    except SyntaxError:
        return None
    if isinstance(found, ast.Call):
        found = found.func
    if not isinstance(found, ast.Attribute) or found.attr != attribute:
        return None
    whole = ast.get_source_segment(text, found)
    return whole.rpartition(".")[0].rstrip() if whole else None


def _flat(text: str) -> str:
    return printable(text.expandtabs(_TABS))


def _columns(where: Where, text: str) -> tuple[int, int]:
    """Columns count bytes of UTF-8; characters are wanted. Without columns, the whole line."""
    if where.column < 0:
        return len(text) - len(text.lstrip()), len(text.rstrip())
    raw = text.encode("utf-8", "replace")
    start = len(raw[: where.column].decode("utf-8", "ignore"))
    if where.end_line not in (-1, where.line) or where.end_column < 0:
        return start, len(text.rstrip())
    return start, max(start, len(raw[: where.end_column].decode("utf-8", "ignore")))


def _cut(before: str, marked: str, after: str) -> tuple[str, str, str]:
    """Shorten a long line around what is marked."""
    if len(before) + len(marked) + len(after) <= WIDTH:
        return before, marked, after
    if len(before) > 20:
        before = "..." + before[-17:]
    room = WIDTH - len(before)
    if len(marked) > room:
        return before, marked[: room - 3] + "...", ""
    room -= len(marked)
    return before, marked, after if len(after) <= room else after[: max(room - 3, 0)] + "..."
