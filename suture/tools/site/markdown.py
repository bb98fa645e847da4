"""Markdown of pages and guides as HTML: no raw HTML goes through, numbers become links."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from suture.breaks.catalog import entries
from suture.tools.report.highlight import block as highlight

_NUMBER = re.compile(r"\bGB\d{4}\b")
_PAGE = re.compile(r"(?:.*/)?(GB\d{4})\.md$")


def render(text: str, up: str = "", output: Callable[[int], str | None] | None = None) -> Markup:
    """`text` as HTML. `up` leads from the page to the site's root ("../"); `output(n)` is what the
    n-th runnable block printed, shown below it."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    counter = iter(range(10**6))

    def fence(self: Any, tokens: Sequence[Any], index: int, *_: Any) -> str:
        token = tokens[index]
        kind = token.info.split()[0] if token.info else ""
        code = highlight(token.content) if kind == "python" else escape(token.content.rstrip("\n"))
        made = f'<pre class="code" tabindex="0"><code>{code}</code></pre>'
        if kind in RUN and output is not None:
            shown = output(next(counter))
            if shown:
                made += (
                    f'<pre class="output" tabindex="0"><samp>{escape(shown.rstrip())}</samp></pre>'
                )
        return made + "\n"

    def link_open(self: Any, tokens: Sequence[Any], index: int, options: Any, env: Any) -> str:
        target = str(tokens[index].attrGet("href") or "")
        page = _PAGE.match(target)
        if page:
            target = f"{up}breaks/{page.group(1)}.html"
        elif target.endswith(".md"):
            target = target.rpartition("/")[2][:-3] + ".html"
        return f'<a href="{escape(target)}">'

    def text_token(self: Any, tokens: Sequence[Any], index: int, *_: Any) -> str:
        inside = any(token.type == "link_open" for token in tokens[:index][-1:])
        plain = str(escape(tokens[index].content))
        return plain if inside else numbers(plain, up)

    parser.add_render_rule("fence", fence)
    parser.add_render_rule("link_open", link_open)
    parser.add_render_rule("text", text_token)
    return Markup(parser.render(text))


RUN = ("python", "console")


def numbers(html: str, up: str) -> str:
    """Escaped text with the numbers of known breaks as links."""
    if "GB" not in html:
        return html
    known = {entry.number for entry in entries()}

    def link(found: re.Match[str]) -> str:
        number = found.group()
        return f'<a href="{up}breaks/{number}.html">{number}</a>' if number in known else number

    return _NUMBER.sub(link, html)


def inline(text: str, up: str = "") -> Markup:
    """A sentence with `code` in it."""
    return Markup(render(text, up).removeprefix("<p>").removesuffix("</p>\n"))


def blocks(text: str) -> list[dict[str, Any]]:
    """The runnable blocks of a page: kind, line of the first line, source, whether it raises."""
    found = []
    for token in MarkdownIt("commonmark").parse(text):
        words = token.info.split() if token.type == "fence" and token.info else []
        if words and words[0] in RUN:
            found.append(
                {
                    "kind": words[0],
                    "line": token.map[0] + 2 if token.map else 1,
                    "source": token.content,
                    "raises": "raises" in words[1:],
                }
            )
    return found


def title_of(text: str) -> str:
    """The first heading."""
    for line in text.splitlines():
        if line.startswith("# "):
            return line[2:].strip()
    return "suture"
