"""For the tests of users: what was captured must stay captured.

    from suture.testing import assert_captured

    def test_step_is_one_graph():
        assert_captured(step, model, torch.randn(8, 16))

`recorded()` gives the same facts for any piece of code. The pytest plugin (`suture_pytest`) does it
for a whole test run, against a file of what is known already.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from suture.messages.texts import shorten
from suture.tools.report import Report, explain, recording
from suture.tools.report.model import BreakRow
from suture.tools.report.text import count, plain

__all__ = ["NotCaptured", "assert_captured", "recorded"]


class NotCaptured(AssertionError):
    """A function was not captured as it should be. `report` says how it was."""

    def __init__(self, message: str, report: Report) -> None:
        super().__init__(message)
        self.report = report


def assert_captured(
    fn: Any,
    *args: Any,
    graphs: int | None = 1,
    breaks: Sequence[str] | None = (),
    recompilations: int = 0,
    interpreted: int = 0,
    calls: int = 2,
    backend: Any = "eager",
    kwargs: dict[str, Any] | None = None,
    **options: Any,
) -> Report:
    """Call `fn` compiled, and fail unless it became what is expected.

    `graphs` is how many graphs there are, `breaks` the numbers of the breaks in the order they are
    met (None: any, for both). The function is called `calls` times with the same arguments, so that
    it also shows whether a second call compiles again. A function that raises fails too.
    `options` go to `suture.compile`. Gives the report.
    """
    __tracebackhide__ = True
    report = explain(fn, backend=backend, calls=calls, **options)(*args, **kwargs or {})
    problems = list(_problems(report, graphs, breaks, recompilations, interpreted))
    if report.error:
        problems.append(f"it raised {report.error.splitlines()[0]}")
    if problems:
        head = f"{report.function} was not captured as expected:"
        listed = "\n".join(f"  - {problem}" for problem in problems)
        raise NotCaptured(f"{head}\n{listed}\n\n{plain(report)}", report)
    return report


def _problems(
    report: Report,
    graphs: int | None,
    breaks: Sequence[str] | None,
    recompilations: int,
    interpreted: int,
) -> Iterator[str]:
    if graphs is not None and report.graphs != graphs:
        yield f"{count(report.graphs, 'graph')} instead of {graphs}"
    if breaks is not None:
        wanted = list(breaks)
        for row in report.breaks:
            if row.number in wanted:
                wanted.remove(row.number)
            else:
                yield f"an unexpected break: {describe(row)}"
        yield from (f"{number} was expected, and did not break" for number in wanted)
    again = sum(row.count for row in report.recompilations)
    if again != recompilations:
        reasons = "; ".join(row.reasons[0] for row in report.recompilations if row.reasons)
        why = f": {reasons}" if reasons else ""
        yield f"{count(again, 'recompilation')} instead of {recompilations}{why}"
    left = sum(row.count for row in report.interpreted)
    if left != interpreted:
        reasons = "; ".join(row.reason for row in report.interpreted)
        yield f"{count(left, 'frame')} left to the interpreter instead of {interpreted}: {reasons}"


def describe(row: BreakRow) -> str:
    """A break on one line: number, location, reason."""
    return f"{row.number} at {shorten(row.where.file)}:{row.where.line}: {row.message}"


@contextmanager
def recorded() -> Iterator[Report]:
    """The report of what is compiled in a `with` block; it is filled when the block ends."""
    report = Report("recorded")
    with recording() as recorder:
        try:
            yield report
        finally:
            made = recorder.report("recorded")
            for name in ("regions", "breaks", "recompilations", "interpreted", "phases", "sources",
                         "call_seconds", "versions"):  # fmt: skip
                setattr(report, name, getattr(made, name))
