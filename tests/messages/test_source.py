"""Lines of source with carets, whatever the source is."""

from __future__ import annotations

import linecache

import pytest
import torch

import suture
from suture import events
from suture.events import Where
from suture.messages.source import WIDTH, excerpt, expression, line_of, printable


@pytest.fixture
def source():
    """Makes text readable under a file name."""
    names = []

    def put(text, name="<given>"):
        linecache.cache[name] = (len(text), None, text.splitlines(True), name)
        names.append(name)
        return name

    yield put
    for name in names:
        linecache.cache.pop(name, None)


def where(file, line=1, column=-1, end_column=-1, end_line=-1):
    return Where("f", file, line, end_line, column, end_column)


def test_the_caret_is_under_the_expression(source):
    file = source("    if y.sum() > 0:\n")
    assert excerpt(where(file, 1, 7, 18, 1)) == ["if y.sum() > 0:", "   ^^^^^^^^^^^"]


def test_columns_count_bytes_and_carets_count_characters(source):
    text = 'print("é漢", y)\n'
    file = source(text)
    start = len('print("é漢", '.encode())
    assert excerpt(where(file, 1, start, start + 1, 1))[1] == " " * len('print("é漢", ') + "^"


def test_an_expression_over_several_lines_is_marked_to_the_end_of_its_first(source):
    file = source("x = f(\n    1)\n")
    assert excerpt(where(file, 1, 4, 6, 2)) == ["x = f(", "    ^^"]


def test_without_columns_the_whole_line_is_marked(source):
    assert excerpt(where(source("  go()\n"))) == ["go()", "^^^^"]


@pytest.mark.parametrize(
    ("text", "column", "end", "found"),
    [
        ("if y.sum() > 0:", 3, 14, "y.sum() > 0"),
        ("assert (y > 0).all(), 'no'", 0, 26, "(y > 0).all()"),
        ("assert (y > 0", 0, 13, None),
        ("if y.sum() > 0:", -1, -1, None),
        ("x" * 99, 0, 99, None),
    ],
)
def test_the_expression_as_the_user_wrote_it(source, text, column, end, found):
    file = source(text + "\n")
    assert expression(where(file, 1, column, end, 1)) == found
    assert expression(where("<no such file>", 1, column, end, 1)) is None


def test_tabs_are_spaces_to_the_caret(source):
    file = source("\tif\ta:\n")
    line, carets = excerpt(where(file, 1, 4, 5, 1))
    assert line[carets.index("^")] == "a"


def test_a_missing_source_gives_nothing():
    assert excerpt(where("<no such file>", 3)) == []
    assert line_of("<no such file>", 0) is None


def test_control_codes_are_spelled_out(source):
    file = source("x = '\x1b[31mred\x07'\n")
    text = "\n".join(excerpt(where(file)))
    assert "\x1b" not in text
    assert "\\x1b[31mred\\x07" in text
    assert printable("a\u202eb") == "a\\u202eb"


@pytest.mark.parametrize("column", [0, 5_000, 99_000])
def test_an_endless_line_is_cut_around_the_mark(source, column):
    file = source("x" * 100_000 + "\n")
    lines = excerpt(where(file, 1, column, column + 4, 1))
    assert all(len(line) <= WIDTH for line in lines)
    assert lines[1].count("^") == 4


def marked_branch(x, m):
    if m is not None and m.any():
        return x + 1
    return x


def marked_not(x, m):
    if x.dim() == 1 and not (m.sum() > 0):
        return x + 1
    return x


def marked_or(x, m):
    while x.dim() != 1 or m.all():
        x, m = x + 1, ~m
    return x


def marked_value(x, m):
    n = m.any() and x.sum()
    return x + n


@pytest.mark.parametrize(
    ("fn", "expression"),
    [
        (marked_branch, "m.any()"),
        (marked_not, "m.sum() > 0"),
        (marked_or, "m.all()"),
        (marked_value, "m.any()"),
    ],
)
def test_the_caret_is_under_what_is_tested(fn, expression):
    suture.reset()
    with events.recorded(events.Broke) as seen:
        suture.compile(fn, backend="eager")(torch.ones(3), torch.ones(3).bool())
    text, caret = excerpt(seen[0].where)
    assert text[caret.index("^") : caret.rindex("^") + 1] == expression
    assert seen[0].message == f"branch on the value of {expression}"
