"""Examples and their output: jobs for the worker, one process after another."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

PATIENCE = 180.0  # seconds for one example
# Addresses of pages on the machine that builds lead nowhere for a reader.
_ADDRESS = re.compile(r"file://[^\s\"\\]*/(GB\d{4})\.md")
_ROOT = Path(__file__).parents[3]


class Worker:
    """A process that runs examples. `answer` gives None for one that crashed or hung."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[str] | None = None

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            path = os.pathsep.join(filter(None, (str(_ROOT), os.environ.get("PYTHONPATH", ""))))
            environment = {**os.environ, "PYTHONPATH": path, "SUTURE_LOGS": "", "NO_COLOR": "1"}
            self._process = subprocess.Popen(
                [sys.executable, "-m", "suture.tools.site.worker"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                text=True, encoding="utf-8", env=environment,
            )  # fmt: skip
        return self._process

    def answer(self, job: dict[str, Any]) -> dict[str, Any] | None:
        """The result of one job."""
        process = self._started()
        if process.stdin is None or process.stdout is None:
            return None
        try:
            process.stdin.write(json.dumps(job) + "\n")
            process.stdin.flush()
            ready, _, _ = select.select([process.stdout], [], [], PATIENCE)
            line = process.stdout.readline() if ready else ""
        except OSError:
            line = ""
        if not line:
            self.close()
            return None
        return dict(json.loads(_ADDRESS.sub(r"breaks/\1.html", line)))

    def close(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()


def run_all(
    jobs: Iterable[dict[str, Any]], tell: Callable[[str], None] = lambda name: None
) -> dict[str, dict[str, Any] | None]:
    """The results of jobs by their ids. `tell` hears the id of each before it runs."""
    worker = Worker()
    try:
        results = {}
        for job in jobs:
            tell(job["id"])
            results[job["id"]] = worker.answer(job)
        return results
    finally:
        worker.close()
