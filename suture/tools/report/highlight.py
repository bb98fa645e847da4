"""Python source as HTML, line by line: escaped, printable, and cut where a line is endless."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup, escape
from pygments import lex
from pygments.lexers.python import PythonLexer
from pygments.token import Token, _TokenType

from suture.messages.source import printable

LONGEST = 500
_CLASSES = (
    (Token.Keyword, "k"),
    (Token.Operator.Word, "k"),
    (Token.Literal.String, "s"),
    (Token.Literal.Number, "n"),
    (Token.Comment, "c"),
    (Token.Name.Function, "f"),
    (Token.Name.Class, "f"),
    (Token.Name.Decorator, "d"),
)


def lines(source: Sequence[str]) -> list[Markup]:
    """Each line of a file as HTML; as many as went in."""
    flat = [_inert(line) for line in source]
    out: list[str] = [""]
    for kind, text in lex("\n".join(flat) + "\n", PythonLexer(stripnl=False, ensurenl=False)):
        style = _class(kind)
        for i, part in enumerate(text.split("\n")):
            if i:
                out.append("")
            if part:
                html = str(escape(part))
                out[-1] += f'<span class="{style}">{html}</span>' if style else html
    if len(out) != len(flat) + 1:
        return [escape(line) for line in flat]
    return [Markup(line) for line in out[:-1]]


def block(source: str) -> Markup:
    """A piece of code as the inside of <pre>."""
    return Markup("\n").join(lines(source.rstrip("\n").split("\n")))


def _inert(line: str) -> str:
    text = printable(line.rstrip("\r\n").expandtabs(4))
    return text if len(text) <= LONGEST else text[:LONGEST] + " …"


def _class(kind: _TokenType) -> str:
    for above, name in _CLASSES:
        if kind in above:
            return name
    return ""
