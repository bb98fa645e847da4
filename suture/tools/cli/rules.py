"""suture rules: what the tracer does with a callable, and which rule says so."""

from __future__ import annotations

import argparse
import types
from typing import Any

from rich.table import Table
from rich.text import Text

from suture import rules
from suture.rules.names import resolve
from suture.tools.cli.common import OK, fail, out, print_json

_STYLES = {"run": "magenta", "in graph": "green", "inline": "cyan"}


def add(commands: Any) -> None:
    made = commands.add_parser(
        "rules",
        help="what happens at a call of NAME: inline, in graph, run by Python",
        description="NAME is dotted: torch.manual_seed, numpy.dot. A module lists what it holds.",
    )
    made.add_argument("name")
    made.add_argument("--json", action="store_true")
    made.set_defaults(do=run)


def run(arguments: argparse.Namespace) -> int:
    try:
        obj = resolve(arguments.name)
    except rules.UnknownName as error:
        fail(str(error))
    if isinstance(obj, types.ModuleType):
        return _listing(arguments)
    try:
        steps = rules.explain(obj)
        verdict = rules.lookup(obj)
    except (TypeError, rules.RuleError) as error:
        fail(f"{arguments.name}: {error}")
    if arguments.json:
        print_json({"name": arguments.name, **_record(verdict), "asked": [str(s) for s in steps]})
        return OK
    console = out()
    text = Text(arguments.name, style="bold")
    text.append(f"  {verdict.kind.value}", style=_STYLES.get(verdict.kind.value, ""))
    text.append(f"\n  {verdict.reason}\n  rule: {verdict.rule} ({verdict.where})")
    console.print(text)
    for step in steps:
        said = "nothing" if step.verdict is None else step.verdict.kind.value
        console.print(Text(f"  {step.asked}: {said}", style="dim"))
    return OK


def _record(verdict: Any) -> dict[str, str]:
    return {
        "kind": verdict.kind.value,
        "reason": verdict.reason,
        "rule": verdict.rule,
        "where": verdict.where,
    }


def _listing(arguments: argparse.Namespace) -> int:
    rows = rules.listing(arguments.name)
    if arguments.json:
        print_json([{"name": name, **_record(verdict)} for name, verdict in rows])
        return OK
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(style="dim")
    for name, verdict in rows:
        kind = verdict.kind.value
        table.add_row(name, Text(kind, style=_STYLES.get(kind, "")), Text(verdict.reason))
    out().print(table)
    return OK
