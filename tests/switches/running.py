"""Programs that are run in a Python of their own, because torch reads the environment once.

One program with one environment is run once in each process of the tests: starting torch takes
longer than all that is looked at afterwards, and several tests look at the same run.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple


class Run(NamedTuple):
    """What a program wrote; `traces` are the files it left in the folder of TORCH_TRACE."""

    stdout: str
    stderr: str
    traces: tuple[str, ...]


@functools.cache
def run(program: str, *environment: tuple[str, str], traced: bool = False) -> Run:
    """Run a program, which must end well, with these variables set besides those that are."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        script, logs = folder / "script.py", folder / "logs"
        script.write_text(program)
        more = {"TORCH_TRACE": str(logs)} if traced else {}
        done = subprocess.run(
            [sys.executable, str(script)],
            env={**os.environ, **dict(environment), **more},
            capture_output=True,
            text=True,
            check=True,
        )
        traces = tuple(path.read_text() for path in logs.iterdir()) if traced else ()
    return Run(done.stdout, done.stderr, traces)
