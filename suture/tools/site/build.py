"""Builds the site: one function per kind of page, each from one table."""

from __future__ import annotations

import functools
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jinja2 import Environment

from suture.breaks import catalog, page, search
from suture.breaks.export import readable
from suture.breaks.registry import BreakType, Kind, Status
from suture.bytecode import CANONICAL
from suture.compiler.interpreter.opcodes.table import HANDLERS
from suture.rules.packages import to_inline, to_run
from suture.rules.rows import table_rows
from suture.tools.report.build import versions
from suture.tools.report.html import templates
from suture.tools.site import examples, markdown, reference

STATIC = Path(__file__).parent / "static"
_INSTALLED = Path(__file__).parent / "guide"  # a wheel brings the guide along (see setup.py)
_DOCS = Path(__file__).parents[3] / "docs"
GUIDE = _INSTALLED if _INSTALLED.is_dir() else _DOCS / "guide"
# The pages of the guide in the order they are read, by what a reader wants.
SECTIONS: dict[str, tuple[str, ...]] = {
    "Getting started": ("tutorial", "migration", "export", "faq"),
    "Graph breaks": (
        "graph-breaks", "fullgraph", "common-breaks", "error-on-graph-break", "skipped-functions",
        "nonstrict-trace", "custom-operators",
    ),
    "Recompilation": ("recompilation", "dynamic_shapes", "guards"),
    "Performance and debugging": (
        "performance", "cuda-graphs", "distributed", "troubleshooting", "command-line", "testing",
    ),
    "Reference": ("options", "api", "versions", "how-it-works", "cache", "trace-schema"),
}  # fmt: skip
MORE_PAGES = ("trace-schema.md", "cache.md")  # pages of the site outside the guide
MADE: dict[str, Callable[[], str]] = {"options": reference.options, "api": reference.api}


class GuideFailed(RuntimeError):
    """An example on a page of the guide does not do what the page says."""


@functools.cache
def environment() -> Environment:
    made = templates("suture.tools.site")
    made.filters.update(readable=readable, inline=markdown.inline)
    return made


def build(
    target: Path, run_examples: bool = True, tell: Callable[[str], None] = lambda name: None
) -> int:
    """Write the site to a folder; gives the number of pages.

    Without `run_examples` the pages have no output. Raises GuideFailed where an example of the
    guide fails, and has written nothing then; one of a break's page that cannot run here is shown
    without output.
    """
    guides = guide_pages()
    results = run(guides, tell) if run_examples else {}
    target.mkdir(parents=True, exist_ok=True)
    shutil.copytree(STATIC, target / "static", dirs_exist_ok=True)
    if (GUIDE / "pictures").is_dir():
        shutil.copytree(GUIDE / "pictures", target / "guide" / "pictures", dirs_exist_ok=True)
    site = {
        "guides": [(name, markdown.title_of(text)) for name, text in guides.items()],
        "menu": menu(guides),
        "versions": versions(),
    }
    written = [
        _write(target, "index.html", "index.html.j2", up="", **index_context(), **site),
        _write(target, "rules.html", "rules.html.j2", up="", rows=rule_rows(), **site),
        _write(target, "instructions.html", "instructions.html.j2", up="", rows=opcodes(), **site),
    ]
    for entry in catalog.entries():
        context = break_context(entry, results.get(entry.number))
        name = f"breaks/{entry.number}.html"
        written.append(_write(target, name, "break.html.j2", up="../", **context, **site))
    for name, text in guides.items():
        body = markdown.render(text, "../", _outputs(results.get(name)))
        context = {"title": markdown.title_of(text), "body": body, "current": name}
        written.append(
            _write(target, f"guide/{name}.html", "guide.html.j2", up="../", **context, **site)
        )
    (target / "static" / "breaks.js").write_text(search_index(), encoding="utf-8")
    return len(written)


def _write(target: Path, name: str, template: str, **context: Any) -> Path:
    path = target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(environment().get_template(template).render(**context), encoding="utf-8")
    return path


# ---- examples


def guide_pages() -> dict[str, str]:
    """The pages of the guide by name, in the order they are read."""
    paths = [*sorted(GUIDE.glob("*.md")), *(p for n in MORE_PAGES for p in GUIDE.parent.glob(n))]
    found = {path.stem: path.read_text(encoding="utf-8") for path in paths}
    if found:
        found |= {name: make() for name, make in MADE.items()}
    order = [name for names in SECTIONS.values() for name in names if name in found]
    return {name: found[name] for name in [*order, *(n for n in found if n not in order)]}


def menu(guides: dict[str, str]) -> list[tuple[str, list[tuple[str, str]]]]:
    """(heading, its pages as (name, title)) of the guide's menu; pages of no section come last."""
    known = {name for names in SECTIONS.values() for name in names}
    groups = {**SECTIONS, "More": tuple(name for name in guides if name not in known)}
    made = [
        (heading, [(name, markdown.title_of(guides[name])) for name in names if name in guides])
        for heading, names in groups.items()
    ]
    return [(heading, pages) for heading, pages in made if pages]


def run(guides: dict[str, str], tell: Callable[[str], None]) -> dict[str, Any]:
    """What the examples of all pages print."""
    jobs: list[dict[str, Any]] = [
        {"kind": "guide", "id": name, "blocks": markdown.blocks(text)}
        for name, text in guides.items()
    ]
    for entry in catalog.entries():
        found = page.read(entry)
        if found.runs and not found.needs:
            jobs.append(
                {
                    "kind": "page",
                    "id": entry.number,
                    "source": found.program,
                    "config": found.config,
                }
            )
    results = examples.run_all(jobs, tell)
    for name in guides:
        answer = results[name]
        if answer is None or answer["failed"]:
            raise GuideFailed(answer["failed"] if answer else f"{name}: the example crashed")
    return results


def _outputs(result: dict[str, Any] | None) -> Callable[[int], str | None] | None:
    if result is None:
        return None
    outputs = result["outputs"]
    return lambda n: outputs[n] if n < len(outputs) else None


# ---- pages


def index_context() -> dict[str, Any]:
    entries = catalog.entries()
    counts = {status.value: sum(1 for e in entries if e.status is status) for status in Status}
    return {
        "entries": entries,
        "counts": counts,
        "statuses": [status.value for status in Status],
        "kinds": [kind.value for kind in Kind],
        "families": sorted({catalog.family_of(entry) for entry in entries}),
        "family_of": catalog.family_of,
    }


def search_index() -> str:
    """The texts to search, as a script: pages opened from a disk may not fetch files."""
    texts = search.texts()
    rows = [
        {
            "number": entry.number,
            "heading": texts[entry.number].heading,
            "names": texts[entry.number].names,
            "rest": texts[entry.number].rest,
            "happens": entry.status is Status.BREAK,
        }
        for entry in catalog.entries()
    ]
    text = json.dumps(rows, ensure_ascii=False).replace("<", "\\u003c")
    return f"window.sutureBreaks = {text};\n"


def break_context(entry: BreakType, result: dict[str, Any] | None) -> dict[str, Any]:
    found = page.read(entry)
    everything = catalog.entries()
    at = everything.index(entry)
    family = [e for e in everything if catalog.family_of(e) == catalog.family_of(entry)]
    return {
        "entry": entry,
        "family": catalog.family_of(entry),
        "relatives": [e for e in family if e is not entry],
        "before": everything[at - 1] if at else None,
        "after": everything[at + 1] if at + 1 < len(everything) else None,
        "sections": {
            heading: markdown.render(text, "../") for heading, text in found.sections.items()
        },
        "program": page.PROGRAM[entry.status],
        "found": found,
        "result": result,
    }


def rule_rows() -> list[tuple[str, str, str]]:
    """(name, what happens, why) of every rule that names something."""
    rows = [(row.name, row.kind.value, row.reason) for row in table_rows()]
    for table in (to_inline, to_run):
        rows += [(rule.name, rule.kind.value, rule.reason) for rule in table.rules.values()]
    return sorted(set(rows))


def opcodes() -> list[tuple[str, str, str, str]]:
    """(name, stack effect, what it does, how Python runs it at a break) of each instruction."""
    rows = []
    for name, effect in CANONICAL.items():
        stack, _, doc = effect.doc.partition(" ; ")
        handler = HANDLERS.get(name)
        how = "not traced" if handler is None else handler.run or "never breaks"
        rows.append((name, stack, doc, how))
    return sorted(rows)
