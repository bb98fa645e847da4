"""A pytest plugin: a test run fails on graph breaks that were not there before.

    pytest --suture-baseline breaks.json                    compare with the file
    pytest --suture-baseline breaks.json --suture-update    write the file

What is compared: breaks, recompilations and frames left to the interpreter, each with its place,
and the number of graphs of each test. A place is a file, a function and the text of a line, so
that an edit further up changes nothing. Tests that are not run keep what the file says of them.

`torch.compile` means suture while the gate is on, so functions under it count too. A run in which
nothing at all was compiled fails: the gate would have looked at nothing. Under pytest-xdist each
worker compares its own tests, and what they did is written to the file by the main process.

suture, and with it torch, is imported only when one of the options is given.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

SCHEMA = 1


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("suture")
    group.addoption(
        "--suture-baseline",
        metavar="FILE",
        help="fail on graph breaks, graphs, recompilations and interpreted frames not in FILE",
    )
    group.addoption(
        "--suture-update", action="store_true", help="write what happens to the baseline file"
    )


def pytest_configure(config: pytest.Config) -> None:
    path = config.getoption("--suture-baseline")
    if config.getoption("--suture-update") and not path:
        raise pytest.UsageError("--suture-update needs --suture-baseline FILE")
    if path:
        from suture.install import install, uninstall

        config.pluginmanager.register(Gate(config, Path(path)), "suture-gate")
        install()
        config.add_cleanup(uninstall)


class Gate:
    """Records each test, and compares it with what the baseline has for it."""

    def __init__(self, config: pytest.Config, path: Path) -> None:
        self.path = path
        # pytest takes a file of options for a hint of where its root is, so what is written down
        # must not depend on that: names are relative to the folder of the baseline.
        self.places = Places(path.absolute().parent, config.rootpath)
        self.update = bool(config.getoption("--suture-update"))
        self.known = {} if self.update and not path.exists() else _read(path)
        self.seen: dict[str, dict[str, Any]] = {}
        self.news: list[str] = []
        self.empty = False

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Any:
        from suture import events

        with events.recorded() as happened:
            result = yield
        record = summary(happened, self.places)
        name = self.places.of_test(item)
        self.seen[name] = record
        if not self.update:
            found = compare(self.known.get(name, {}), record)
            if found:
                self.news += [f"{name}: {line}" for line in found]
                pytest.fail("suture: " + "\n        ".join(found), pytrace=False)
        return result

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        """A worker of pytest-xdist is done: what its tests did is part of this run."""
        self.seen |= getattr(node, "workeroutput", {}).get("suture_seen", {})
        self.news += getattr(node, "workeroutput", {}).get("suture_news", [])

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        worker = getattr(session.config, "workeroutput", None)
        if worker is not None:
            worker["suture_seen"], worker["suture_news"] = self.seen, self.news
            return
        self.empty = bool(self.seen) and not any(_compiled(one) for one in self.seen.values())
        if self.empty and session.exitstatus in (pytest.ExitCode.OK, 0):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if not self.update:
            return
        tests = {**self.known, **self.seen}
        kept = {name: record for name, record in sorted(tests.items()) if any(record.values())}
        text = json.dumps({"schema": SCHEMA, "tests": kept}, indent=1, ensure_ascii=False)
        self.path.write_text(text + "\n", encoding="utf-8")

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.empty:
            terminalreporter.section("suture: nothing was compiled", red=True)
            terminalreporter.write_line(
                f"{len(self.seen)} tests ran, and none of them called a function that torch.compile"
                " or suture.compile made: the gate looked at nothing."
            )
        if self.update:
            terminalreporter.write_line(f"suture: {self.path} holds {len(self.seen)} tests")
        elif self.news:
            terminalreporter.section("suture: not in the baseline")
            for line in self.news:
                terminalreporter.write_line(line)
            terminalreporter.write_line("(--suture-update accepts them)")


def _read(path: Path) -> dict[str, Any]:
    """The tests of a baseline file."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        if record["schema"] != SCHEMA:
            raise ValueError(f"its schema is {record['schema']!r}, not {SCHEMA}")
        return dict(record["tests"])
    except FileNotFoundError:
        raise pytest.UsageError(
            f"there is no baseline {path}; --suture-update writes one"
        ) from None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise pytest.UsageError(f"{path} is no baseline of suture: {error}") from None


class Places:
    """Files of the project (below pytest's root or the baseline's folder) by their way from the
    baseline; others as they are."""

    def __init__(self, base: Path, root: Path) -> None:
        self.base = base
        self.homes = (base, root)

    def of(self, file: str) -> str:
        path = Path(file)
        if any(path.is_relative_to(home) for home in self.homes):
            return Path(os.path.relpath(path, self.base)).as_posix()
        return file

    def of_test(self, item: pytest.Item) -> str:
        _, _, inside = item.nodeid.partition("::")
        return f"{self.of(str(item.path))}::{inside}"


def summary(happened: list[Any], places: Places) -> dict[str, Any]:
    """What a test did, as the baseline keeps it."""
    from suture import events

    out: dict[str, Any] = {"graphs": 0, "breaks": {}, "recompilations": {}, "interpreted": {}}
    for event in happened:
        match event:
            case events.Captured():
                out["graphs"] += 1
            case events.Broke():
                _count(out["breaks"], f"{event.number} {_place(event.where, places)}", event)
            case events.Recompiled():
                _count(out["recompilations"], _place(event.where, places), event)
            case events.Interpreted():
                number = event.reason.partition(" ")[0]
                _count(out["interpreted"], f"{number} {_place(event.where, places)}", event)
    return out


def _compiled(record: dict[str, Any]) -> bool:
    """Whether a test compiled anything, or tried to."""
    return any(record.values())


def _count(table: dict[str, Any], key: str, event: Any) -> None:
    """One more of a kind; the line is kept for messages, and is no part of the comparison."""
    row = table.setdefault(key, {"count": 0, "line": event.where.line, "text": _text(event)})
    row["count"] += 1


def _text(event: Any) -> str:
    reasons = getattr(event, "reasons", None)
    if reasons:
        return str(reasons[0])
    return str(getattr(event, "message", None) or getattr(event, "reason", ""))


def _place(where: Any, places: Places) -> str:
    from suture.messages.source import line_of, printable

    file = places.of(where.file)
    source = printable((line_of(where.file, where.line) or "").strip())[:160]
    return f"{file} {where.function}: {source}"


def compare(known: dict[str, Any], record: dict[str, Any]) -> list[str]:
    """What a test does that the baseline does not have, a line each."""
    found = []
    names = {
        "breaks": "new break",
        "recompilations": "new recompilation",
        "interpreted": "left to the interpreter",
    }
    for kind, said in names.items():
        for key, row in record[kind].items():
            before = known.get(kind, {}).get(key, {}).get("count", 0)
            if row["count"] > before:
                more = f" ({row['count']} times, {before} before)" if before else ""
                found.append(f"{said} at line {row['line']}: {key}{more}: {row['text']}")
    before = known.get("graphs", 0)
    if record["graphs"] > before and known:
        found.append(f"{record['graphs']} graphs instead of {before}")
    return found
