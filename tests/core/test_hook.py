"""The evaluation hook: frames offered for compilation, and hooks of others."""

from __future__ import annotations

import sys

import pytest
from core_under_test import core, line_offset, slots


def refuse(point, state):
    raise LookupError(state)


def leaf(x, *rest, k=1, **more):
    return ("leaf", x)


def middle(x):
    return leaf(x, k=2)


def empty():
    pass


class Callback:
    """Answers a point for some functions and remembers what it was asked."""

    def __init__(self, **variants):
        self.asked = []
        self.points = {}
        for name, variant in variants.items():
            self.points[name] = core.Point(name, refuse)
            self.points[name].add(variant)

    def __call__(self, code, function):
        assert function.__code__ is code
        assert not core.hook_active()
        self.asked.append(code.co_name)
        return self.points.get(code.co_name)


def test_frames_below_run_are_offered_once():
    callback = Callback(leaf=lambda *state: state)
    core.set_frame_callback(callback)
    for _ in range(3):
        assert core.run(middle, 5) == (leaf, 5, 2, (), {})
    assert callback.asked == ["middle", "leaf"]
    assert middle(5) == ("leaf", 5)
    core.forget(leaf.__code__)
    core.run(middle, 5)
    assert callback.asked == ["middle", "leaf", "leaf"]


def test_a_new_callback_is_asked_anew():
    first = Callback(leaf=lambda *state: "first")
    assert core.set_frame_callback(first) is None
    assert core.run(middle, 5) == "first"
    assert core.set_frame_callback(None) is first
    assert core.run(middle, 5) == ("leaf", 5)
    core.set_frame_callback(Callback(leaf=lambda *state: "second"))
    assert core.run(middle, 5) == "second"


def test_answers_are_kept_per_context():
    asked = []
    core.set_frame_callback(lambda code, function: asked.append(core.current_context()))
    for context in "aabba":
        point = core.Point("p", refuse)
        point.add(lambda function: core.run(leaf, 1))
        core.Compiled(empty, point, sys.intern(context))()
    assert asked == ["a", "b"]


def test_errors_of_the_callback_and_of_variants_pass():
    def failing(code, function):
        raise KeyError(code.co_name)

    core.set_frame_callback(failing)
    for _ in range(50):
        with pytest.raises(KeyError, match="leaf"):
            core.run(leaf, 1)
        with pytest.raises(KeyError, match="middle"):
            core.run(middle, 1)
    core.set_frame_callback(lambda code, function: 3)
    with pytest.raises(TypeError, match="Point or None"):
        core.run(leaf, 1)

    def variant(*state):
        raise OSError(state[1])

    core.set_frame_callback(Callback(leaf=variant))
    for i in range(50):
        with pytest.raises(OSError, match=str(i)) as caught:
            core.run(middle, i)
        entry = caught.value.__traceback__.tb_next
        assert entry.tb_frame.f_code is middle.__code__
    with pytest.raises(TypeError):
        core.set_frame_callback(3)
    with pytest.raises(TypeError):
        core.forget(3)


def test_hook_is_inactive_in_variants_and_active_again_in_frames_they_enter():
    seen = []

    def inner(x):
        pass
        seen.append(core.hook_active())
        return leaf(x)

    def variant(function, x):
        seen.append(core.hook_active())
        leaf(x)
        at = line_offset(inner, "seen.append")
        return core.enter(inner, at, slots(inner, x=x), ())

    point = core.Point("start", refuse)
    point.add(variant)
    callback = Callback(leaf=lambda *state: "compiled")
    core.set_frame_callback(callback)
    assert core.Compiled(inner, point)(3) == "compiled"
    assert seen == [False, True]
    assert core.run_point(point, inner, 3) == ("leaf", 3)
    assert seen == [False, True, False, False]


def test_active_state_is_put_back_on_errors():
    with pytest.raises(ZeroDivisionError):
        core.run(lambda: 1 // 0)
    assert not core.hook_active()


def test_set_hook_active():
    assert core.set_hook_active(True) is False
    assert core.set_hook_active(True) is True
    assert core.hook_installed()
    assert core.set_hook_active(False) is True
    assert not core.hook_installed()

    def disabled():
        before = core.set_hook_active(False)
        core.set_hook_active(before)
        return before, core.hook_active(), core.hook_installed()

    assert core.run(disabled) == (True, True, True)


def test_class_bodies_generators_and_modules_run_plainly():
    callback = Callback()
    core.set_frame_callback(callback)

    def fn():
        class Local:
            value = 1

        exec("module_level = 1", {})
        return Local.value, list(i for i in range(2))

    assert core.run(fn) == (1, [0, 1])
    # Other packages may listen to the collector and the like: their functions are counted too.
    assert callback.asked.count("fn") == 1
    assert not {"Local", "<module>", "<genexpr>"} & set(callback.asked)


def test_frame_without_any_slot():
    core.set_frame_callback(Callback(empty=lambda function: None))
    assert core.run(lambda: empty()) is None


def test_arguments_that_are_cells_arrive_as_values():
    def fn(a):
        return (lambda: a)()

    core.set_frame_callback(Callback(fn=lambda *state: state))
    assert core.run(lambda: fn(3)) == (fn, 3)


def test_compiled_recursion():
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    calls = []

    def variant(function, n):
        calls.append(n)
        return core.leave(0, slots(fib, n=n), (), fib)

    core.set_frame_callback(Callback(fib=variant))
    assert core.run(lambda: fib(10)) == 55
    assert len(calls) == 177
    with pytest.raises(RecursionError):
        core.run(lambda: fib(10**6))


def test_tracing_tools_go_on_working():
    events = []

    def tracer(frame, event, arg):
        events.append((frame.f_code.co_name, event))
        return tracer

    core.set_frame_callback(Callback(leaf=lambda *state: "compiled"))
    sys.settrace(tracer)
    try:
        assert core.run(middle, 1) == "compiled"
    finally:
        sys.settrace(None)
    assert ("middle", "call") in events
    assert ("middle", "return") in events


def test_permanent_hook_stays_installed():
    assert core.set_frame_permanent(True) is False
    assert core.hook_installed()
    assert middle(1) == ("leaf", 1)
    assert core.set_frame_permanent(False) is True
    assert not core.hook_installed()


def test_a_frame_that_is_left_alone_with_all_below_it():
    def callback(code, function):
        asked.append(code.co_name)
        return False if code.co_name == "middle" else None

    def outer(x):
        first = middle(x), core.hook_active()
        return (*first, leaf(x))

    asked = []
    core.set_frame_callback(callback)
    for _ in range(2):
        assert core.run(outer, 5) == (("leaf", 5), True, ("leaf", 5))
    assert asked == ["outer", "middle", "leaf"]  # the leaf below middle was not offered


def test_the_hook_is_on_again_behind_a_frame_that_raised():
    def fails():
        raise KeyError

    def outer():
        with pytest.raises(KeyError):
            fails()
        return core.hook_active()

    core.set_frame_callback(lambda code, function: False if code.co_name == "fails" else None)
    assert core.run(outer)


def test_what_the_interpreter_calls_to_profile_or_trace_is_not_offered():
    seen = []

    def note(frame, event, arg):
        seen.append(event)

    for switch in (sys.setprofile, sys.settrace):
        callback = Callback(note=lambda *state: None)
        core.set_frame_callback(callback)
        switch(note)
        try:
            core.run(middle, 5)
        finally:
            switch(None)
        assert seen and "note" not in callback.asked
        assert {"middle", "leaf"} <= set(callback.asked)
        seen.clear()
        core.forget(middle.__code__)
        core.forget(leaf.__code__)


def test_what_an_audit_hook_runs_is_not_offered():
    seen = []
    listening = True  # a hook stays as long as its process

    def note(event, args):
        if listening:
            seen.append(event)

    sys.addaudithook(note)
    callback = Callback(note=lambda *state: None)
    core.set_frame_callback(callback)
    try:
        core.run(lambda: sys.audit("suture.tests"))
    finally:
        listening = False
    assert "suture.tests" in seen
    assert "note" not in callback.asked
