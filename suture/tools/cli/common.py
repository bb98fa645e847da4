"""What every command needs: consoles, exit codes, and a way to say no."""

from __future__ import annotations

import difflib
import json
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from rich.console import Console

from suture import events

OK, FOUND, USAGE = 0, 1, 2
_PATIENCE = 1.0  # seconds that a phase may take before it is shown


class UsageError(Exception):
    """The command cannot be carried out as it was given; the message says why."""


def fail(message: str, near: Iterable[str] = ()) -> NoReturn:
    """End the command with exit code 2, naming what may have been meant."""
    close = list(near)
    raise UsageError(message + (f"\n  did you mean {' or '.join(close)}?" if close else ""))


def nearest(word: str, known: Iterable[str]) -> list[str]:
    """Up to three of the known words that look like `word`."""
    return difflib.get_close_matches(word, list(known), n=3, cutoff=0.5)


def out() -> Console:
    """Standard output; as wide as asked for, but never so narrow that words are cut."""
    return Console(highlight=False)


def err() -> Console:
    return Console(stderr=True, highlight=False)


def print_json(data: Any) -> None:
    sys.stdout.write(json.dumps(data, indent=2, ensure_ascii=False, default=str) + "\n")


@contextmanager
def progress() -> Iterator[None]:
    """While a phase of compiling takes long, one line on the terminal says so.

    Nothing is shown where standard error is no terminal, and nothing stays behind.
    """
    if not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    thread = threading.Thread(target=_show, args=(done,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def _show(done: threading.Event) -> None:
    shown = False
    frames = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
    turn = 0
    while not done.wait(0.1):
        now = events.now
        took = time.perf_counter() - now.since
        if now.phase and took > _PATIENCE:
            turn += 1
            text = f"{frames[turn % len(frames)]} compiling {now.point}: {now.phase} {took:.0f} s"
            sys.stderr.write(f"\r\x1b[2K{text}")
            shown = True
        elif shown:
            sys.stderr.write("\r\x1b[2K")
            shown = False
        sys.stderr.flush()
    if shown:
        sys.stderr.write("\r\x1b[2K")
        sys.stderr.flush()
