"""Generators and coroutines: suspended anywhere, sent on anywhere, compiled when resumed."""

from __future__ import annotations

import asyncio
import gc
import inspect
import sys
import warnings

import pytest
from core_under_test import core, line_offset, loop_slots, offset_of, offsets_of, slots

UNBOUND = core.UNBOUND


def counter(n, log):
    for i in range(n):
        got = yield i
        if got:
            log.append(got)
    return "done"


def suspended(n, i, log):
    at = offset_of(counter, "YIELD_VALUE")
    state = slots(counter, n=n, i=i, log=log)
    return core.suspend(counter, at, state, loop_slots(iter(range(i + 1, n))))


def test_suspended_generator_goes_on():
    log = []
    gen = suspended(5, 2, log)
    assert inspect.getgeneratorstate(gen) == "GEN_SUSPENDED"
    assert gen.gi_frame.f_locals["i"] == 2
    assert gen.send("hello") == 3
    assert list(gen) == [4]
    assert log == ["hello"]
    with pytest.raises(StopIteration):
        next(suspended(0, 0, []))


def test_suspended_generator_returns_its_value():
    def outer():
        return (yield from suspended(3, 1, []))

    gen = outer()
    assert next(gen) == 2
    with pytest.raises(StopIteration) as stop:
        next(gen)
    assert stop.value.value == "done"


def test_suspended_generator_can_be_thrown_into_and_closed():
    def fn(log):
        try:
            yield 1
        except KeyError:
            log.append("caught")
            yield 2
        finally:
            log.append("finally")

    at = offsets_of(fn, "YIELD_VALUE")[0]
    log = []
    gen = core.suspend(fn, at, (log,), ())
    assert gen.throw(KeyError()) == 2
    gen.close()
    core.suspend(fn, at, (log,), ()).close()
    gen = core.suspend(fn, at, (log,), ())
    del gen
    gc.collect()
    assert log == ["caught", "finally", "finally", "finally"]


def test_suspended_in_an_except_body():
    def fn():
        try:
            raise ValueError
        except ValueError:
            yield 1
            yield sys.exc_info()[1]
        yield sys.exc_info()[1]

    handled = ValueError("ours")
    gen = core.suspend(fn, offsets_of(fn, "YIELD_VALUE")[0], (), (None,), handled)
    assert next(gen) is handled
    assert next(gen) is None


def test_suspended_coroutine():
    async def child(value):
        await asyncio.sleep(0)
        return value

    async def fn(value):
        other = await child(value)
        return other + 1

    assert asyncio.run(fn(1)) == 2
    at = offset_of(fn, "YIELD_VALUE")
    waiting = child(41)
    waiting.send(None)
    coroutine = core.suspend(fn, at, slots(fn, value=41), loop_slots(waiting))
    assert coroutine.cr_await is waiting
    with pytest.raises(StopIteration) as stop:
        coroutine.send(None)
    assert stop.value.value == 42


def test_suspended_async_generator():
    async def fn(n):
        for i in range(n):
            yield i

    async def rest():
        gen = core.suspend(
            fn,
            offsets_of(fn, "YIELD_VALUE")[-1],
            slots(fn, n=5, i=2),
            loop_slots(iter(range(3, 5))),
        )
        return [i async for i in gen]

    assert asyncio.run(rest()) == [3, 4]


def test_suspend_with_every_kind_of_parameter_and_cells():
    def fn(a, *rest, b, **more):
        yield a
        yield (lambda: (a, rest, b, more))()

    at = offsets_of(fn, "YIELD_VALUE")[0]
    names = {"rest": (5,), "b": 6, "more": {"k": 7}, "a": 4}
    cells = {n: (lambda v: (lambda: v).__closure__[0])(v) for n, v in names.items()}
    gen = core.suspend(fn, at, slots(fn, **cells), ())
    assert next(gen) == (4, (5,), 6, {"k": 7})


def test_suspend_refuses_what_cannot_be():
    def plain():
        return 1

    with pytest.raises(TypeError):
        core.suspend(plain, 0, (), ())
    with pytest.raises(ValueError, match="yield"):
        core.suspend(counter, 0, slots(counter), ())
    with pytest.raises(TypeError):
        core.suspend(counter, 0, slots(counter), (), 3)


def test_resume_at_sends_a_generator_elsewhere():
    def fn():
        yield 1
        value = yield 2
        yield value, "after"

    gen = fn()
    behind = offsets_of(fn, "YIELD_VALUE")[1] + 2
    core.resume_at(gen, behind, slots(fn), ())
    assert gen.send("sent") == ("sent", "after")
    gen = fn()
    next(gen)
    core.resume_at(gen, behind, slots(fn), ())
    assert gen.send("sent") == ("sent", "after")


def test_resume_at_refuses_what_cannot_be():
    def fn():
        core.resume_at(gen, behind, slots(fn), ())
        yield 1

    behind = offsets_of(fn, "YIELD_VALUE")[0] + 2
    gen = fn()
    with pytest.raises(ValueError, match="running"):
        next(gen)
    with pytest.raises(ValueError, match="finished"):
        core.resume_at(gen, behind, slots(fn), ())
    with pytest.raises(ValueError, match="cannot be resumed"):
        core.resume_at(fn(), 0, slots(fn), ())
    with pytest.raises(TypeError):
        core.resume_at(3, 0, (), ())


def refuse(point, state):
    raise LookupError(state)


def work(n):
    total = 0
    while total < n:
        got = yield total
        total += got
    return "end"


def compiled_work(seen):
    """A callback whose compiled code adds ten times what was sent."""
    point = core.Point("resumed", refuse)
    loop = line_offset(work, "while total")

    def variant(function, n, total, got, sent):
        seen.append((n, total, sent))
        if sent == "fail":
            raise KeyError("from the variant")
        return core.leave(loop, (n, total + 10 * sent, sent), ())

    point.add(variant)
    yields = offset_of(work, "YIELD_VALUE")

    def callback(code, function, offset):
        return point if code is work.__code__ and offset == yields else None

    return callback


def drive(gen):
    return [next(gen), gen.send(1), gen.send(2)]


def test_resumed_generator_runs_compiled_code():
    seen = []
    core.set_generator_callback(compiled_work(seen))
    gen = work(50)
    assert core.run(drive, gen) == [0, 10, 30]
    assert seen == [(50, 0, 1), (50, 10, 2)]
    assert gen.send(2) == 32, "outside of run() the interpreter does it alone"
    with pytest.raises(StopIteration) as stop:
        core.run(gen.send, 2)
    assert stop.value.value == "end"


def each(xs, ys):
    for x in xs:
        for y in ys:
            try:
                got = yield x + y
            finally:
                if x == 2:
                    got = 30
            if got is not None:
                return got
    return "end"


@pytest.mark.parametrize("ys", [[10, 20], (10, 20), range(10, 21, 10), {10: 0, 20: 0}])
def test_a_loop_goes_on_where_it_was_when_the_frame_is_filled_with_what_it_had(ys):
    """A list and an index may stand on the stack in the place of an iterator."""
    yields = offset_of(each, "YIELD_VALUE")
    point = core.Point("resumed", refuse)
    point.add(lambda function, *state: core.leave(yields + 2, state[:5], state[5:]))
    core.set_generator_callback(
        lambda code, function, at: point if (code, at) == (each.__code__, yields) else None
    )

    def drive(gen, *values):
        found = [next(gen)]
        try:
            while True:
                found.append(gen.send(values[len(found)] if len(found) < len(values) else None))
        except StopIteration as stop:
            return found, stop.value

    assert core.run(drive, each([0, 1], ys)) == ([10, 20, 11, 21], "end")
    assert core.run(drive, each([0, 1, 2], ys)) == ([10, 20, 11, 21, 12], 30)
    assert core.run(drive, each([0], ys), None, 7) == ([10], 7)


def pairs(xs):
    last = []
    for x in xs:
        yield x
    return last


@pytest.mark.parametrize("xs", [[1, 2, 3, 4], (1, 2, 3, 4), "abcd", b"abcd", range(1, 5)])
def test_compiled_code_has_the_iterator_of_a_loop_and_can_move_it(xs):
    """Also where CPython itself keeps a sequence and an index."""
    yields = offset_of(pairs, "YIELD_VALUE")
    seen = []

    def variant(function, xs, last, x, iterator, *rest):
        seen.append((type(iterator), rest[:-1]))
        next(iterator)
        return core.leave(yields + 2, (xs, last, x), (iterator, *rest))

    point = core.Point("resumed", refuse)
    point.add(variant)
    core.set_generator_callback(
        lambda code, function, at: point if (code, at) == (pairs.__code__, yields) else None
    )
    assert core.run(list, pairs(xs)) == [xs[0], xs[2]]
    assert seen == [(type(iter(xs)), loop_slots(0)[1:])] * 2


def test_error_of_compiled_code_is_raised_in_the_generator():
    core.set_generator_callback(compiled_work([]))
    gen = work(50)
    next(gen)
    with pytest.raises(KeyError) as caught:
        core.run(gen.send, "fail")
    names = []
    entry = caught.value.__traceback__
    while entry is not None:
        names.append(entry.tb_frame.f_code.co_name)
        entry = entry.tb_next
    assert names[1:] == ["work", "variant"]
    assert gen.gi_frame is None


def test_throw_runs_plainly():
    seen = []
    core.set_generator_callback(compiled_work(seen))
    gen = work(50)
    next(gen)
    with pytest.raises(OSError, match="thrown"):
        core.run(gen.throw, OSError("thrown"))
    assert seen == []


def test_callback_of_generators_may_fail():
    def callback(code, function, offset):
        raise KeyError(code.co_name)

    core.set_generator_callback(callback)
    gen = work(50)
    with pytest.raises(KeyError, match="work"):
        core.run(next, gen)
    assert gen.gi_frame is None


def test_wrong_answers_are_refused():
    point = core.Point("p", refuse)
    point.add(lambda *state: 3)
    core.set_generator_callback(lambda code, function, offset: point)
    with pytest.raises(TypeError, match="leave"):
        core.run(next, work(5))
    other = core.Point("p", refuse)
    other.add(lambda *state: core.leave(0, (1, 2, 3, 4), ()))
    core.set_generator_callback(lambda code, function, offset: other)
    with pytest.raises(ValueError, match="slots"):
        core.run(next, work(5))


def test_watched_generators_are_compiled_everywhere():
    seen = []
    core.set_generator_callback(compiled_work(seen))
    core.set_frame_permanent(True)
    core.watch(work.__code__, "context")
    try:
        assert drive(work(50)) == [0, 10, 30]
    finally:
        core.watch(work.__code__, None)
        core.set_frame_permanent(False)
    assert len(seen) == 2
    assert drive(work(50)) == [0, 1, 3]


def test_leave_sets_what_a_generator_handles():
    def fn():
        yield 1
        try:
            raise KeyError
        except KeyError:
            yield sys.exc_info()[1]
        yield sys.exc_info()[1]

    exc = KeyError("ours")
    body = line_offset(fn, "yield sys")
    point = core.Point("p", refuse)
    point.add(lambda *state: core.leave(body, (), (None,), handled=exc))
    first = offsets_of(fn, "YIELD_VALUE")[0]
    core.set_generator_callback(lambda c, f, offset: point if offset == first else None)
    gen = fn()
    assert core.run(lambda: [next(gen), next(gen), next(gen)]) == [1, exc, None]


def test_leave_can_throw_into_a_generator():
    def fn():
        try:
            yield 1
        except KeyError:
            yield "caught"

    first = offsets_of(fn, "YIELD_VALUE")[0]
    point = core.Point("p", refuse)
    point.add(lambda *state: core.leave(first, (), (1,), exc=KeyError()))
    core.set_generator_callback(lambda c, f, offset: point if offset == first else None)
    gen = fn()
    next(gen)
    assert core.run(next, gen) == "caught"


def test_coroutines_run_under_the_hook():
    async def child(value):
        await asyncio.sleep(0)
        return value

    async def fn():
        return sum([await child(i) for i in range(5)])

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        core.set_generator_callback(lambda code, function, offset: None)
        assert core.run(asyncio.run, fn()) == 10
