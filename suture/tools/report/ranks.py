"""The reports of the ranks of a group as one: a table of ranks, and where they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from suture.tools.report.diff import counted
from suture.tools.report.model import Record


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that did not come equally often on all ranks: what kind of thing, its text, and how
    often each rank has it."""

    kind: str
    text: str
    counts: dict[int, int]

    def who(self) -> str:
        """Which ranks have it, in words."""
        by_count: dict[int, list[int]] = {}
        for rank, count in self.counts.items():
            by_count.setdefault(count, []).append(rank)
        if set(by_count) == {0, 1}:
            return f"only {ranks_in_words(by_count[1])}"
        parts = sorted(by_count.items(), reverse=True)
        return "; ".join(f"{ranks_in_words(ranks)}: {count}" for count, ranks in parts)


@dataclass(frozen=True, slots=True)
class Ranks:
    """The reports by rank, and where they differ."""

    reports: dict[int, Record]
    differences: list[Difference]

    def rows(self) -> list[dict[str, Any]]:
        """One row of sums for each rank."""
        return [
            {
                "rank": rank,
                "graphs": report.graphs,
                "operations": report.ops,
                "breaks": len(report.breaks),
                "recompilations": report.recompiled,
                "interpreted": len(report.interpreted),
                "compile_seconds": round(report.compile_seconds, 3),
                "ended": f"{report.ended} {report.error}" if report.error else "",
            }
            for rank, report in self.reports.items()
        ]

    def as_dict(self) -> dict[str, Any]:
        found = [
            {"kind": one.kind, "text": one.text, "counts": one.counts} for one in self.differences
        ]
        return {"ranks": self.rows(), "differences": found}

    def __rich__(self) -> Group:
        sums = Table(box=None, pad_edge=False, header_style="bold")
        names = ["rank", "graphs", "operations", "breaks", "recompilations", "interpreted"]
        for name in (*names, "compiling"):
            sums.add_column(name, justify="right")
        sums.add_column("ended")
        for row in self.rows():
            sums.add_row(
                *(str(row[name]) for name in names), f"{row['compile_seconds']:.1f} s", row["ended"]
            )
        if not self.differences:
            return Group(sums, Text("\nAll ranks did the same."))
        parts = [Text("\nWhere ranks differ", style="bold")]
        for one in self.differences:
            parts.append(Text(f"  {one.kind}: {one.text}"))
            parts.append(Text(f"    {one.who()}", style="yellow"))
        return Group(sums, *parts)


def merge(reports: Sequence[Record]) -> Ranks:
    """The reports of one group. Those that do not say which rank they are are numbered in the
    order given. Raises ValueError if two say that they are the same one."""
    by_rank: dict[int, Record] = {}
    for number, report in enumerate(reports):
        rank = number if report.rank is None else report.rank
        if rank in by_rank:
            raise ValueError(f"two of the reports are of rank {rank}")
        by_rank[rank] = report
    by_rank = dict(sorted(by_rank.items()))
    tables = {rank: {**_graphs(one), **counted(one)} for rank, one in by_rank.items()}
    found = []
    for kind in next(iter(tables.values())):
        texts = dict.fromkeys(text for table in tables.values() for text in table[kind])
        for text in texts:
            counts = {rank: table[kind][text] for rank, table in tables.items()}
            if len(set(counts.values())) > 1:
                found.append(Difference(kind, text, counts))
    return Ranks(by_rank, found)


def _graphs(report: Record) -> dict[str, Counter[str]]:
    """Graphs by the function they begin in and what they hold."""
    names = (
        f"{region.where.function}: {region.ops} operation{'s' if region.ops != 1 else ''}"
        for region in report.regions
        if region.graph
    )
    return {"graphs": Counter(names)}


def ranks_in_words(ranks: Sequence[int]) -> str:
    """`rank 3`, `ranks 0, 4-7`: neighbours together."""
    spans: list[list[int]] = []
    for rank in sorted(ranks):
        if spans and rank == spans[-1][1] + 1:
            spans[-1][1] = rank
        else:
            spans.append([rank, rank])
    texts = [str(a) if a == b else f"{a}{',' if b == a + 1 else '-'}{b}" for a, b in spans]
    texts = [text.replace(",", ", ") for text in texts]
    return f"rank{'s' if len(ranks) > 1 else ''} {', '.join(texts)}"
