"""Runs the suite on every Python and torch that this machine can have, and prints one table.

    python tools/matrix.py [--only 3.14+2.13.0] [--chroot DIR] [--minutes 10] [--existing] [--write]
                           [-- PYTEST ARGUMENTS]

For each combination: an interpreter (on the PATH, of pyenv, or in a chroot of tools/chroot.sh), a
virtual environment with that torch, the core built in place, pytest. Without a torch (--only 3.13+)
what needs none is run. What cannot be had is said, with the reason, and so is what --minutes, for
all of them together, leave no time for. With --existing no torch is downloaded: environments that
are not there yet are left out. --write puts the table into docs/guide/versions.md. The exit code is
1 if a test failed or the core did not build where its headers are, and 0 if something was skipped.
"""

from __future__ import annotations

import argparse
import datetime
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "guide" / "versions.md"
BEGIN, END = "<!-- made by make matrix -->", "<!-- end -->"

# Python and torch; without a torch, what needs none: the core and the bytecode.
COMBINATIONS = (
    ("3.11", "2.13.0"),
    ("3.12", "2.11.0"),
    ("3.12", "2.12.0"),
    ("3.12", "2.15.0"),
    ("3.13", "2.13.0"),
    ("3.13", "2.14.0"),
    ("3.14", "2.13.0"),
    ("3.14", "2.15.0"),
    ("3.14t", "2.15.0"),
    ("3.15", "2.15.0"),
)
# An index that does not answer is not waited for.
PIP = ("install", "--quiet", "--timeout", "20", "--retries", "2", "--disable-pip-version-check")
WITHOUT_TORCH = ("tests/core", "tests/bytecode")
LINES = 100  # of what pytest wrote are shown if a test failed
ROOM = 12 * 2**30  # free bytes on the disk that a torch with its libraries takes, and more


class Missing(Exception):
    """A combination that this machine cannot have, and why."""


@dataclass
class Place:
    """An interpreter, and the words in front of a command that runs where it is."""

    python: str
    enter: tuple[str, ...]
    root: Path  # of its file system
    deadline: float | None = None  # on the monotonic clock

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """The command, when it has ended; Missing if there was no time for that."""
        left = None if self.deadline is None else self.deadline - time.monotonic()
        if left is not None and left <= 0:
            raise Missing("no time was left")
        whole = [*self.enter, *command]
        with subprocess.Popen(
            whole, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
        ) as process:
            try:
                out, err = process.communicate(timeout=left)
            except subprocess.TimeoutExpired:
                raise Missing("the time was over before it was done") from None
            finally:  # nothing of it goes on alone: not the workers of pytest, nor after Ctrl-C
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
        return subprocess.CompletedProcess(whole, process.returncode, out, err)


@dataclass
class Row:
    """One line of the table."""

    python: str
    torch: str
    passed: str = "-"
    failed: str = "-"
    skipped: str = "-"
    remark: str = ""

    def cells(self) -> tuple[str, ...]:
        return self.python, self.torch, self.passed, self.failed, self.skipped, self.remark


def find(version: str, chroot: Path | None) -> Place:
    """The interpreter of this version."""
    candidates = [Place(p, (), Path("/")) for p in _on_this_machine(version)]
    if chroot is not None and chroot.is_dir():
        names = (f"/usr/bin/python{version}", f"/usr/local/bin/python{version}")
        candidates += [Place(n, ("chroot", str(chroot)), chroot) for n in names]
    program = "import sys, sysconfig; print('%d.%d' % sys.version_info[:2] + 't' * "
    program += "bool(sysconfig.get_config_var('Py_GIL_DISABLED')))"
    for place in candidates:
        done = place.run(place.python, "-c", program)
        if done.returncode == 0 and done.stdout.strip() == version:
            return place
    hint = "" if chroot else "; tools/chroot.sh makes a chroot that may have it (--chroot)"
    raise Missing(f"no Python {version} on this machine{hint}")


def _on_this_machine(version: str) -> list[str]:
    found = [path] if (path := shutil.which(f"python{version}")) else []
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    pattern = f"versions/{version.rstrip('t')}.*/bin/python{version}"
    return found + [str(path) for path in sorted(pyenv.glob(pattern))]


def environment(
    place: Place, version: str, torch: str | None, home: Path, existing: bool = False
) -> str:
    """The Python of a virtual environment with this torch, made where it is not there yet; with
    `existing`, only if it needs no torch."""
    folder = home / f"{version}-{torch or 'no-torch'}"
    python = str(folder / "bin" / "python")
    stamp = place.root / str(folder / "made").lstrip("/")
    if stamp.exists():
        return python
    if stamp.parent.is_symlink():  # whose target would be cleared
        raise Missing(f"{folder} is a link to an environment without the file {stamp.name!r}")
    if torch and existing:
        raise Missing(f"there is no environment {folder.name} in {home}, and none is to be made")
    home.mkdir(parents=True, exist_ok=True)
    if torch and (free := shutil.disk_usage(home).free) < ROOM:
        raise Missing(f"{free // 2**30} GiB of disk are free; a torch may need {ROOM // 2**30}")
    made = place.run(place.python, "-m", "venv", "--clear", str(folder))
    if made.returncode:
        raise Missing(f"no virtual environment: {last_line(made)}")
    wanted = requirements(torch)
    done = place.run(python, "-m", "pip", *PIP, *wanted)
    if done.returncode:
        raise Missing(f"{wanted[0]} and others do not install: {last_line(done)}")
    stamp.touch()
    return python


def requirements(torch: str | None) -> list[str]:
    """What the suite needs, as pyproject.toml says, with this torch or without one."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        facts = tomllib.load(file)
    build, project = facts["build-system"]["requires"], facts["project"]
    extras = project["optional-dependencies"]
    if torch is None:
        return [*build, *(tool for tool in extras["test"] if not tool.startswith("numpy"))]
    libraries = [each for each in project["dependencies"] if not each.startswith("torch")]
    return [f"torch=={torch}", *build, *libraries, *extras["test"], *extras["check"]]


def can_build(place: Place) -> None:
    """Missing, if there is nothing to build the core with."""
    program = "import os, sysconfig; include = sysconfig.get_paths()['include']; "
    program += "print(os.path.exists(os.path.join(include, 'Python.h')))"
    if place.run(place.python, "-c", program).stdout.strip() != "True":
        raise Missing(f"{place.python} has no Python.h to build the core with")
    if place.run("sh", "-c", "command -v cc || command -v gcc").returncode:
        raise Missing("no C compiler")


def last_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return lines[-1][:120] if lines else f"exit code {done.returncode}"


def show_checkout(place: Place) -> None:
    """Let a chroot see this checkout under the same path."""
    seen = place.root / str(ROOT).lstrip("/")
    if place.root == Path("/") or (seen / "setup.py").exists():
        return
    seen.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(["mount", "--bind", str(ROOT), str(seen)], capture_output=True, text=True)
    if done.returncode:
        raise Missing(f"the chroot cannot see the checkout: {last_line(done)}")


def run(version: str, torch: str | None, options: argparse.Namespace) -> Row:
    """Build and test one combination."""
    row = Row(version, torch or "none")
    try:
        place = find(version, options.chroot)
        place.deadline = options.deadline
        show_checkout(place)
        can_build(place)
        python = environment(place, version, torch, options.home, options.existing)
        build = place.run(
            "env", "-C", str(ROOT), python, "setup.py", "-q", "build_ext", "--inplace"
        )
    except Missing as missing:
        return skipped(row, missing)
    if build.returncode:
        print(build.stdout + build.stderr, flush=True)
        row.failed, row.remark = "all", f"the core does not build: {last_line(build)}"
        return row
    report = ROOT / "build" / f"matrix-{version}-{torch}.xml"
    report.parent.mkdir(exist_ok=True)
    report.unlink(missing_ok=True)
    tests = options.pytest if torch else list(WITHOUT_TORCH)
    command = [
        "env",
        "-C",
        str(ROOT),
        f"PYTHONPATH={ROOT}",
        python,
        "-m",
        "pytest",
        "-q",
        "-n",
        "2",
    ]
    command += ["-p", "no:cacheprovider", "--tb=short", f"--junitxml={report}", *tests]
    print(f"{version} with torch {torch}: {' '.join(tests) or 'the whole suite'}", flush=True)
    try:
        done = place.run(*command)
    except Missing as missing:
        return skipped(row, missing)
    (ROOT / "build" / f"matrix-{version}-{torch}.log").write_text(done.stdout + done.stderr)
    if not report.exists():
        row.failed = "all"
        row.remark = f"pytest ended with {done.returncode}: {last_line(done)}"
        return row
    counted(row, report, " ".join(tests))
    if row.failed != "0":
        print("\n".join(done.stdout.splitlines()[-LINES:]), flush=True)
    return row


def skipped(row: Row, why: Missing) -> Row:
    """The row of what was not run, which is said at once too."""
    print(f"SKIPPED {row.python} with torch {row.torch}: {why}", flush=True)
    row.remark = f"not run: {why}"
    return row


def counted(row: Row, report: Path, tests: str) -> Row:
    """The row with what pytest wrote about its run."""
    suite = next(ElementTree.parse(report).iter("testsuite"))
    failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
    skipped = int(suite.get("skipped", 0))
    row.passed = str(int(suite.get("tests", 0)) - failed - skipped)
    row.failed, row.skipped = str(failed), str(skipped)
    row.remark = tests or "the whole suite"
    return row


def table(rows: list[Row]) -> str:
    """The rows as a table of Markdown."""
    head = ("Python", "torch", "passed", "failed", "skipped", "what was run")
    lines = [head, ("---",) * len(head), *(row.cells() for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write(rows: list[Row]) -> None:
    """Put the rows into the page; rows of combinations that were not asked for stay."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    old, after = rest.split(END)
    new = {(row.python, row.torch): row for row in rows}
    kept = []
    for line in re.findall(r"^\| (\d.*) \|$", old, re.MULTILINE):
        cells = [cell.strip() for cell in line.split("|")]
        if (cells[0], cells[1]) not in new:
            kept.append(Row(*cells))
    order = [(python, torch or "none") for python, torch in COMBINATIONS]
    every = sorted(
        [*kept, *rows],
        key=lambda r: order.index((r.python, r.torch)) if (r.python, r.torch) in order else 99,
    )
    day = datetime.date.today().isoformat()
    body = f"{BEGIN}\n{table(every)}\n\nLast run: {day}.\n{END}"
    PAGE.write_text(before + body + after, encoding="utf-8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", action="append", help="PYTHON+TORCH; may be given again")
    parser.add_argument("--home", type=Path, default=ROOT / ".matrix", help="for environments")
    parser.add_argument("--chroot", type=Path, help="a folder made by tools/chroot.sh")
    parser.add_argument("--minutes", type=float, help="for all of it; what does not fit is skipped")
    parser.add_argument("--existing", action="store_true", help="download no torch")
    parser.add_argument("--write", action="store_true", help="write the table into the guide")
    parser.add_argument("pytest", nargs="*", help="arguments of pytest; without: the whole suite")
    made = parser.parse_args()
    made.home = made.home.resolve()
    made.deadline = None if made.minutes is None else time.monotonic() + 60 * made.minutes
    return made


def main() -> int:
    options = arguments()
    wanted = COMBINATIONS
    if options.only:
        pairs = [one.partition("+")[::2] for one in options.only]
        wanted = tuple((python, torch or None) for python, torch in pairs)
    rows = [run(python, torch, options) for python, torch in wanted]
    print(table(rows))
    if options.write:
        write(rows)
    return int(any(row.failed not in ("0", "-") for row in rows))


if __name__ == "__main__":
    sys.exit(main())
