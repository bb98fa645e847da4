"""Points, jumps, the trampoline, and leaving to the interpreter."""

from __future__ import annotations

import copy
import functools
import gc
import signal
import sys
import weakref

import pytest
from core_under_test import core, line_offset, slots


def refuse(point, state):
    raise LookupError(point.name, state)


def program(*checks, slot=0):
    """Guards on one value of the state; a check is (kind, argument)."""
    numbered = tuple((kind, arg, i) for i, (kind, arg) in enumerate(checks))
    return core.GuardProgram((("slot", slot, numbered, (), None, 0),))


def test_miss_gets_the_state_and_answers_a_callable():
    misses = []

    def on_miss(point, state):
        misses.append((point, state))
        return lambda *values: ("interpreted", values)

    point = core.Point("start", on_miss, data=3)
    assert core.run_point(point, 1, 2) == ("interpreted", (1, 2))
    assert misses == [(point, (1, 2))]
    assert (point.name, point.data, point.variants) == ("start", 3, [])
    point.data = "other"
    assert point.data == "other"


def test_errors_of_on_miss_and_of_variants_pass():
    point = core.Point("p", refuse)
    with pytest.raises(LookupError):
        core.run_point(point, 1)
    point.add(lambda value: 1 // value)
    with pytest.raises(ZeroDivisionError):
        core.run_point(point, 0)


def test_most_recent_variant_first_and_removal():
    point = core.Point("p", refuse)
    first, second = (lambda x: "first"), (lambda x: "second")
    point.add(first)
    point.add(second, None)
    assert core.run_point(point, 0) == "second"
    assert point.variants == [second, first]
    assert point.guards == [None, None]
    point.remove(second)
    assert core.run_point(point, 0) == "first"
    with pytest.raises(ValueError, match="not a variant"):
        point.remove(second)
    assert repr(point) == "<Point p, 1 variants>"


def test_last_hit_first_then_the_most_recent():
    asked = []

    def guards(name, value):
        def holds(x):
            asked.append(name)
            return x == value

        return program(("truth", holds))

    point = core.Point("p", lambda point, state: lambda x: "missed")
    for name, value in (("first", 1), ("second", 2), ("third", 3)):
        point.add(lambda x, name=name: name, guards(name, value))

    def order(x):
        asked.clear()
        return core.run_point(point, x), list(asked)

    assert order(2) == ("second", ["third", "second"])
    assert order(2) == ("second", ["second"])
    assert order(1) == ("first", ["second", "third", "first"])
    assert order(1) == ("first", ["first"])
    assert order(9) == ("missed", ["first", "third", "second"])
    assert order(1) == ("first", ["first"])


def test_a_general_variant_is_tried_when_no_other_fits():
    point = core.Point("p", lambda point, state: lambda x: "missed")
    point.add(lambda x: "first", program(("truth", lambda x: x == 1)))

    def general(x):
        return "general"

    point.add(lambda x: "wider", program(("truth", lambda x: x > -2)), general=True)
    point.add(general, program(("truth", lambda x: x > 0)), general=True)
    point.add(lambda x: "second", program(("truth", lambda x: x == 2)))
    run = core.run_point
    assert [run(point, x) for x in (1, 3, 1, 2, 3, 2, 1)] == [
        "first", "general", "first", "second", "general", "second", "first",
    ]  # fmt: skip
    assert [run(point, x) for x in (0, -9)] == ["wider", "missed"]
    point.remove(general)
    assert [run(point, x) for x in (3, 1, 2)] == ["wider", "first", "second"]


def test_guards_that_raise_do_not_hold():
    point = core.Point("p", lambda point, state: lambda x: "missed")
    point.add(lambda x: "hit", program(("truth", lambda x: 1 // x)))
    assert core.run_point(point, 0) == "missed"
    assert core.run_point(point, 1) == "hit"


def test_guards_may_change_the_point_while_they_are_asked():
    point = core.Point("p", lambda point, state: lambda x: "missed")

    def emptying(x):
        for variant in point.variants:
            point.remove(variant)
        gc.collect()
        return False

    point.add(lambda x: "first", program(("type", str)))
    point.add(lambda x: "second", program(("truth", emptying)))
    assert core.run_point(point, 1) == "missed"
    assert point.variants == []


def test_variants_of_dead_objects_are_removed():
    class Owner:
        pass

    owner = Owner()
    point = core.Point("p", lambda point, state: lambda x: "missed")
    point.add(lambda x: "alive", program(("weak", owner)))
    point.add(lambda x: "other", program(("type", str)))
    assert core.run_point(point, owner) == "alive"
    del owner
    gc.collect()
    assert core.run_point(point, 3) == "missed"
    assert len(point.variants) == 1


def test_variants_may_change_the_point_they_run_at():
    point = core.Point("p", refuse)

    def replace(x):
        point.remove(replace)
        point.add(lambda y: ("new", y))
        gc.collect()
        return core.jump(point, x)

    point.add(replace)
    assert core.run_point(point, 5) == ("new", 5)


def test_wrong_arguments_are_refused():
    with pytest.raises(TypeError):
        core.Point("p", 3)
    with pytest.raises(TypeError):
        core.Point("p", refuse).add(3)
    with pytest.raises(TypeError):
        core.Point("p", refuse).add(refuse, 3)
    with pytest.raises(TypeError):
        core.jump(3)
    with pytest.raises(TypeError):
        core.run_point()
    with pytest.raises(TypeError):
        type(core.jump(core.Point("p", refuse)))()


def test_jumps_are_flat():
    point = core.Point("loop", refuse)

    def turn(i, n, depth):
        here = sys._getframe().f_back
        assert here is depth
        return i if i == n else core.jump(point, i + 1, n, depth)

    point.add(turn)
    assert core.run_point(point, 0, 100_000, sys._getframe()) == 100_000


def test_jump_between_points_with_states_of_any_size():
    end = core.Point("end", refuse)
    end.add(lambda *state: sum(state))
    for n in (0, 1, 24, 25, 300):
        start = core.Point("start", refuse)
        start.add(lambda: core.jump(end, *range(n)))
        assert core.run_point(start) == sum(range(n))


def test_jump_shows_what_it_holds():
    point = core.Point("there", refuse)
    jump = core.jump(point, 1, "two")
    assert jump.point is point
    assert jump.state == (1, "two")
    assert repr(jump) == "<Jump to <Point there, 0 variants> with 2 values>"


@pytest.mark.parametrize("python", [True, False])
def test_endless_jumps_can_be_interrupted(python):
    point = core.Point("loop", refuse)
    if python:
        point.add(lambda: core.jump(point))
    else:
        point.add(functools.partial(core.jump, point))
    signal.signal(signal.SIGALRM, lambda *args: signal.default_int_handler(*args))
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with pytest.raises(KeyboardInterrupt):
        core.run_point(point)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)


def test_recursion_is_limited():
    point = core.Point("p", refuse)
    point.add(lambda n: core.run_point(point, n + 1))
    with pytest.raises(RecursionError):
        core.run_point(point, 0)


def tail(x):
    y = x + 1
    return y, sys._getframe().f_back


def test_leave_enters_a_frame_after_the_variant_is_gone():
    point = core.Point("p", refuse)

    def variant(x):
        at = line_offset(tail, "return y")
        return core.leave(at, slots(tail, x=x, y=x * 10), (), tail)

    point.add(variant)
    assert core.run_point(point, 4) == (40, sys._getframe())


def test_leave_can_throw_and_show_a_handled_exception():
    def fn():
        try:
            raise KeyError
        except KeyError:
            return sys.exc_info()[1]

    point = core.Point("p", refuse)
    exc = KeyError("thrown")
    raise_at = line_offset(fn, "raise KeyError")
    point.add(lambda: core.leave(raise_at, (), (), fn, exc))
    assert core.run_point(point) is exc
    body = line_offset(fn, "return sys")
    point.add(lambda: core.leave(body, (), (None,), function=fn, handled=exc))
    assert core.run_point(point) is exc


def test_values_left_to_a_frame_die_when_the_frame_drops_them():
    class Value:
        pass

    def fn(value):
        gone = None
        del value
        return gone()

    point = core.Point("p", refuse)
    end = core.Point("end", refuse)

    def variant():
        value = Value()
        return core.jump(end, value, weakref.ref(value))

    point.add(variant)
    at = line_offset(fn, "del value")
    end.add(lambda value, gone: core.leave(at, (value, gone), (), fn))
    assert core.run_point(point) is None


def test_leave_without_a_function_belongs_to_generators():
    point = core.Point("p", refuse)
    point.add(lambda: core.leave(0, (), ()))
    with pytest.raises(TypeError, match="function"):
        core.run_point(point)
    for wrong in ((0, (), (), 3), (0, (), (), None, 3), (0, (), (), None, None, 3), (0, [], ())):
        with pytest.raises(TypeError):
            core.leave(*wrong)
    for wrong, named in (
        ((), {"offset": 0}),
        ((0, (), ()), {"stack": ()}),
        ((0, (), ()), {"of": 1}),
    ):
        with pytest.raises(TypeError):
            core.leave(*wrong, **named)
    with pytest.raises(OverflowError):
        core.leave(1 << 80, (), ())
    with pytest.raises(TypeError, match="at most"):
        core.leave(0, (), (), None, None, None, None)
    left = core.leave(stack=(1,), locals=(2,), offset=4)
    assert (left.offset, left.locals, left.stack, left.function) == (4, (2,), (1,), None)


def test_points_are_collected():
    point = core.Point("p", refuse)
    point.data = [point]
    point.add(point.add)
    ref = weakref.ref(point)
    del point
    gc.collect()
    assert ref() is None


def test_unbound_is_one():
    assert repr(core.UNBOUND) == "UNBOUND"
    assert copy.deepcopy(core.UNBOUND) is core.UNBOUND
    with pytest.raises(TypeError):
        type(core.UNBOUND)()
    assert core.UNBOUND.__reduce__() == "UNBOUND"


def test_a_variant_for_another_object_asks_nothing_else():
    """Of many variants, each for an object of its own, only that of the right one looks further."""
    asked = []

    def truth(value):
        asked.append(value)
        return True

    point = core.Point("p", lambda at, state: lambda *given: "missed")
    objects = [type("Thing", (), {})() for _ in range(5)]
    for i, one in enumerate(objects):
        kind = "weak" if i % 2 else "is"
        program = core.GuardProgram(
            (("slot", 0, (("truth", truth),), ()), ("slot", 1, ((kind, one),), ()))
        )
        point.add(lambda *given, i=i: i, program)
    for i, one in enumerate(objects):
        assert core.run_point(point, f"state {i}", one) == i
    assert asked == [f"state {i}" for i in range(5)]
    assert core.run_point(point, "none", object()) == "missed"
    assert core.run_point(point, "unbound", core.UNBOUND) == "missed"
    assert len(asked) == 5
