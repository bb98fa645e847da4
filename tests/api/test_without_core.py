"""`import suture` where the core was not built says so, and how to build it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import suture

PACKAGE = Path(suture.__file__).parent


def error_of_import(folder):
    """What `import suture` ends with where there is only what it needs before the core."""
    package = folder / "suture"
    package.mkdir(exist_ok=True)
    for name in ("__init__.py", "version.py"):
        shutil.copy(PACKAGE / name, package)
    program = f"import sys; sys.path.insert(0, {str(folder)!r}); import suture"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True
    )
    assert done.returncode == 1
    return done.stderr.splitlines()[-1]


def test_in_a_checkout(tmp_path):
    (tmp_path / "setup.py").touch()
    error = error_of_import(tmp_path)
    assert error.startswith("ImportError: suture's core (_core.cpython-")
    assert "is not built." in error
    assert f"Build it in {tmp_path}: make build" in error


def test_elsewhere(tmp_path):
    assert "Install suture again" in error_of_import(tmp_path)


def test_a_core_for_another_python_is_named(tmp_path):
    (tmp_path / "suture").mkdir()
    (tmp_path / "suture" / "_core.cpython-39-x86_64-linux-gnu.so").touch()
    assert "built for others: _core.cpython-39-x86_64" in error_of_import(tmp_path)
