"""explain(): run a function compiled, once, and say what happened."""

from __future__ import annotations

import functools
import inspect
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, ParamSpec

from suture import api, events, rules
from suture.messages import probe
from suture.tools.report.build import build
from suture.tools.report.profile import Profile
from suture.tools.report.report import Report

_P = ParamSpec("_P")


class Recorder:
    """Collects what a report is made of. Used by `recording`."""

    def __init__(self) -> None:
        self.seen: list[events.Event] = []
        self.profile = Profile()
        self.began = time.perf_counter()

    def __call__(self, event: events.Event) -> None:
        self.seen.append(event)
        self.profile.exclude(event)

    def report(self, function: str) -> Report:
        """The report of everything so far."""
        made = build(
            list(self.seen),
            function,
            began=self.began,
            graphs=self.profile.graphs,
            breaks=self.profile.breaks,
        )
        made.call_seconds = time.perf_counter() - self.began
        return made


@contextmanager
def recording() -> Iterator[Recorder]:
    """Record what is compiled and run in a `with` block, by whatever function."""
    recorder = Recorder()
    stop = events.subscribe(recorder)
    try:
        with probe.probing(recorder.profile):
            yield recorder
    finally:
        stop()


def explain(
    fn: Callable[_P, Any], *, backend: Any = "eager", calls: int = 1, **options: Any
) -> Callable[_P, Report]:
    """A callable that takes what `fn` takes and gives back a `Report` instead of the result.

        print(suture.explain(fn)(x))
        suture.explain(model, backend="inductor")(x).save("report.html")

    `fn` is compiled anew, with `options` as for `suture.compile`, and really called `calls` times;
    the backend is "eager" unless another is named, since the question is what is captured. What
    `fn` returned is `report.result`. If it raises, the report is made all the same, with the
    exception in `report.error`.
    """
    if calls < 1:
        raise ValueError(f"calls is a number from 1 on, not {calls!r}")
    fn = _uncompiled(fn)
    options.setdefault("isolate_recompiles", True)  # the report tells of all that is compiled
    target = api.compile(fn, backend=backend, **options)

    @functools.wraps(fn if hasattr(fn, "__name__") else type(fn), updated=())
    def explained(*args: Any, **kwargs: Any) -> Report:
        return _run(fn, target, backend, calls, args, kwargs)

    return explained


def _run(fn: Any, target: Any, backend: Any, calls: int, args: Any, kwargs: Any) -> Report:
    error = ""
    result = None
    done = 0
    with recording() as recorder:
        try:
            for _ in range(calls):
                done += 1
                result = target(*args, **kwargs)
        except Exception as raised:
            error = "".join(traceback.format_exception_only(raised)).strip()
        took = time.perf_counter() - recorder.began
    report = recorder.report(name_of(fn))
    report.file, report.line = _location(fn)
    report.backend = backend if isinstance(backend, str) else getattr(backend, "__name__", "?")
    report.calls, report.call_seconds = done, took
    report.error, report.result = error, result
    report.note = "" if report.regions else _why_nothing(fn, report)
    return report


def _uncompiled(fn: Any) -> Any:
    """What a compiler was given, if `fn` is what suture.compile or torch.compile gave back."""
    original = getattr(type(fn), "_suture_original", None)
    if original is None and isinstance(getattr(fn, "__dict__", None), dict):
        original = fn.__dict__.get("_torchdynamo_orig_callable")
        original = original or fn.__dict__.get("_modules", {}).get("_orig_mod")
    return fn if original is None else original


def name_of(fn: Any) -> str:
    """What a callable is called in a report."""
    return str(getattr(fn, "__qualname__", None) or type(fn).__qualname__)


def _underlying(fn: Any) -> Any:
    """The Python function behind a callable, if there is one."""
    fn = getattr(fn, "function", fn)
    if hasattr(fn, "forward"):
        return type(fn).forward
    return getattr(fn, "__func__", fn)


def _location(fn: Any) -> tuple[str, int]:
    code = getattr(inspect.unwrap(_underlying(fn)), "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code is not None else ("", 0)


def _why_nothing(fn: Any, report: Report) -> str:
    """Why a report is empty, in a sentence."""
    if report.error:
        return "The call raised before anything was compiled."
    if report.interpreted:
        return "Nothing was compiled: the frame was left to the interpreter."
    if report.left_to_python:
        return "Nothing was compiled: no tensor can be met, so Python runs the function."
    try:
        verdict = rules.lookup(_underlying(fn))
    except (TypeError, rules.RuleError):
        return "Nothing was compiled: this is no Python code."
    if verdict.kind is not rules.INLINE:
        return f"Nothing was compiled: {verdict.reason} ({verdict.rule})."
    return "Nothing was compiled: no frame of this function ran."
