"""How tests are dealt out to processes (tests/conftest.py)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"


def test_a_test_that_ends_its_process_fails_once_and_the_others_run(tmp_path):
    pytest.importorskip("xdist")
    shutil.copy(CONFTEST, tmp_path / "conftest.py")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --import-mode=importlib\n")
    ends = (
        "import os\ndef test_before(): pass\ndef test_ends(): os._exit(3)\ndef test_after(): pass\n"
    )
    (tmp_path / "test_a.py").write_text(ends)
    (tmp_path / "test_b.py").write_text("def test_beside(): pass\n")
    # With CI set pytest gives the text of a failure again in its summary.
    own = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_") and k != "CI"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "2", "-v", "-p", "no:cacheprovider", tmp_path],
        cwd=tmp_path,
        env=own,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert "1 failed, 3 passed" in done.stdout, done.stdout + done.stderr
    assert done.stdout.count("crashed while running 'test_a.py::test_ends'") == 1
