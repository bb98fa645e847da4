"""tools/matrix.py: what is skipped is said, and the table keeps what was not run again."""

from __future__ import annotations

import fcntl
import importlib.util
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def matrix():
    spec = importlib.util.spec_from_file_location("matrix_tool", ROOT / "tools" / "matrix.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["matrix_tool"] = module  # for its dataclasses
    spec.loader.exec_module(module)
    yield module
    del sys.modules["matrix_tool"]


def test_a_command_gets_no_more_time_than_is_left(matrix):
    place = matrix.Place(sys.executable, (), Path("/"), time.monotonic() + 0.5)
    with pytest.raises(matrix.Missing, match="over before it was done"):
        place.run(sys.executable, "-c", "import time; time.sleep(60)")
    place.deadline = time.monotonic()
    with pytest.raises(matrix.Missing, match="no time was left"):
        place.run(sys.executable, "-c", "")


def test_a_python_that_is_not_there_is_said(matrix, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["matrix.py", "--only", "3.99+2.13.0"])
    assert matrix.main() == 0
    told = capsys.readouterr().out
    assert "SKIPPED 3.99 with torch 2.13.0: no Python 3.99 on this machine" in told
    assert "| 3.99 | 2.13.0 | - | - | - | not run: no Python 3.99" in told


def test_no_torch_is_downloaded_unless_it_may_be(matrix, tmp_path, monkeypatch):
    place = matrix.Place(sys.executable, (), Path("/"))
    monkeypatch.setattr(matrix.Place, "run", lambda *command: pytest.fail("it ran something"))
    with pytest.raises(matrix.Missing, match="no environment 3.12-2.15.0"):
        matrix.environment(place, "3.12", "2.15.0", tmp_path, existing=True)
    monkeypatch.setattr(matrix, "ROOM", 2**60)
    with pytest.raises(matrix.Missing, match="of disk are free"):
        matrix.environment(place, "3.12", "2.15.0", tmp_path)
    (tmp_path / "3.12-2.15.0").symlink_to(tmp_path)
    with pytest.raises(matrix.Missing, match="is a link to an environment"):
        matrix.environment(place, "3.12", "2.15.0", tmp_path)
    (tmp_path / "3.12-2.15.0").unlink()
    (tmp_path / "3.12-2.15.0").mkdir()
    (tmp_path / "3.12-2.15.0" / "made").touch()
    found = matrix.environment(place, "3.12", "2.15.0", tmp_path, existing=True)
    assert found == str(tmp_path / "3.12-2.15.0" / "bin" / "python")


def test_what_a_command_started_ends_with_its_time(matrix, tmp_path):
    """The worker holds a lock as long as it lives; the lock is free afterwards."""
    lock, held = tmp_path / "lock", tmp_path / "held"
    worker = (
        f"import fcntl, pathlib, time; file = open({str(lock)!r}, 'w'); "
        f"fcntl.flock(file, fcntl.LOCK_EX); pathlib.Path({str(held)!r}).touch(); time.sleep(600)"
    )
    program = (
        "import os, subprocess, sys, time\n"
        "subprocess.Popen([sys.executable, '-c', sys.argv[1]])\n"
        f"while not os.path.exists({str(held)!r}): time.sleep(0.01)\n"
        "time.sleep(600)"
    )
    place = matrix.Place(sys.executable, (), Path("/"), time.monotonic() + 60)

    def over_once_held(process, timeout):
        while not held.exists():
            assert process.poll() is None
            time.sleep(0.01)
        raise subprocess.TimeoutExpired(process.args, timeout)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess.Popen, "communicate", over_once_held)
        with pytest.raises(matrix.Missing, match="over before it was done"):
            place.run(sys.executable, "-c", program, worker)
    with lock.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # waits for the worker's end


def fake_runs(matrix, monkeypatch, answer):
    """Commands are not run; answer(command) gives exit code, stdout and stderr."""

    def run(place, *command):
        return subprocess.CompletedProcess(command, *answer(" ".join(command)))

    monkeypatch.setattr(matrix.Place, "run", run)
    monkeypatch.setattr(
        matrix, "find", lambda version, chroot: matrix.Place("python", (), Path("/"))
    )


def test_what_does_not_install_is_said_and_is_no_failure(matrix, monkeypatch, tmp_path, capsys):
    def answer(command):
        if "pip" in command:
            return 1, "", "WARNING: retrying\nERROR: No matching distribution found\n"
        return 0, "True\n", ""

    fake_runs(matrix, monkeypatch, answer)
    monkeypatch.setattr(sys, "argv", ["matrix.py", "--only", "3.13+", "--home", str(tmp_path)])
    assert matrix.main() == 0
    told = capsys.readouterr().out
    assert "SKIPPED 3.13 with torch none: setuptools" in told
    assert "ERROR: No matching distribution" in told


def test_without_headers_nothing_is_installed(matrix, monkeypatch, tmp_path, capsys):
    fake_runs(matrix, monkeypatch, lambda command: (0, "False\n", ""))
    monkeypatch.setattr(sys, "argv", ["matrix.py", "--only", "3.13+", "--home", str(tmp_path)])
    assert matrix.main() == 0
    assert "SKIPPED 3.13 with torch none: python has no Python.h" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_a_core_that_does_not_build_is_a_failure(matrix, monkeypatch, tmp_path, capsys):
    def answer(command):
        return (1, "", "frames.c: error\n") if "build_ext" in command else (0, "True\n", "")

    (tmp_path / "3.13-no-torch").mkdir()
    fake_runs(matrix, monkeypatch, answer)
    monkeypatch.setattr(sys, "argv", ["matrix.py", "--only", "3.13+", "--home", str(tmp_path)])
    assert matrix.main() == 1
    assert "| 3.13 | none | - | all | - | the core does not build: frames.c: error |" in (
        capsys.readouterr().out
    )


def test_rows_of_other_combinations_stay(matrix, monkeypatch, tmp_path):
    page = tmp_path / "versions.md"
    page.write_text(f"before\n{matrix.BEGIN}\n{matrix.END}\nafter\n")
    monkeypatch.setattr(matrix, "PAGE", page)
    matrix.write([matrix.Row("3.14", "2.13.0", "5", "0", "1", "tests/core")])
    matrix.write([matrix.Row("3.11", "2.13.0", "9", "0", "0", "the whole suite")])
    matrix.write([matrix.Row("3.14", "2.13.0", "7", "0", "0", "the whole suite")])
    rows = [line for line in page.read_text().splitlines() if line.startswith("| 3")]
    assert rows == [
        "| 3.11 | 2.13.0 | 9 | 0 | 0 | the whole suite |",
        "| 3.14 | 2.13.0 | 7 | 0 | 0 | the whole suite |",
    ]
    assert page.read_text().startswith("before\n") and page.read_text().endswith("\nafter\n")


def test_failures_are_counted(matrix, tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(
        '<testsuites><testsuite tests="10" failures="2" errors="1" skipped="3"/></testsuites>'
    )
    row = matrix.counted(matrix.Row("3.13", "2.13.0"), report, "tests/core")
    assert (row.passed, row.failed, row.skipped, row.remark) == ("4", "3", "3", "tests/core")


def test_an_environment_has_what_the_project_says_it_needs(matrix):
    whole = matrix.requirements("2.13.0")
    assert whole[0] == "torch==2.13.0"
    assert sum(each.startswith("torch") for each in whole) == 1
    assert {"rich", "pytest", "mypy"} <= {re.split("[=><]", each)[0] for each in whole}
    bare = {re.split("[=><]", each)[0] for each in matrix.requirements(None)}
    assert {"setuptools", "pytest", "hypothesis"} <= bare
    assert not bare & {"torch", "numpy"}
