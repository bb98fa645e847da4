"""What every command needs: consoles, exit codes, and how to fail."""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Iterable
from typing import Any, NoReturn

from rich.console import Console

OK, FOUND, USAGE = 0, 1, 2


class UsageError(Exception):
    """The command cannot be carried out as it was given; the message says why."""


def fail(message: str, near: Iterable[str] = ()) -> NoReturn:
    """End the command with exit code 2, naming what may have been meant."""
    close = list(near)
    raise UsageError(message + (f"\n  did you mean {' or '.join(close)}?" if close else ""))


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """Up to three of the known words that look like `word`."""
    return difflib.get_close_matches(word, list(known), n=3, cutoff=0.5)


class _Console(Console):
    """A console whose reader may leave: that is no failure of the command."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def out() -> Console:
    """Standard output; as wide as asked for, but never so narrow that words are cut."""
    return _Console(highlight=False)


def err() -> Console:
    return _Console(stderr=True, highlight=False)


def print_json(data: Any) -> None:
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False, default=str) + "\n")
