"""What suture tells through `logging`: one logger per topic, `suture.breaks` and so on.

By default only warnings are shown. `SUTURE_LOGS` at start, or `set_logs` later, turns topics on:

    SUTURE_LOGS="breaks,+guards,-rules,trace:debug"

A bare name shows INFO, `+name` DEBUG, `-name` errors only, `name:level` the level named; `all` is
every topic. Rooms log with `logging.getLogger("suture.<topic>")` and need nothing from this file.

When topics are on and the program has set up no logging of its own, records go to standard error;
otherwise they go where the program's handlers send them, and nowhere twice.
"""

from __future__ import annotations

import difflib
import logging
import sys
import warnings
from collections.abc import Mapping
from typing import TextIO

from suture import config

TOPICS: Mapping[str, str] = {
    "breaks": "graph breaks: line, reason, hint",
    "recompiles": "why a call compiled again",
    "retries": "why a region was traced again",
    "guards": "the guard tree of each variant",
    "graphs": "each graph as Python",
    "code": "each variant as Python",
    "trace": "each instruction with the symbolic stack",
    "cache": "what the cache on disk gave, kept or refused, and why",
    "rules": "which rule decided about a call",
}

_LEVELS = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
    "off": logging.CRITICAL + 10,
}

_root = logging.getLogger("suture")


class _StandardError(logging.StreamHandler[TextIO]):
    """Writes to whatever sys.stderr is at that moment, if the program has no handlers itself."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)
        self.setFormatter(logging.Formatter("[%(name)s] %(message)s"))

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        return sys.stderr

    def filter(self, record: logging.LogRecord) -> bool:
        return not logging.getLogger().handlers and bool(super().filter(record))


_handler = _StandardError()


def parse(text: str) -> dict[str, int]:
    """The levels by topic that a text such as "breaks,+guards" asks for.

    ValueError names what is wrong: an unknown topic (with the nearest ones) or level.
    """
    levels: dict[str, int] = {}
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, colon, word = item.partition(":")
        level = logging.INFO
        if name[:1] in "+-":
            level = logging.DEBUG if name[0] == "+" else logging.ERROR
            name = name[1:]
        if colon:
            level = _level(word)
        for topic in TOPICS if name == "all" else (name,):
            levels[_topic(topic)] = level
    return levels


def _topic(name: str) -> str:
    if name in TOPICS:
        return name
    near = difflib.get_close_matches(name, TOPICS, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else f"the topics are {', '.join(TOPICS)}"
    raise ValueError(f"suture logs no topic {name!r}: {hint}")


def _level(value: object) -> int:
    """A logging level from its name, its number, or True (INFO) and False (warnings only)."""
    if isinstance(value, bool):
        return logging.INFO if value else logging.WARNING
    if isinstance(value, int):
        return value
    if isinstance(value, str) and value.strip().lower() in _LEVELS:
        return _LEVELS[value.strip().lower()]
    raise ValueError(f"{value!r} is no log level: use one of {', '.join(_LEVELS)}")


def set_logs(text: str = "", **topics: bool | int | str) -> None:
    """Say what is logged from now on: as `SUTURE_LOGS` does, or by keyword, or both.

    `set_logs(breaks=True, guards="debug")`. What is not named goes back to warnings only; so
    `set_logs()` turns everything off. Nothing changes if any of it is wrong (ValueError).
    """
    levels = parse(text)
    for name, value in topics.items():
        wanted = _level(value)
        for topic in TOPICS if name == "all" else (name,):
            levels[_topic(topic)] = wanted
    for topic in TOPICS:
        # A topic that is off stays off in a program whose own logging shows INFO.
        _root.getChild(topic).setLevel(levels.get(topic, logging.WARNING))
    # The handler also carries warnings, which Python's handler of last resort shows otherwise.
    if levels:
        _root.addHandler(_handler)
    else:
        _root.removeHandler(_handler)


def _start(text: str) -> None:
    """What the environment asks for. A program is not stopped by a wrong word there: it is named in
    a warning, and the rest counts."""
    good = []
    for item in text.split(","):
        try:
            parse(item)
            good.append(item)
        except ValueError as error:
            warnings.warn(f"SUTURE_LOGS={text!r}: {error}", stacklevel=2)
    set_logs(",".join(good))


_start(config.logs)
