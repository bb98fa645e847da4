"""What type checkers say of compiled functions: the signature is kept."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys

import pytest

PROGRAM = """
import suture


def plain(x: int, *, y: str = "") -> float:
    return 1.0


class Net:
    size: int

    def __call__(self, x: int) -> str:
        return ""


made = suture.compile(plain)
reveal_type(made)
reveal_type(made(1, y="a"))
reveal_type(suture.compile(Net()).size)


@suture.compile(fullgraph=True)
def decorated(x: int) -> list[int]:
    return [x]


@suture.compile
def bare(x: int) -> list[int]:
    return [x]


reveal_type(decorated(1))
reveal_type(bare)
reveal_type(suture.explain(plain)(1, y="a"))
made("wrong")
decorated("wrong")
suture.explain(plain)("wrong")
suture.compile(plain, fulgraph=True)
"""

REVEALED = [
    "def (x: int, *, y: str =) -> float",
    "float",
    "int",
    "list[int]",
    "def (x: int) -> list[int]",
    "suture.tools.report.report.Report",
]


def test_mypy_keeps_signatures(tmp_path):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed: what it says of signatures is not looked at")
    script = tmp_path / "typed.py"
    script.write_text(PROGRAM)
    flags = ["--strict", "--follow-imports=silent", "--disable-error-code=no-any-return"]
    run = subprocess.run(
        [sys.executable, "-m", "mypy", *flags, "--hide-error-context", str(script)],
        capture_output=True,
        text=True,
    )
    told = [_plain(line) for line in run.stdout.splitlines() if "typed.py" in line]
    notes = [line.split('is "')[1][:-1] for line in told if "Revealed type" in line]
    assert notes == REVEALED, run.stdout
    errors = [line for line in told if ": error:" in line]
    assert sum("[arg-type]" in line for line in errors) == 3, run.stdout
    assert errors[3:] and all("[call-overload]" in line for line in errors[3:]), run.stdout


def _plain(line):
    """Without what differs between versions of mypy."""
    return line.replace("builtins.", "").replace(" = ...", " =")


def test_pyright_keeps_signatures(tmp_path):
    tool = shutil.which("pyright")
    if tool is None:
        pytest.skip("pyright is not installed: what it says of signatures is not looked at")
    script = tmp_path / "typed.py"
    script.write_text(PROGRAM)
    run = subprocess.run([tool, str(script)], capture_output=True, text=True)
    assert run.stdout.count("error:") == 4, run.stdout
    assert 'Type of "bare" is "(x: int) -> list[int]"' in run.stdout
