"""Importing suture stays cheap: nothing heavy comes along before it is needed."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("sympy", "torch._dynamo", "torch._inductor", "rich", "jinja2", "pytest")


def test_nothing_heavy_is_imported():
    script = f"import sys, torch, suture; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
