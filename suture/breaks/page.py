"""The pages of the registry: one Markdown file per entry, with a header, fixed headings, programs.

A page reads:

    ---
    number: GB0170
    status: break
    kind: fundamental
    breaks: GB0170
    graphs: 2
    ---
    # GB0170 Data-dependent branching
    ## What happened ... and the other headings, in the order of the status

The program of a page is the first Python block below the heading that `PROGRAM` names for its
status; it defines `fn` and `args`, a function that gives a tuple of fresh arguments. `breaks` holds
the numbers that running it reports, in order (after the word `any`: among others), and `graphs` how
many graphs it becomes. The header may also say `raises` (the exception of eager), `config` (options
that the program is run under), `needs` (a device or a Python version), `fixed` (how many graphs the
fixed program becomes, if not one), `recompiles` (how often further calls compile again, where each
brings a new value), and `runs: no` where no program can bring the situation about.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from pathlib import Path

from suture.breaks.registry import BreakType, Status

FOLDER = Path(__file__).parent / "pages"

WHAT, WHY, FIX, LEAVE = "What happened", "Why", "After the fix", "When to leave it"

PROGRAM = {
    Status.BREAK: "A program that breaks",
    Status.CAPTURED: "A program that is captured",
    Status.ERROR: "A program that raises",
    Status.NOT_APPLICABLE: "A program that shows it",
}

_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_NEEDS = ("cuda", "python3.12")


class PageError(ValueError):
    """A page that is missing, or that does not have the form every page has."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page, taken apart. `sections` maps each heading to its text, in the order of the file.

    `graphs`, `fixed` and `recompiles` are None where the number is not stated. `in_order` is False
    where `breaks` names only some of the breaks that the program meets.
    """

    number: str
    title: str
    status: str
    kind: str
    breaks: tuple[str, ...]
    in_order: bool
    graphs: int | None
    fixed: int | None
    recompiles: int | None
    raises: str
    config: dict[str, object]
    needs: str
    runs: bool
    sections: dict[str, str]
    text: str

    @property
    def program(self) -> str:
        """The source of the page's program."""
        return self._block(PROGRAM[Status(self.status)])

    @property
    def fixed_program(self) -> str | None:
        """The source of the program after the fix; None where there is nothing to fix."""
        return self._block(FIX) if FIX in self.sections else None

    def _block(self, heading: str) -> str:
        found = _BLOCK.search(self.sections.get(heading, ""))
        if found is None:
            raise PageError(f"{self.number}: no Python block under {heading!r}")
        return found.group(1)


def headings(status: Status) -> tuple[str, ...]:
    """The headings of a page of that status, in order.

    Where nothing breaks there is nothing to fix and nothing to leave.
    """
    if status in (Status.BREAK, Status.ERROR):
        return (WHAT, WHY, PROGRAM[status], FIX, LEAVE)
    return (WHAT, WHY, PROGRAM[status])


def path_of(entry: BreakType) -> Path:
    """Where the page of `entry` is, or ought to be."""
    return FOLDER / entry.page


def read(entry: BreakType) -> Page:
    """The page of `entry`. Raises PageError if it is missing or malformed."""
    path = path_of(entry)
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise PageError(f"{entry.number}: there is no page {entry.page}") from None
    return parse(text)


def parse(text: str) -> Page:
    """Take the text of a page apart. Raises PageError if it has not the form of one."""
    header, body = _split_header(text)
    try:
        number, status, kind = header["number"], header["status"], header["kind"]
        graphs = header["graphs"]
    except KeyError as exc:
        raise PageError(f"the header of a page lacks {exc}") from None
    title, sections = _split_sections(number, body)
    breaks = header.get("breaks", "").replace(",", " ").split()
    needs = header.get("needs", "")
    if needs and needs not in _NEEDS:
        raise PageError(f"{number}: {needs!r} is not a thing that a page may need")
    return Page(
        number=number,
        title=title,
        status=status,
        kind=kind,
        breaks=tuple(word for word in breaks if word != "any"),
        in_order="any" not in breaks,
        graphs=_count(graphs),
        fixed=_count(header.get("fixed", "1")),
        recompiles=_count(header.get("recompiles", "0")),
        raises=header.get("raises", ""),
        config=_options(number, header.get("config", "")),
        needs=needs,
        runs=header.get("runs", "yes") == "yes",
        sections=sections,
        text=text,
    )


def problems(entry: BreakType) -> list[str]:
    """What is wrong with the page of `entry`, in sentences; empty if nothing is."""
    try:
        page = read(entry)
        found = _disagreements(entry, page)
        for source in filter(None, (page.program, page.fixed_program)):
            compile(source, entry.page, "exec")
    except PageError as exc:
        return [str(exc)]
    except SyntaxError as exc:
        return [f"{entry.number}: its program does not compile: {exc}"]
    return found


def _disagreements(entry: BreakType, page: Page) -> list[str]:
    """Where a page says something other than its entry."""
    kind = entry.kind.value if entry.kind else "none"
    wanted = {
        "number": (page.number, entry.number),
        "title": (page.title, f"{entry.number} {entry.type}"),
        "status": (page.status, entry.status.value),
        "kind": (page.kind, kind),
        "headings": (tuple(page.sections), headings(entry.status)),
    }
    found = [
        f"{entry.number}: its page says {name} {said!r}, the entry {meant!r}"
        for name, (said, meant) in wanted.items()
        if said != meant
    ]
    if entry.status is Status.BREAK and page.runs and entry.number not in page.breaks:
        found.append(f"{entry.number}: its page's program does not break with that number")
    if page.runs and page.graphs is None and _states_graphs(entry, page):
        found.append(f"{entry.number}: its page does not say how many graphs its program becomes")
    if page.fixed is None:
        found.append(f"{entry.number}: its page does not say that its fixed program is captured")
    if entry.status is Status.CAPTURED and (page.breaks or page.graphs != 1):
        found.append(f"{entry.number}: its page's program is not one graph without a break")
    if entry.status is Status.ERROR and not page.raises:
        found.append(f"{entry.number}: its page does not say what eager raises")
    return found


def _states_graphs(entry: BreakType, page: Page) -> bool:
    """Whether a page must state its graphs: its program breaks or raises, on every machine."""
    return entry.status in (Status.BREAK, Status.ERROR) and page.needs != "cuda"


def _count(text: str) -> int | None:
    """A number of graphs, or None for a text such as "any"."""
    return int(text) if text.isdigit() else None


def _options(number: str, text: str) -> dict[str, object]:
    """`name=value, name=value` as a dict; values are Python literals."""
    options: dict[str, object] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, _, value = part.partition("=")
        try:
            options[name.strip()] = ast.literal_eval(value.strip())
        except (SyntaxError, ValueError):
            raise PageError(f"{number}: {part!r} sets no option") from None
    return options


def _split_header(text: str) -> tuple[dict[str, str], str]:
    """The header's lines as a dict, and the text below it."""
    match = re.match(r"---\n(.*?)\n---\n(.*)", text, re.DOTALL)
    if match is None:
        raise PageError("a page begins with a header between two lines of ---")
    header: dict[str, str] = {}
    for line in match.group(1).splitlines():
        key, colon, value = line.partition(":")
        if not colon:
            raise PageError(f"not a line of a header: {line!r}")
        header[key.strip()] = value.strip()
    return header, match.group(2)


def _split_sections(number: str, body: str) -> tuple[str, dict[str, str]]:
    """The title, and the sections by heading. Lines inside code blocks are no headings."""
    title, sections, heading, fenced = "", {}, None, False
    lines: dict[str, list[str]] = {}
    for line in body.splitlines():
        if line.startswith("```"):
            fenced = not fenced
        if line.startswith("# ") and not fenced:
            title = line[2:].strip()
        elif line.startswith("## ") and not fenced:
            heading = line[3:].strip()
            if heading in lines:
                raise PageError(f"{number}: the heading {heading!r} is there twice")
            lines[heading] = []
        elif heading is not None:
            lines[heading].append(line)
    for heading, block in lines.items():
        sections[heading] = "\n".join(block).strip()
        if not sections[heading]:
            raise PageError(f"{number}: nothing below {heading!r}")
    return title, sections
