"""The rooms of the compiler, loaded: every file of them is found, no list is kept."""

from __future__ import annotations

import importlib
import pkgutil

import suture.compiler as package
from suture.compiler import abstract

ROOMS = ("objects", "outside", "language", "calls", "torch", "library", "interpreter")


def files() -> list[str]:
    """The modules of the rooms: every file that a package holds."""
    found = []
    for room in ROOMS:
        home = importlib.import_module(f"{package.__name__}.{room}")
        found += [file.name for file in pkgutil.walk_packages(home.__path__, home.__name__ + ".")]
    return found


def load() -> None:
    """Import every file, which fills the tables of models, wrappers and instructions, and gives
    the declared operations their bodies."""
    for file in files():
        importlib.import_module(file)
    missing = abstract.unbound()
    if missing:
        raise ImportError(f"declared in suture.compiler.abstract, but nobody implements {missing}")
