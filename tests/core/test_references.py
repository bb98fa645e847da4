"""No reference is lost or kept: counts and memory stay level over many calls of everything."""

from __future__ import annotations

import gc
import sys
import sysconfig
import tracemalloc

import pytest
from core_under_test import core, line_offset, offset_of, slots

# A build without the interpreter's lock frees some memory later, as much however often it turns.
TURNS = 1000 if sysconfig.get_config_var("Py_GIL_DISABLED") else 100


class Value:
    pass


def refuse(point, state):
    raise LookupError


def answering(variant):
    point = core.Point("p", refuse)
    point.add(variant)
    return point


def target(x, *rest, k=None, **more):
    y = x
    return (lambda: (x, y, k))()


def simple(x):
    y = x
    try:
        return y, len(3)
    except TypeError:
        return y, sys.exc_info()[1]


def generator(x):
    got = yield x
    yield got, x


def enter_simple(value):
    core.enter(simple, line_offset(simple, "return y, len"), (value, value), ())


def enter_raising(value):
    exc = ValueError(value)
    with pytest.raises(ValueError, match="Value"):
        core.enter(simple, 0, slots(simple, x=value), (), exc)


def enter_handled(value):
    exc = ValueError(value)
    at = line_offset(simple, "return y, sys")
    core.enter(simple, at, (value, value), (None,), handled=exc)


def enter_cells(value):
    cell = (lambda: value).__closure__[0]
    at = line_offset(target, "return")
    core.enter(target, at, slots(target, x=cell, k=cell, y=cell, rest=(value,)), ())
    with pytest.raises(NameError):
        core.enter(target, at, slots(target), ())


def refused(value):
    for bad in (((value,), ()), ((value, value), (value,) * 40), ([value], ())):
        with pytest.raises((ValueError, TypeError)):
            core.enter(simple, 0, *bad)
    with pytest.raises(TypeError, match="cell"):
        core.enter(target, line_offset(target, "return"), slots(target, x=value), ())


def suspended(value):
    at = offset_of(generator, "YIELD_VALUE")
    gen = core.suspend(generator, at, slots(generator, x=value), (), ValueError(value))
    assert gen.send(value) == (value, value)
    core.resume_at(gen, at + 2, slots(generator, x=value), ())
    assert gen.send(value) == (value, value)
    core.suspend(generator, at, slots(generator, x=value), ())


def jumps(value):
    end = answering(lambda *state: state[-1])
    start = answering(lambda *state: core.jump(end, *state, *state))
    assert core.run_point(start, value, value) is value
    assert core.run_point(start, *[value] * 30) is value
    assert core.jump(end, value).state == (value,)
    cycle = [value]
    cycle.append(core.jump(end, cycle))


def misses(value):
    point = core.Point("p", lambda point, state: lambda *values: values)
    assert core.run_point(point, value) == (value,)
    with pytest.raises(LookupError):
        core.run_point(core.Point("p", refuse), value)


def leaves(value):
    at = line_offset(simple, "return y, len")
    point = answering(lambda v: core.leave(at, (v, v), (), simple))
    core.run_point(point, value)
    kept = core.leave(at, (value, value), (), simple, ValueError(value), KeyError(value))
    with pytest.raises(ValueError, match="Value"):
        core.run_point(answering(lambda v: kept), value)
    with pytest.raises(ValueError, match="slots"):
        core.run_point(answering(lambda v: core.leave(at, (v,), (), simple)), value)


def reads_iterators(value):
    of = {"a": value, "b": value}
    for iterator in (
        iter(of.items()),
        iter(of),
        enumerate([value]),
        zip(),
        zip([value], of),
        value,
    ):
        assert core.coming_of(iterator) in (2, 1, -1)
        assert core.dict_of(iterator) in (of, None)
        assert core.left_of(iterator) in (2, -1)
    changed = iter(of.values())
    of["c"] = value
    with pytest.raises(RuntimeError):
        core.left_of(changed)


def leaves_by_name(value):
    core.leave(0, (value,), stack=(value,), handled=ValueError(value), exc=None)
    for wrong in ({"locals": (value,)}, {"other": value}, {"exc": value}):
        with pytest.raises(TypeError):
            core.leave(0, (value,), (value,), **wrong)


def compiled(value):
    fn = core.Compiled(target, answering(lambda *state: state), value)
    fn(value, value, value, k=value, z=value)
    fn(value, k=value)
    fn.attribute = value
    with pytest.raises(TypeError):
        fn(y=value)
    plain = core.Compiled(simple, answering(lambda function, x: x), value)
    assert plain(value) is plain(x=value) is value
    fn.__name__ = "x"
    fn.__name__, fn.context = "y", None


def hooked(value):
    core.set_frame_callback(lambda code, fn: point if code is target.__code__ else None)
    point = answering(lambda *state: state[1])
    assert core.run(lambda: target(value, value, k=value, z=value)) is value

    def fail(*state):
        raise KeyError(value)

    point.add(fail)
    with pytest.raises(KeyError):
        core.run(lambda: target(value, value, k=value, z=value))
    core.set_frame_callback(None)
    core.forget(target.__code__)


def hooked_generator(value):
    at = line_offset(generator, "yield got")
    point = answering(lambda fn, x, got, sent: core.leave(at, (x, value), ()))
    first = offset_of(generator, "YIELD_VALUE")
    core.set_generator_callback(lambda code, fn, offset: point if offset == first else None)
    gen = generator(value)
    next(gen)
    assert core.run(gen.send, value) == (value, value)
    core.set_generator_callback(None)
    core.forget(generator.__code__)


def tracebacks(value):
    exc = ValueError(value)
    for _ in range(3):
        core.add_traceback(exc, target.__code__, globals(), 20)
    core.add_traceback(exc, simple.__code__, globals(), 10, (value, value))
    core.strip_traceback(exc, simple.__code__)
    core.strip_traceback(exc, target.__code__)
    core.handling(exc, lambda: value)


ACTIONS = [
    enter_simple,
    enter_raising,
    enter_handled,
    enter_cells,
    refused,
    suspended,
    jumps,
    misses,
    leaves,
    leaves_by_name,
    reads_iterators,
    compiled,
    hooked,
    hooked_generator,
    tracebacks,
]


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.__name__)
def test_counts_stay_level(action):
    value = Value()
    watched = (value, None, core.UNBOUND, simple, target, generator, simple.__code__)
    for _ in range(3):
        action(value)
    for left in (2, 1, 0):  # what goes away meanwhile may have been garbage of others
        gc.collect()
        before = [sys.getrefcount(item) for item in watched]
        for _ in range(TURNS):
            action(value)
        gc.collect()
        after = [sys.getrefcount(item) for item in watched]
        assert after[0] == before[0]
        if all(abs(a - b) <= TURNS // 10 for a, b in zip(before, after)):
            break
        assert left, (before, after)


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.__name__)
def test_memory_stays_level(action):
    value = Value()
    for _ in range(20):
        action(value)
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(20):
            action(value)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for _ in range(TURNS):
            action(value)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown < TURNS * 8, f"{grown / TURNS:.0f} bytes per turn"


def test_code_objects_are_released_with_what_is_remembered():
    import weakref

    point = answering(lambda *state: 1)
    ref = weakref.ref(point)
    core.set_frame_callback(lambda code, fn, point=point: point if fn.__name__ == "new" else None)
    scope = {}
    exec("def new(*, k=1): pass", scope)
    assert core.run(lambda: scope["new"]()) == 1
    core.enter(scope["new"], 0, (1,), ())
    core.set_frame_callback(None)
    del point
    gc.collect()
    assert ref() is not None
    scope.clear()
    gc.collect()
    assert ref() is None
