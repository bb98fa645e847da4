"""What a report holds: plain data, the same after a trip through JSON."""

from __future__ import annotations

import json
import sysconfig
from dataclasses import asdict, dataclass, field
from typing import Any

from suture.events import Node, Where

SCHEMA = 1


@dataclass(slots=True)
class Guard:
    """One guard, and the user's line that asked for it ("" and 0: none did)."""

    text: str
    file: str = ""
    line: int = 0


@dataclass(slots=True)
class Region:
    """One variant: the lines it walked, its graph, its guards, and what running it took.

    `exit` is "return", "break", "raise" or "interpret"; `break_index` points into the report's
    breaks. `calls` and `seconds` are of the graph alone. A region without operations has no graph.
    """

    index: int
    where: Where
    lines: list[tuple[str, int]] = field(default_factory=list)
    graph_lines: list[tuple[str, int]] = field(default_factory=list)
    inlined: list[str] = field(default_factory=list)
    instructions: int = 0
    ops: int = 0
    inputs: int = 0
    outputs: int = 0
    nodes: list[Node] = field(default_factory=list)
    graph: str = ""
    code: str = ""
    guards: list[Guard] = field(default_factory=list)
    check_seconds: float = 0.0
    exit: str = "return"
    break_index: int | None = None
    calls: int = 0
    seconds: float = 0.0
    compile_seconds: float = 0.0
    variant: str = ""


@dataclass(slots=True)
class BreakRow:
    """One break at one location. `hits` counts how often it ran, `count` how often it was compiled;
    `seconds` is the time that Python spent there, outside of graphs and of compiling."""

    number: str
    type: str
    message: str
    where: Where
    stack: list[Where]
    explanation: str
    hints: list[str]
    kind: str = ""
    source: str = ""
    count: int = 1
    hits: int = 0
    seconds: float = 0.0
    raised: bool = False
    title: str = ""

    @property
    def heading(self) -> str:
        """What the break is called where people read; `type` is its name in the registry."""
        return self.title or self.type


@dataclass(slots=True)
class Recompilation:
    """A location that compiled again, `count` times. `reasons` is its history: each time, the guard
    of the newest variant that failed."""

    where: Where
    reasons: list[str]
    count: int = 1


@dataclass(slots=True)
class Interpretation:
    """A frame that continued in the interpreter other than by request."""

    where: Where
    reason: str
    count: int = 1


@dataclass(slots=True)
class Phase:
    """One phase of compiling: when it began, counted from the start of the report, and its time."""

    name: str
    point: str
    start: float
    seconds: float


@dataclass(slots=True)
class Record:
    """What compiling and running did. `sources` holds the lines of the files that took part (those
    that could be read), `call_seconds` all the calls together, compiling included. `error` is what
    ended it early, and `ended` how: "raised", "exited" or "interrupted". `rank`: which process of
    several it was."""

    function: str
    file: str = ""
    line: int = 0
    backend: str = ""
    regions: list[Region] = field(default_factory=list)
    breaks: list[BreakRow] = field(default_factory=list)
    recompilations: list[Recompilation] = field(default_factory=list)
    interpreted: list[Interpretation] = field(default_factory=list)
    left_to_python: list[Interpretation] = field(default_factory=list)
    phases: list[Phase] = field(default_factory=list)
    sources: dict[str, list[str]] = field(default_factory=dict)
    calls: int = 0
    call_seconds: float = 0.0
    error: str = ""
    ended: str = "raised"
    note: str = ""
    versions: dict[str, str] = field(default_factory=dict)
    rank: int | None = None
    result: Any = field(default=None, repr=False, compare=False)

    # ---- sums

    @property
    def graphs(self) -> int:
        return sum(1 for region in self.regions if region.graph)

    @property
    def ops(self) -> int:
        return sum(region.ops for region in self.regions if region.graph)

    def by_cost(self) -> list[BreakRow]:
        """The breaks, what costs most first: what raised, then by the time that Python spent there,
        then by how often it ran. Of equals, what the program asked for comes last."""
        return sorted(
            self.breaks,
            key=lambda row: (
                not row.raised, -row.seconds, -row.hits, -row.count, row.kind == "by request",
            ),
        )  # fmt: skip

    @property
    def recompiled(self) -> int:
        """How often something was compiled again, all locations together."""
        return sum(row.count for row in self.recompilations)

    @property
    def frames(self) -> list[str]:
        """The functions that were compiled or inlined, each once, in the order they were met."""
        names: dict[str, None] = {}
        for region in self.regions:
            names.setdefault(region.where.function)
            names.update(dict.fromkeys(region.inlined))
        return list(names)

    @property
    def compile_seconds(self) -> float:
        return sum(phase.seconds for phase in self.phases)

    @property
    def graph_seconds(self) -> float:
        return sum(region.seconds for region in self.regions)

    @property
    def break_seconds(self) -> float:
        return sum(row.seconds for row in self.breaks)

    @property
    def other_seconds(self) -> float:
        """Guards, dispatch and Python outside of graphs and breaks."""
        known = self.compile_seconds + self.graph_seconds + self.break_seconds
        return max(self.call_seconds - known, 0.0)

    def phase_seconds(self) -> dict[str, float]:
        """Time of compiling by phase, in the order in which they come."""
        out: dict[str, float] = {}
        for phase in self.phases:
            out[phase.name] = out.get(phase.name, 0.0) + phase.seconds
        return out

    def reached(self) -> set[tuple[str, int]]:
        """The lines that were walked over, broke, or were left to the interpreter."""
        found = {at for region in self.regions for at in region.lines}
        found |= {(row.where.file, row.where.line) for row in self.breaks}
        found |= {(one.where.file, one.where.line) for one in self.interpreted}
        return found

    def captured_fraction(self) -> float:
        """The share of the lines reached at which Python had nothing to do; 0.0 for none."""
        reached = self.reached()
        if not reached:
            return 0.0
        lost = {(row.where.file, row.where.line) for row in self.breaks}
        lost |= {(one.where.file, one.where.line) for one in self.interpreted}
        return 1.0 - len(reached & lost) / len(reached)

    # ---- out

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON values; `result` is left out."""
        kept, self.result = self.result, None
        try:
            record = asdict(self)
        finally:
            self.result = kept
        del record["result"]
        sums = {
            "graphs": self.graphs,
            "ops": self.ops,
            "captured_fraction": round(self.captured_fraction(), 4),
            "compile_seconds": self.compile_seconds,
        }
        return {"schema": SCHEMA, "summary": sums, **record}

    def to_json(self) -> str:
        return json.dumps(self.as_dict(), indent=1, ensure_ascii=False) + "\n"


def is_library(file: str) -> bool:
    """Whether a file belongs to an installed package or to Python, not to the user's program."""
    standard = sysconfig.get_paths()["stdlib"]
    return "/site-packages/" in file or file.startswith((standard, "<frozen"))
