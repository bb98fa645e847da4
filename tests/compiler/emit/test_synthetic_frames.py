"""What Python runs at a break sees the program's own frames as its callers, not a variant."""

from __future__ import annotations

import logging
import sys
import warnings

import pytest
import torch

import suture
from tests.harness import check


def called_from():
    """(function, line relative to its start) of the callers up to the test, innermost first."""
    frame, found = sys._getframe(2), []
    while not frame.f_code.co_name.startswith("test_"):
        found.append((frame.f_code.co_name, frame.f_lineno - frame.f_code.co_firstlineno))
        frame = frame.f_back
    return [at for at in found if at[0] not in ("check", "__init__")]


class Recorder:
    """Calls that Python runs, and what they saw."""

    def __init__(self):
        self.calls = []

    def __call__(self):
        self.calls.append(called_from())
        return 1


def same_callers(fn, *args, **options):
    """Compiled and plain calls of `fn` let `recorder` see the same stack."""
    recorder = Recorder()
    torch._dynamo.disable(recorder)  # marks it as something that Python runs

    def called(x):
        return fn(x, recorder)

    check(called, *args, graphs=None, breaks=None, recompiles=None, **options)
    plain, compiled = recorder.calls[::2], recorder.calls[1::2]
    assert plain == compiled


def test_a_call_sees_the_functions_that_were_inlined():
    def inner(x, recorder):
        y = x + 1
        return y * recorder.__call__()

    def middle(x, recorder):
        return inner(x, recorder)

    same_callers(lambda x, recorder: middle(x, recorder) + 1, torch.ones(2))


def test_a_frame_that_is_interpreted_sees_its_callers():
    def looks():
        return sys._getframe(1).f_code.co_name, sys._getframe(1).f_lineno

    def inner(x):
        name, line = looks()
        return x * line, name

    def outer(x):
        y, name = inner(x + 1)
        return y + 1, name, sys._getframe(0).f_code.co_name

    check(outer, torch.ones(2), graphs=None, breaks=None, recompiles=None)


def test_warnings_at_a_break_name_the_line_of_the_program():
    def deep(x):
        if x.sum() > 0:
            x = x + 1
        warnings.warn(f"value {x.sum().item()}", stacklevel=1)
        warnings.warn(f"of the caller {x.sum().item()}", stacklevel=2)
        return x

    def fn(x):
        return deep(x) * 2

    def recorder(call):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            call(torch.ones(2))
        return [(str(w.message), w.filename, w.lineno) for w in seen]

    assert recorder(suture.compile(fn, backend="eager")) == recorder(fn)
    assert all(file == __file__ for _, file, _ in recorder(suture.compile(fn, backend="eager")))


def test_a_warning_at_a_break_is_shown_once_per_line():
    def fn(x):
        warnings.warn(torch.__name__ + f"{x.sum().item()}")  # noqa: B028
        return x + 1

    compiled = suture.compile(fn, backend="eager")
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        for _ in range(3):
            compiled(torch.ones(2))
        compiled(torch.ones(2, dtype=torch.float64))
    assert len(seen) == 1


def test_log_records_at_a_break_name_the_line_of_the_program():
    records = []

    class Keep(logging.Handler):
        def emit(self, record):
            records.append((record.funcName, record.lineno, record.pathname))

    log = logging.getLogger("suture_tests.shown")
    log.propagate = False
    log.addHandler(Keep())
    log.setLevel("INFO")

    def inner(x):
        log.info("size %s", x.shape)
        return x + 1

    def fn(x):
        y = inner(x)
        log.warning("done")
        return y

    fn(torch.ones(2))
    suture.compile(fn, backend="eager")(torch.ones(2))
    assert records[:2] == records[2:]


def test_a_kept_frame_outlives_the_call():
    kept = []

    class Keeper:
        __slots__ = ()

        @torch._dynamo.disable
        def keep(self):
            kept.append(sys._getframe(1))
            return 1

    def fn(x):
        return x * Keeper().keep()

    suture.compile(fn, backend="eager")(torch.ones(2))
    frame = kept[0]
    while frame.f_code is not fn.__code__ and frame.f_back is not None:
        frame = frame.f_back
    assert frame.f_code is fn.__code__
    assert frame.f_back.f_code.co_name == "test_a_kept_frame_outlives_the_call"


def names_of_caller():
    return sorted(sys._getframe(1).f_locals)


def filled(text):
    return text.format(**sys._getframe(1).f_locals)


@suture.disable
def seen_from_outside():
    frame = sys._getframe(1)
    while frame.f_code.co_name != "shows_to_a_disabled_function":
        frame = frame.f_back
    return sorted(frame.f_locals), str(frame.f_locals["y"])


def shows_its_locals(x):
    y = 3
    z = x + y
    first = names_of_caller()
    w = z * 2
    y = filled("{y} of {x.shape[0]}")
    return first, names_of_caller(), y, w


def shows_those_of_the_inner_one(x):
    def inner(x, name):
        size = x.shape[0] * 2  # noqa: F841
        return filled("{name} {size}"), x * 2

    name = "outer"  # noqa: F841
    y = x + 1
    return inner(y, "inner"), filled("{name}"), y


def shows_to_a_disabled_function(x):
    y = x * 3
    u = 1
    first = seen_from_outside()
    del u
    return first, seen_from_outside(), y + 1


@pytest.mark.parametrize(
    "fn", [shows_its_locals, shows_those_of_the_inner_one, shows_to_a_disabled_function]
)
def test_a_called_function_sees_the_local_variables_of_its_caller(fn):
    check(fn, torch.ones(2), graphs=None, breaks=None, recompiles=None, interpreted=None, calls=3)
