"""enter(): a frame goes on anywhere, with CPython's own interpreter."""

from __future__ import annotations

import gc
import inspect
import sys

import pytest
from core_under_test import core, exit_slots, inner_code, line_offset, loop_slots, offset_of, slots

UNBOUND = core.UNBOUND


class Manager:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.log.append(exc[0])


def boom(i):
    raise ValueError(i)


def nest(x, n, log):
    total = 0
    for i in range(n):
        try:
            with Manager(log) as m:
                m.turn = i
                if i == 3:
                    boom(i)
                total += x
        except ValueError:
            total += 1000
        finally:
            total += 0.5
    return total


def test_goes_on_inside_for_try_with_finally():
    expected_log, log = [], []
    expected = nest(1, 6, expected_log)
    m = Manager(log)
    exits = m.__exit__
    result = core.enter(
        nest,
        line_offset(nest, "boom(i)"),
        slots(nest, x=1, n=6, log=log, total=4.5, i=3, m=m),
        (*loop_slots(iter(range(4, 6))), *exit_slots(exits)),
    )
    assert result == expected
    assert log == expected_log[3:]


def test_start_of_a_function():
    assert core.enter(nest, 0, slots(nest, x=1, n=2, log=[]), ()) == 3.0


def test_loop_header_with_its_iterator():
    def total(n):
        result = 0
        for i in n:
            result += i
        return result

    header = offset_of(total, "FOR_ITER")
    state = slots(total, n=None, result=10)
    assert core.enter(total, header, state, loop_slots(iter([1, 2, 3]))) == 16


def test_unbound_locals_are_unbound():
    def get(flag):
        if flag:
            value = 1
        return value

    with pytest.raises(UnboundLocalError):
        core.enter(get, line_offset(get, "return value"), slots(get, flag=True), ())
    assert core.enter(get, line_offset(get, "return value"), slots(get, flag=0, value=7), ()) == 7


def test_every_kind_of_parameter():
    def fn(a, /, b, *rest, c, d=4, **more):
        local = 5
        return a, b, rest, c, d, more, local

    at = line_offset(fn, "return a")
    values = dict(a=1, b=2, c=3, d=4, rest=(5, 6), more={"e": 7}, local=8)
    assert core.enter(fn, at, slots(fn, **values), ()) == (1, 2, (5, 6), 3, 4, {"e": 7}, 8)
    assert gc.isenabled()


def cell_of(value):
    return (lambda: value).__closure__[0]


def test_cells_are_shared_with_who_holds_them():
    def fn(a):
        b = 1

        def inner():
            nonlocal b
            b += 1
            return a + b

        return inner() + inner() + b

    at = line_offset(fn, "return inner()")
    a, b = cell_of(10), cell_of(5)
    inner = type(fn)(inner_code(fn), globals(), "inner", None, (a, b))
    assert core.enter(fn, at, slots(fn, a=a, b=b, inner=inner), ()) == 16 + 17 + 7
    assert b.cell_contents == 7


def test_free_variables_come_from_the_closure_if_not_given():
    base = 40

    def fn(x):
        y = x
        return base + y

    at = line_offset(fn, "return base")
    assert core.enter(fn, at, slots(fn, x=0, y=2), ()) == 42
    assert core.enter(fn, at, slots(fn, x=0, y=2, base=cell_of(1)), ()) == 3


def test_missing_cells_are_empty_cells():
    def fn(flag):
        if flag:
            late = 1
        return (lambda: late)()

    with pytest.raises(NameError, match="late"):
        core.enter(fn, line_offset(fn, "return"), slots(fn, flag=1), ())


def test_start_takes_plain_values_for_cells():
    def fn(a, b=2):
        return (lambda: a + b)()

    assert core.enter(fn, 0, slots(fn, a=1, b=5), ()) == 6


def test_comprehension_and_class_body_inside():
    def fn(n):
        k = n
        squares = [k * i for i in range(n)]

        class Local:
            value = squares

        return Local.value, {k: i for i in squares}

    at = line_offset(fn, "squares = [")
    k = cell_of(3) if "k" in fn.__code__.co_cellvars else 3
    assert core.enter(fn, at, slots(fn, n=3, k=k), ()) == ([0, 3, 6], {3: 6})


def test_a_frame_made_by_enter_is_the_functions_own():
    def fn():
        marker = 1  # noqa: F841
        frame = sys._getframe()
        return frame.f_code, frame.f_locals["marker"], frame.f_lineno, frame.f_back.f_code

    at = line_offset(fn, "frame = sys")
    code, marker, line, back = core.enter(fn, at, slots(fn, marker=7), ())
    assert (code, marker) == (fn.__code__, 7)
    assert line == fn.__code__.co_firstlineno + 3
    assert back is inspect.currentframe().f_code


def test_frame_outlives_its_run():
    def fn(x):
        y = x  # noqa: F841
        return sys._getframe()

    frame = core.enter(fn, line_offset(fn, "return"), slots(fn, x=1, y=[2]), ())
    gc.collect()
    assert frame.f_locals == {"x": 1, "y": [2]}


def test_recursion_through_enter_is_limited():
    def fn(n):
        return core.enter(fn, 0, slots(fn, n=n + 1), ())

    with pytest.raises(RecursionError):
        fn(0)


def test_wrong_states_are_refused():
    def fn(a):
        return a

    def maker():
        yield 1

    with pytest.raises(ValueError, match="local slots"):
        core.enter(fn, 0, (), ())
    with pytest.raises(ValueError, match="stack"):
        core.enter(fn, 0, (1,), (1,) * 50)
    for offset in (-2, 1, 10_000):
        with pytest.raises(ValueError, match="offset"):
            core.enter(fn, offset, (1,), ())
    with pytest.raises(TypeError, match="suspend"):
        core.enter(maker, 0, (), ())
    with pytest.raises(TypeError):
        core.enter(len, 0, (), ())
    with pytest.raises(TypeError, match="tuples"):
        core.enter(fn, 0, [1], ())
    with pytest.raises(TypeError, match="exc"):
        core.enter(fn, 0, (1,), (), 3)


def test_a_cell_slot_wants_a_cell():
    def fn(a):
        b = a
        return (lambda: a + b)()

    with pytest.raises(TypeError, match="cell"):
        core.enter(fn, line_offset(fn, "return"), slots(fn, a=1, b=2), ())


def test_hook_is_gone_while_a_plain_entry_runs():
    seen = []

    def fn():
        pass
        seen.append(core.hook_installed())

    core.enter(fn, line_offset(fn, "seen"), slots(fn), ())
    assert seen == [False]
