"""These tests need no torch: where it is missing, the room is imported without its house."""

import importlib.util
import pathlib
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parents[2]


def without_torch() -> None:
    """Stand a bare package in for ``suture``, whose own ``__init__`` imports torch."""
    if importlib.util.find_spec("torch") is None and "suture" not in sys.modules:
        package = types.ModuleType("suture")
        package.__path__ = [str(ROOT / "suture")]
        sys.modules["suture"] = package


without_torch()
