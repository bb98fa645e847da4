"""What happened while suture compiled: plain data, and a small bus that hands it to listeners.

Rooms that do something say so with `emit`; reports, statistics, logs and the structured trace
listen. An event never holds tensors, modules or frames: it can be kept for as long as one likes,
pickled, and written as JSON with `as_record`.

Emitting costs one attribute read while nobody listens; where even building the event is too much,
ask `listening()` first. Listeners run at once, in the thread that emitted, in the order in which
they subscribed. A listener that raises is reported by a warning in the log and the others still
hear: looking at a program must not change what it does.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

_log = logging.getLogger("suture.events")


@dataclass(frozen=True, slots=True)
class Where:
    """A location in the user's source. Columns count from 0 as in `co_positions`; -1: not known."""

    function: str
    file: str
    line: int
    end_line: int = -1
    column: int = -1
    end_column: int = -1

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Base of all events: when (`time.perf_counter`) and in which thread.

    `point` is the name of the point that was being compiled, "" where there is none.
    """

    point: str = ""
    at: float = field(default_factory=time.perf_counter)
    thread: int = field(default_factory=threading.get_ident)


@dataclass(frozen=True, slots=True)
class Traced(Event):
    """A region was run symbolically, from `where` to a return, a break or a jump.

    `inlined` names the functions that were entered; `lines` are the (file, line) pairs walked over;
    `exit` is how it ended: "return", "break", "raise" or "interpret".
    """

    where: Where
    instructions: int
    inlined: tuple[str, ...] = ()
    lines: tuple[tuple[str, int], ...] = ()
    exit: str = ""


@dataclass(frozen=True, slots=True)
class Broke(Event):
    """A graph break: the registry's number and type, this break's message and fields.

    `where` is the innermost frame; `stack` the inlined frames, innermost first, `where` included.
    `raised` is true when fullgraph turned it into an error.
    """

    number: str
    type: str
    message: str
    where: Where
    stack: tuple[Where, ...] = ()
    fields: tuple[tuple[str, str], ...] = ()
    raised: bool = False


@dataclass(frozen=True, slots=True)
class Node:
    """One value of a graph: its name, what makes it, the names it is made from, what it is
    (dtype, shape, device as text), and the user's line."""

    name: str
    target: str
    inputs: tuple[str, ...] = ()
    value: str = ""
    file: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Captured(Event):
    """A region became a graph with this many operations. `text` is the graph as Python source.

    `lines` are the (file, line) pairs that have an operation in it; `nodes` the values, in order.
    Text, lines and nodes are given only while somebody listens for details.
    """

    graph: str
    where: Where
    ops: int
    inputs: int = 0
    outputs: int = 0
    lines: tuple[tuple[str, int], ...] = ()
    text: str = ""
    nodes: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class BackendCompiled(Event):
    """A backend turned a graph into a callable, or failed (`error` is then its text)."""

    backend: str
    graph: str
    ops: int
    seconds: float
    error: str = ""


@dataclass(frozen=True, slots=True)
class LayersShared(Event):
    """Calls of `function` in a graph compute the same: `times` calls of one body of `nodes`
    operations. `marked`: the program asked for it."""

    function: str
    times: int
    nodes: int
    marked: bool


@dataclass(frozen=True, slots=True)
class RunPlainly(Event):
    """A graph's operations are run one by one: its first call found that faster, the function has
    spent enough on small graphs, or the graph runs once. `reason` says which, with the times."""

    ops: int
    reason: str


@dataclass(frozen=True, slots=True)
class Installed(Event):
    """A variant was added to a point, with its guards as text and its source.

    `guard_lines` has, for each guard, the (file, line) of the user's program that asked for it;
    `check_seconds` is what checking all of them took. All of it only for listeners of details.
    """

    variant: str
    where: Where
    guards: tuple[str, ...] = ()
    code: str = ""
    guard_lines: tuple[tuple[str, int], ...] = ()
    check_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Recompiled(Event):
    """A point that had variants gets one more.

    `reasons` holds one text for each variant that did not fit: the guard that failed first;
    `contexts` what functions of the program say about the moment.
    """

    where: Where
    reasons: tuple[str, ...]
    variants: int
    contexts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Interpreted(Event):
    """A frame continued in the plain interpreter other than by the user's request. `number` is that
    of the registry's entry which says why."""

    where: Where
    reason: str
    number: str = ""


@dataclass(frozen=True, slots=True)
class LeftToPython(Event):
    """A call of a function that can meet no tensor was not traced: Python runs it, and all that it
    calls. Said once for a function."""

    where: Where


@dataclass(frozen=True, slots=True)
class Retried(Event):
    """A try to compile a region was not the last: something that was taken for granted does not
    hold, or the region must end earlier. `reason` says which; `tries` counts those made so far."""

    where: Where
    reason: str
    tries: int


@dataclass(frozen=True, slots=True)
class PhaseTimed(Event):
    """One phase of compiling ended. It took `seconds` and began at `at`.

    "import": loading the compiler; "trace"; "emit": writing the variant; "backend": the graph, and
    its backward graph where that is compiled along; "backward": a backward graph that is compiled
    when it is first needed, in the thread of autograd; "guard".
    """

    phase: str
    seconds: float


Listener = Callable[[Event], None]

# Replaced as a whole under the lock and read without it: a reader always sees a complete tuple.
_listeners: tuple[Listener, ...] = ()
_details: tuple[Callable[[], bool], ...] = ()
_lock = threading.Lock()


def listening() -> bool:
    """Whether anybody would hear an event."""
    return bool(_listeners)


def detailed() -> bool:
    """Whether a listener wants what is costly to make: texts of graphs, guards and variants."""
    return any(wants() for wants in _details)


def emit(event: Event) -> None:
    """Hand `event` to every listener. Raises nothing that a listener raises, except interrupts."""
    for listener in _listeners:
        try:
            listener(event)
        except Exception:
            _log.warning("a listener failed on %s", type(event).__name__, exc_info=True)


def subscribe(listener: Listener, detail: bool | Callable[[], bool] = True) -> Callable[[], None]:
    """Hear every event from now on; the result ends this subscription (calling it again is fine).

    `detail` says whether events come with their texts, or is asked each time. The same callable
    may be subscribed several times; each subscription ends by itself.
    """

    def entry(event: Event) -> None:
        listener(event)

    def wants() -> bool:
        return detail() if callable(detail) else detail

    def unsubscribe() -> None:
        global _listeners, _details
        with _lock:
            _listeners = tuple(one for one in _listeners if one is not entry)
            _details = tuple(one for one in _details if one is not wants)

    global _listeners, _details
    with _lock:
        _listeners = (*_listeners, entry)
        if detail is not False:
            _details = (*_details, wants)
    return unsubscribe


@contextmanager
def recorded(*kinds: type[Event]) -> Iterator[list[Event]]:
    """The events of a `with` block, all threads included, as a list that grows while it runs.

    With `kinds`, only events of these classes.
    """
    seen: list[Event] = []
    wanted = kinds or (Event,)

    def keep(event: Event) -> None:
        if isinstance(event, wanted):
            seen.append(event)

    unsubscribe = subscribe(keep)
    try:
        yield seen
    finally:
        unsubscribe()


@dataclass(slots=True)
class Now:
    """The phase that is going on in this process, for who shows progress: "" where none is.
    `thread` is the one it goes on in; `detail` says how far it is, if it can."""

    phase: str = ""
    point: str = ""
    since: float = 0.0
    thread: int = 0
    detail: Callable[[], str] | None = None


now = Now()
_watchers: tuple[Callable[[], None], ...] = ()


def watch_phases(begin: Callable[[], None]) -> None:
    """Have `begin` called whenever a phase begins, for as long as the process runs."""
    global _watchers
    with _lock:
        _watchers = (*_watchers, begin)


@contextmanager
def phase(name: str, point: str = "") -> Iterator[None]:
    """Time a `with` block and emit it as PhaseTimed, also when the block raises."""
    global now
    if not _listeners:
        yield
        return
    began = time.perf_counter()
    before, now = now, Now(name, point, began, threading.get_ident())
    for begin in _watchers:
        begin()
    try:
        yield
    finally:
        now = before
        emit(PhaseTimed(name, time.perf_counter() - began, point=point, at=began))


def as_record(event: Event) -> dict[str, Any]:
    """The event as a dict of JSON values, with its class name under "event"."""
    return {"event": type(event).__name__, **asdict(event)}
