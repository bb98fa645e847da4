"""Threads: what one does with the hook does not show in another."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import threading
from pathlib import Path

import pytest
from core_under_test import core, line_offset, loop_slots, offset_of, slots

UNBOUND = core.UNBOUND


def refuse(point, state):
    raise LookupError


def in_threads(*jobs):
    """Runs the jobs at the same time; raises what one of them raised."""
    errors = []
    barrier = threading.Barrier(len(jobs))

    def guarded(job):
        try:
            barrier.wait()
            job()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def add(a, b):
    total = a
    for _ in range(5):
        total = total + b
    return total


@pytest.mark.usefixtures("often_switching")
def test_entries_of_many_threads_do_not_mix():
    at = offset_of(add, "FOR_ITER")

    def job(k):
        def loop():
            for i in range(400):
                state = slots(add, a=0, b=k, total=i)
                assert core.enter(add, at, state, loop_slots(iter(range(3)))) == i + 3 * k

        return loop

    in_threads(*(job(k) for k in range(6)))


@pytest.mark.usefixtures("often_switching")
def test_only_the_thread_in_run_is_offered_frames():
    owner = set()

    def callback(code, function):
        if code is add.__code__:
            owner.add(threading.get_ident())
            return point
        return None

    point = core.Point("add", refuse)
    point.add(lambda fn, a, b: ("compiled", a, b))
    core.set_frame_callback(callback)
    compiled, plain = set(), set()

    def active():
        compiled.add(threading.get_ident())
        for i in range(300):
            assert core.run(lambda i=i: add(i, 1)) == ("compiled", i, 1)

    def passive():
        plain.add(threading.get_ident())
        for i in range(300):
            assert add(i, 1) == i + 5

    in_threads(active, passive, active, passive)
    assert owner <= compiled
    assert not owner & plain


@pytest.mark.usefixtures("often_switching")
def test_jumps_and_contexts_of_many_threads():
    point = core.Point("loop", refuse)

    def turn(i, context):
        assert core.current_context() is context
        return i if i == 300 else core.jump(point, i + 1, context)

    point.add(turn)

    def start(context):
        pass

    first = core.Point("start", refuse)
    first.add(lambda fn, context: core.jump(point, 0, context))

    def job():
        context = object()
        compiled = core.Compiled(start, first, context)
        for _ in range(20):
            assert compiled(context) == 300

    in_threads(*[job] * 4)


@pytest.mark.usefixtures("often_switching")
def test_exceptions_handled_stay_in_their_thread():
    def fn(name):
        try:
            raise KeyError(name)
        except KeyError:
            first = sys.exc_info()[1]
            sum(range(100))
            return first, sys.exc_info()[1]

    at = line_offset(fn, "first = sys")

    def job():
        for i in range(300):
            exc = KeyError(i)
            state = slots(fn, name=i)
            assert core.enter(fn, at, state, (None,), handled=exc) == (exc, exc)
            assert sys.exc_info()[1] is None

    in_threads(*[job] * 4)


def test_threads_that_compile_and_call_at_once():
    from stress_threads import stress

    assert stress(rounds=5) == [5, 5, 5, 5]


@pytest.mark.skipif(
    not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="this Python always has its lock"
)
def test_the_core_turns_the_lock_on_or_is_not_loaded():
    assert sys._is_gil_enabled()
    load = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import core_under_test"
    done = subprocess.run([sys.executable, "-X", "gil=0", "-c", load], capture_output=True)
    assert b"ImportError: suture needs the global interpreter lock" in done.stderr
