"""While compiling takes long, one line on the terminal says what is being done.

Nothing is shown where standard error is no terminal, nothing before `PATIENCE` seconds have passed,
and nothing stays behind.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import TextIO

from suture import config, events
from suture.torch_private.stages import stage_of

PATIENCE = 3.0
_TURN = 0.2  # seconds between two looks
_CLEAR = "\r\x1b[2K"
_WORDS = {
    "import": "importing", "trace": "tracing", "guard": "guards", "emit": "writing the variant",
    "backward": "backward graph",
}  # fmt: skip


def begin() -> None:
    """A phase begins in this process: somebody may be waiting from now on."""
    global _thread
    if not config.show_progress or not _is_terminal(sys.stderr):
        return
    with _lock:
        if _thread is None:
            _thread = threading.Thread(
                target=_watch, args=(sys.stderr,), name="suture progress", daemon=True
            )
            _thread.start()


_lock = threading.Lock()
_thread: threading.Thread | None = None


def _is_terminal(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stream.isatty()
    except ValueError:  # closed
        return False


def _watch(stream: TextIO) -> None:
    """Show what is going on until nothing is."""
    shown = False
    began = time.perf_counter()
    while not _is_over():
        now = time.perf_counter()
        if events.now.phase and now - began > PATIENCE:
            stream.write(f"{_CLEAR}{described(events.now, now - began)}")
            stream.flush()
            shown = True
    if shown:
        stream.write(_CLEAR)
        stream.flush()


def _is_over() -> bool:
    """Whether nothing is going on any more, for a while: between two phases there is a moment
    without one. From then on `begin` starts another thread."""
    global _thread
    for _ in range(2):
        time.sleep(_TURN)
        if events.now.phase:
            return False
    with _lock:
        if events.now.phase:  # `begin` may have come just now, and saw this thread
            return False
        _thread = None
        return True


def described(now: events.Now, waited: float) -> str:
    """What is being done, and for how long compiling has been going on."""
    doing = _WORDS.get(now.phase, now.phase)
    if now.phase in ("backend", "backward"):
        stage = stage_of(sys._current_frames().get(now.thread))
        doing += f", {stage}" if stage else ""
    if now.detail is not None:
        doing += f", {now.detail()}"
    return f"suture: compiling {now.point} for {waited:.0f} s: {doing}"


events.watch_phases(begin)
