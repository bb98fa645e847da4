"""Synthetic frames: what the stack shows while something runs."""

from __future__ import annotations

import gc
import sys
import threading
import warnings

import pytest
from core_under_test import core, offset_of


def inner(x):
    y = x + 1
    return y


def outer(x):
    return inner(x)


LINE = inner.__code__.co_firstlineno


def positions(*fns):
    return tuple((fn.__code__, fn.__globals__, offset_of(fn, "RETURN_VALUE")) for fn in fns)


def stack():
    """The functions and lines that called, innermost first."""
    frame, found = sys._getframe(1), []
    while frame is not None:
        found.append((frame.f_code.co_name, frame.f_lineno))
        frame = frame.f_back
    return found


def through_a_point(frames, fn):
    """Call `fn` under `frames` from a variant."""

    def variant(state):
        return frames(fn)

    point = core.Point("point", print)
    point.add(variant)
    return core.run_point(point, None)


def test_frames_are_at_their_lines_in_place_of_the_variant():
    found = through_a_point(core.SyntheticFrames(positions(outer, inner)), stack)
    assert found[:2] == [("inner", LINE + 2), ("outer", LINE + 6)]
    assert found[2][0] == "through_a_point"


def test_no_frames_hide_the_variant():
    assert through_a_point(core.SyntheticFrames(()), stack)[0][0] == "through_a_point"


def test_outside_of_a_trampoline_the_caller_stays():
    names = [name for name, _ in core.SyntheticFrames(positions(inner))(stack)]
    assert names[:2] == ["inner", "test_outside_of_a_trampoline_the_caller_stays"]


def test_arguments_and_result_pass():
    frames = core.SyntheticFrames(positions(inner))
    assert frames(dict, [("a", 1)], b=2) == {"a": 1, "b": 2}
    with pytest.raises(ZeroDivisionError) as caught:
        frames(divmod, 1, 0)
    names = [entry.name for entry in caught.traceback]
    assert names == ["test_arguments_and_result_pass"]


def test_warnings_come_from_the_line_of_the_frame():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        frames = core.SyntheticFrames(positions(outer, inner))
        through_a_point(frames, lambda: warnings.warn("a", stacklevel=2))
        through_a_point(frames, lambda: warnings.warn("b", stacklevel=3))
    assert [(w.filename, w.lineno) for w in told] == [(__file__, LINE + 2), (__file__, LINE + 6)]


def test_kept_frames_keep_their_callers():
    frames = core.SyntheticFrames(positions(outer, inner))
    kept = [through_a_point(frames, lambda: sys._getframe(1)) for _ in range(3)]
    gc.collect()
    assert len(set(map(id, kept))) == 3
    for frame in kept:
        assert (frame.f_code, frame.f_back.f_code) == (inner.__code__, outer.__code__)
        assert frame.f_back.f_back.f_code is through_a_point.__code__
        assert frame.f_globals is globals()
        assert not frame.f_locals


def test_a_traceback_keeps_the_synthetic_frames():
    def fail():
        raise KeyError

    with pytest.raises(KeyError) as caught:
        through_a_point(core.SyntheticFrames(positions(outer, inner)), fail)
    frame = caught.traceback[-1]._rawentry.tb_frame
    assert frame.f_back.f_code is inner.__code__
    assert frame.f_back.f_back.f_code is outer.__code__


def test_a_synthetic_frame_cannot_be_cleared_while_it_is_linked():
    with pytest.raises(RuntimeError, match="executing"):
        core.SyntheticFrames(positions(inner))(lambda: sys._getframe(1).clear())


def test_one_inside_another_and_itself():
    frames = core.SyntheticFrames(positions(inner))
    again = core.SyntheticFrames(positions(outer))
    names = [name for name, _ in frames(frames, again, stack)][:3]
    assert names == ["outer", "inner", "inner"]
    assert frames(stack)[0][0] == "inner"


def test_collecting_while_linked():
    frames = core.SyntheticFrames(positions(outer, inner))
    for _ in range(3):
        assert frames(gc.collect) >= 0
    assert frames(stack)[0][0] == "inner"


def test_in_threads_at_once():
    frames, found = core.SyntheticFrames(positions(outer, inner)), []
    gate = threading.Barrier(4)

    def look():
        gate.wait()
        return [name for name, _ in stack()[1:3]]

    def work():
        found.extend(through_a_point(frames, look) for _ in range(5))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [["inner", "outer"]] * 20


def test_nothing_is_kept():
    frames = core.SyntheticFrames(positions(outer, inner))
    frames(stack)
    before = sys.getrefcount(inner.__code__)
    for _ in range(50):
        frames(stack)
    after = sys.getrefcount(inner.__code__)
    assert after == before


@pytest.mark.parametrize(
    "wrong", [((1, 2, 3),), ("x",), ((inner.__code__, {}, 10_000),), ((inner.__code__, {}, -2),)]
)
def test_places_are_checked(wrong):
    with pytest.raises((TypeError, ValueError)):
        core.SyntheticFrames(wrong)
    with pytest.raises(TypeError):
        core.SyntheticFrames([])
    with pytest.raises(TypeError):
        core.SyntheticFrames(())()
