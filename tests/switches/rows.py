"""What the checks of the migration table share: the page's rows, and how to count graphs."""

from __future__ import annotations

import re
from pathlib import Path

import torch

from tests.harness import Graphs

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "migration.md"
ROW = re.compile(r"^\| (?P<name>[^|]+?) \| (?P<here>[^|]+) \|$", re.MULTILINE)
NAMES = [m["name"] for m in ROW.finditer(PAGE.read_text()) if m["name"] not in ("torch", "---")]
X = torch.ones(2)
CHECKS = {}


def row(name):
    def keep(check):
        CHECKS[name] = check
        return check

    return keep


def captured(fn, *args, **kwargs):
    """How many graphs the calls with each of `args` make."""
    graphs = Graphs()
    made = torch.compile(fn, backend=graphs, **kwargs)
    for one in args:
        made(*one)
    return len(graphs)


def inside():
    return torch.compiler.is_compiling()
