"""The rooms of the compiler, loaded: every file of them is found, no list is kept."""

from __future__ import annotations

import importlib
import pkgutil

import suture.compiler as package
from suture.compiler import abstract

ROOMS = ("objects", "outside", "language", "calls", "torch", "library", "interpreter")


def load() -> None:
    """Import every file, which fills the tables of models, wrappers and instructions, and gives
    the declared operations their bodies."""
    for room in ROOMS:
        home = importlib.import_module(f"{package.__name__}.{room}")
        for found in pkgutil.walk_packages(home.__path__, home.__name__ + "."):
            importlib.import_module(found.name)
    missing = abstract.unbound()
    if missing:
        raise ImportError(f"declared in suture.compiler.abstract, but nobody implements {missing}")
