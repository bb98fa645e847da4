"""Generators that are dropped in the midst of their elements: their blocks are left in time."""

from __future__ import annotations

import contextlib
import gc

import pytest
import torch

import suture
from suture.bytecode import language
from tests.harness import check

LOG: list[str] = []
X = torch.ones(2)


def numbers():
    try:
        yield 1
        yield 2
    finally:
        LOG.append("closed")


def without_gradients():
    with torch.no_grad():
        yield 1
        yield 2


@contextlib.contextmanager
def managed():
    try:
        yield 3
    finally:
        LOG.append("left")


class Numbers:
    def __init__(self):
        self.inner = numbers()

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.inner)


def left_by_break(x):
    for i in numbers():
        x = x + i
        break
    LOG.append("after")
    return x


def dropped_at_the_end(x):
    made = numbers()
    return x + next(made)


def dropped_by_a_call(x):
    x = dropped_at_the_end(x)
    LOG.append("after")
    return x


def dropped_by_name(x):
    made = again = numbers()
    x = x + next(made)
    made = None
    LOG.append("still there")
    del again
    LOG.append("after")
    return x


def dropped_inside_another(x):
    first = next(v for v in numbers() if v > 0)
    LOG.append("after")
    return x + first + any(v > 0 for v in numbers())


def dropped_inside_an_object(x):
    for i in Numbers():
        return x + i


def dropped_with_its_manager(x):
    with contextlib.ExitStack() as stack:
        x = x + stack.enter_context(managed())
    entered = managed()
    return x + entered.__enter__()


def left_by_an_exception(x):
    try:
        for _ in numbers():
            raise ValueError
    except ValueError:
        LOG.append("handled")
    return x + 1


@pytest.mark.parametrize(
    "fn",
    [
        left_by_break,
        dropped_at_the_end,
        dropped_by_a_call,
        dropped_by_name,
        dropped_inside_another,
        dropped_inside_an_object,
        dropped_with_its_manager,
        left_by_an_exception,
    ],
)
def test_block_is_left_as_in_python(fn):
    LOG.clear()
    expected = fn(X), list(LOG)
    compiled = suture.compile(fn, fullgraph=True, backend="eager")
    for _ in range(2):
        LOG.clear()
        torch.testing.assert_close(compiled(X), expected[0])
        assert LOG == expected[1]


def raises_behind_a_break(x):
    made = numbers()
    x = x + next(made)
    suture.graph_break()
    raise ValueError


def raises_again_behind_a_break(x):
    made = numbers()
    x = x + next(made)
    try:
        raise ValueError
    except ValueError:
        suture.graph_break()
        raise


def raises_again_from_python(x):
    made = numbers()
    x = x + next(made)
    try:
        suture.graph_break()
        int("no number")
    except ValueError:
        suture.graph_break()
        raise


def raises_in_a_call(x):
    return raises_again_from_python(x) + 1


def raises_in_a_finally(x):
    made = numbers()
    x = x + next(made)
    try:
        suture.graph_break()
        int("no number")
    finally:
        suture.graph_break()


@pytest.mark.parametrize(
    "fn",
    [
        raises_behind_a_break,
        raises_again_behind_a_break,
        raises_again_from_python,
        raises_in_a_call,
        raises_in_a_finally,
    ],
)
def test_the_traceback_of_an_exception_keeps_a_generator(fn):
    compiled = suture.compile(fn, backend="eager")
    for call in (fn, compiled, compiled):
        LOG.clear()
        try:
            call(X)
        except ValueError:
            LOG.append("caught")
        assert LOG == ["caught", "closed"]


def fails_with_one_open():
    made = numbers()
    next(made)
    raise KeyError


def holds_one_open():
    made = numbers()
    yield next(made)
    yield 5


def handled(x):
    try:
        fails_with_one_open()
    except KeyError:
        LOG.append("handled")
    LOG.append("behind")
    return x + 1


def kept_for_a_while(x):
    try:
        fails_with_one_open()
    except KeyError as error:
        kept = [error]
    LOG.append("kept")
    kept.clear()
    LOG.append("behind")
    return x + 1


def traceback_taken_away(x):
    try:
        fails_with_one_open()
    except KeyError as error:
        error.__traceback__ = None
        LOG.append("handled")
    return x + 1


def swallowed(x):
    with contextlib.suppress(KeyError):
        fails_with_one_open()
    LOG.append("behind")
    return x + 1


def closed_from_outside(x):
    made = holds_one_open()
    x = x + next(made)
    made.close()
    LOG.append("behind")
    return x + 1


def thrown_into(x):
    made = holds_one_open()
    x = x + next(made)
    try:
        made.throw(KeyError)
    except KeyError:
        LOG.append("handled")
    LOG.append("behind")
    return x + 1


@pytest.mark.parametrize(
    "fn",
    [
        handled,
        kept_for_a_while,
        traceback_taken_away,
        swallowed,
        closed_from_outside,
        thrown_into,
    ],
)
def test_what_an_exception_has_left_goes_with_it(fn):
    LOG.clear()
    expected = fn(X), list(LOG)
    compiled = suture.compile(fn, fullgraph=True, backend="eager")
    for _ in range(2):
        LOG.clear()
        torch.testing.assert_close(compiled(X), expected[0])
        assert LOG == expected[1]


def fails_with_a_list_of_one():
    made = [numbers()]
    next(made[0])
    raise KeyError


def raised_again(x):
    try:
        fails_with_one_open()
    except KeyError:
        LOG.append("handled")
        raise


def raised_again_by_a_block(x):
    with contextlib.suppress(IndexError):
        fails_with_a_list_of_one()
    return x + 1


def passes_a_finally(x):
    try:
        fails_with_one_open()
    finally:
        LOG.append("finally")


def becomes_another(x):
    try:
        fails_with_a_list_of_one()
    except KeyError as error:
        raise LookupError from error


def raised_again_behind_a_break(x):
    try:
        fails_with_one_open()
    except KeyError:
        suture.graph_break()
        raise


def returned(x):
    try:
        fails_with_one_open()
    except KeyError as error:
        return error


@pytest.mark.parametrize(
    "fn",
    [
        raised_again,
        raised_again_by_a_block,
        passes_a_finally,
        becomes_another,
        raised_again_behind_a_break,
        returned,
    ],
)
def test_an_exception_that_leaves_the_region_takes_along_what_its_frames_hold(fn):
    compiled = suture.compile(fn, backend="eager")
    seen = []
    for call in (fn, compiled, compiled):
        LOG.clear()
        try:
            result = call(X)
        except LookupError as error:
            result = error
        LOG.append("here")
        del result
        seen.append(list(LOG))
    assert seen[0][-2:] == ["here", "closed"]
    assert seen[1] == seen[0] and seen[2] == seen[0]


def test_a_generator_holds_what_it_reads_no_more_behind_a_break():
    def breaks_with_one_open(x):
        made = numbers()
        x = x + next(made)
        suture.graph_break()
        LOG.append("broken")
        yield x
        LOG.append("again")
        yield x + 1

    def fn(x):
        for item in breaks_with_one_open(x):
            LOG.append("item")
        LOG.append("behind")
        return item

    compiled = suture.compile(fn, backend="eager")
    for call in (fn, compiled, compiled):
        LOG.clear()
        call(X)
        assert LOG == ["broken", "item", "again", "item", "closed", "behind"]


def test_mode_of_a_dropped_generator_ends():
    def fn(x):
        for _ in without_gradients():
            break
        return torch.is_grad_enabled(), x * 2

    compiled = suture.compile(fn, fullgraph=True, backend="eager")
    on, made = compiled(torch.ones(2, requires_grad=True))
    assert on and made.requires_grad and torch.is_grad_enabled()


def test_generator_that_is_kept_goes_on():
    def fn(x, box):
        made = numbers()
        box.append(made)
        return x + next(made), [numbers()]

    LOG.clear()
    box = []
    _, (fresh,) = suture.compile(fn, fullgraph=True, backend="eager")(X, box)
    assert LOG == [] and list(box[0]) == [2] and next(fresh) == 1


def test_break_between_and_in_the_block():
    def breaking():
        try:
            yield 1
            yield 2
        finally:
            suture.graph_break()
            LOG.append("closed")

    def fn(x):
        kept = numbers()
        x = x + next(kept)
        suture.graph_break()
        LOG.append("between")
        for i in breaking():
            x = x + i
            break
        LOG.append("after")
        return x

    LOG.clear()
    expected = fn(X), list(LOG)
    compiled = suture.compile(fn, backend="eager")
    for _ in range(2):
        LOG.clear()
        torch.testing.assert_close(compiled(X), expected[0])
        gc.collect()  # what was compiled just now may hold on to what it saw
        assert LOG == expected[1]


def _noted(log, what):
    log.append(what)


def _one(x, log, what):
    try:
        yield x + 1
    finally:
        _noted(log, what)
        log.append(what)


def _as_they_started(x, log):
    first = _one(x, log, "first")
    y = next(first)
    second = _one(x, log, "second")
    return y + next(second)


def _started_in_another_order(x, log):
    first = second = None
    second = _one(x, log, "second")
    y = next(second)
    first = _one(x, log, "first")
    return y + next(first)


@pytest.mark.parametrize("body", [_as_they_started, _started_in_another_order])
@pytest.mark.parametrize("inlined", [True, False])
def test_generators_of_one_frame_are_closed_one_by_one_in_the_order_of_its_variables(inlined, body):
    def fn(x, log):
        y = body(x, log)
        log.append("done")
        return y

    check(fn if inlined else body, torch.ones(2), [], graphs=1)


def test_a_closed_generator_keeps_its_variables_where_this_python_lets_it(monkeypatch):
    monkeypatch.setattr(language, "CLOSE_KEEPS_VARIABLES", True)
    compiled = suture.compile(closed_from_outside, fullgraph=True, backend="eager")
    LOG.clear()
    compiled(X)
    assert LOG == ["behind", "closed"]
