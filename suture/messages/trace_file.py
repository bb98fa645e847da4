"""The structured trace: JSON lines, and a timeline for Chrome and Perfetto.

With `SUTURE_TRACE=dir` (or `suture.config.trace_dir`) each process writes two files there:

    suture-<pid>.jsonl           one event per line, after a first line about the process
    suture-<pid>.timeline.json   phases of compiling as Chrome's trace events

docs/trace-schema.md describes both. A file that is cut off in the middle is still readable: every
line stands alone, and the timeline needs no closing bracket. Where a file cannot be written, a
warning says so once and the program continues.
"""

from __future__ import annotations

import json
import logging
import os
import platform
import sys
import threading
import time
from pathlib import Path
from typing import Any, TextIO

import torch

from suture import config, events

SCHEMA = 1
_log = logging.getLogger("suture.trace_file")


class TraceFile:
    """Listens to events and writes them while `config.trace_dir` names a folder."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._folder = ""
        self._failed = ""
        self._pid = 0
        self._lines: TextIO | None = None
        self._timeline: TextIO | None = None

    def wanted(self) -> bool:
        return bool(config.trace_dir)

    def __call__(self, event: events.Event) -> None:
        folder = config.trace_dir
        if not folder and self._lines is None:
            return
        with self._lock:
            try:
                if folder != self._folder or os.getpid() != self._pid:
                    self._open(folder)
                if self._lines is not None:
                    self._write(event)
            except OSError as error:
                self._give_up(folder, error)

    def _open(self, folder: str) -> None:
        self.close()
        self._folder, self._pid = folder, os.getpid()
        if not folder or folder == self._failed:
            return
        base = Path(folder)
        base.mkdir(parents=True, exist_ok=True)
        self._lines = _append(base / f"suture-{self._pid}.jsonl")
        self._timeline = _append(base / f"suture-{self._pid}.timeline.json")
        if self._timeline.tell() == 0:
            self._timeline.write("[\n")
        self._line(self._lines, header())

    def _write(self, event: events.Event) -> None:
        if self._lines is None or self._timeline is None:
            return
        self._line(self._lines, events.as_record(event))
        shown = timeline_event(event, self._pid)
        if shown is not None:
            self._timeline.write(json.dumps(shown) + ",\n")
            self._timeline.flush()

    def _line(self, file: TextIO, record: dict[str, Any]) -> None:
        file.write(json.dumps(record, ensure_ascii=False, default=str) + "\n")
        file.flush()

    def _give_up(self, folder: str, error: OSError) -> None:
        self.close()
        if self._failed != folder:
            self._failed = folder
            _log.warning("the trace cannot be written to %s: %s", folder, error)

    def close(self) -> None:
        """End the files; the next event opens them again."""
        for file in (self._lines, self._timeline):
            if file is not None:
                file.close()
        self._lines = self._timeline = None
        self._folder = ""


def _append(path: Path) -> TextIO:
    return open(path, "a", encoding="utf-8", errors="backslashreplace")


def header() -> dict[str, Any]:
    """The first line: which process, which versions, and how `at` relates to the clock."""
    return {
        "event": "Start",
        "schema": SCHEMA,
        "pid": os.getpid(),
        "argv": sys.argv,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "at": time.perf_counter(),
        "clock": time.time(),
    }


def timeline_event(event: events.Event, pid: int) -> dict[str, Any] | None:
    """The event in Chrome's format: phases as bars, breaks and recompilations as marks."""
    base: dict[str, Any] = {"pid": pid, "tid": event.thread, "ts": event.at * 1e6}
    args: dict[str, Any]
    match event:
        case events.PhaseTimed():
            args = {"point": event.point}
            bar = {"name": event.phase, "cat": "compile", "ph": "X", "dur": event.seconds * 1e6}
            return bar | base | {"args": args}
        case events.Broke():
            args = {"message": event.message, "where": str(event.where)}
            mark = {"name": event.number, "cat": "break", "ph": "i", "s": "t"}
            return mark | base | {"args": args}
        case events.Recompiled():
            args = {"reasons": list(event.reasons), "where": str(event.where)}
            mark = {"name": "recompile", "cat": "recompile", "ph": "i", "s": "t"}
            return mark | base | {"args": args}
    return None


TRACE_FILE = TraceFile()
events.subscribe(TRACE_FILE, detail=TRACE_FILE.wanted)
