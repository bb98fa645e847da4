"""Exceptions: thrown into frames, being handled in frames, and their tracebacks."""

from __future__ import annotations

import sys
import traceback

import pytest
from core_under_test import core, inner_code, line_offset, offset_of, offsets_of, slots

UNBOUND = core.UNBOUND


def missing(x):
    raise AssertionError("not called")


def handler(x):
    try:
        return missing(x)
    except ValueError as error:
        return "handled", x, str(error), sys.exc_info()[1] is error
    finally:
        x = None


def call_stack(x):
    return (missing, UNBOUND, x) if sys.version_info >= (3, 13) else (UNBOUND, missing, x)


def test_thrown_exception_finds_its_handler():
    call = offset_of(handler, "CALL")
    result = core.enter(handler, call, slots(handler, x=7), call_stack(7), ValueError("in"))
    assert result == ("handled", 7, "in", True)


def test_thrown_exception_without_handler_has_the_line_in_its_traceback():
    call = offset_of(handler, "CALL")
    thrown = KeyError("out")
    with pytest.raises(KeyError) as caught:
        core.enter(handler, call, slots(handler, x=7), call_stack(7), exc=thrown)
    assert caught.value is thrown
    entries = traceback.extract_tb(thrown.__traceback__)
    assert [e.name for e in entries][1:] == ["handler"]
    assert entries[-1].line == "return missing(x)"


def test_line_of_an_instruction_that_raises_at_the_end_of_its_line():
    def fn(x):
        try:
            y = 1
            raise x
        except KeyError as error:
            return error.__traceback__.tb_lineno, y

    first = fn.__code__.co_firstlineno
    at = offset_of(fn, "RAISE_VARARGS")
    thrown = KeyError()
    assert core.enter(fn, at, slots(fn, x=thrown, y=1), (thrown,), thrown) == (first + 3, 1)
    thrown = OSError("out")
    with pytest.raises(OSError, match="out") as caught:
        core.enter(fn, at, slots(fn, x=thrown, y=1), (thrown,), thrown)
    assert traceback.extract_tb(caught.value.__traceback__)[1].lineno == first + 3


def test_first_instruction_of_a_block_finds_the_blocks_handler():
    def fn(x):
        try:
            x.missing
        except KeyError:
            return "handled"

    for instruction in offsets_of(fn, "LOAD_FAST", "x") + offsets_of(fn, "LOAD_ATTR", "missing"):
        stack = () if instruction == offset_of(fn, "LOAD_FAST", "x") else (1,)
        assert core.enter(fn, instruction, (1,), stack, KeyError()) == "handled"


def test_earlier_traceback_and_context_stay():
    try:
        missing(1)
    except AssertionError as error:
        thrown = error
    context = thrown.__context__ = KeyError("context")
    call = offset_of(handler, "CALL")
    with pytest.raises(AssertionError) as caught:
        core.enter(handler, call, slots(handler, x=7), call_stack(7), thrown)
    assert caught.value.__context__ is context
    names = [e.name for e in traceback.extract_tb(thrown.__traceback__)]
    assert names[-3:] == ["handler", "test_earlier_traceback_and_context_stay", "missing"]


def in_body(log):
    try:
        raise KeyError("original")
    except KeyError:
        log.append(sys.exc_info()[1])
        log.append("body")
    log.append(sys.exc_info()[1])
    return log


def test_body_of_an_except_sees_the_exception():
    handled = KeyError("ours")
    at = line_offset(in_body, "log.append(sys")
    stack = (None,)
    assert core.enter(in_body, at, ([],), stack, None, handled) == [handled, "body", None]
    assert sys.exc_info()[1] is None


def test_exception_raised_in_such_a_body_gets_its_context():
    def fn():
        try:
            raise KeyError("original")
        except KeyError:
            raise TypeError("second")

    handled = KeyError("ours")
    with pytest.raises(TypeError) as caught:
        core.enter(fn, line_offset(fn, "raise TypeError"), (), (None,), handled=handled)
    assert caught.value.__context__ is handled
    assert sys.exc_info()[1] is None


def test_bare_raise_raises_the_handled_one():
    def fn():
        try:
            raise KeyError("original")
        except KeyError:
            raise

    handled = KeyError("ours")
    with pytest.raises(KeyError) as caught:
        core.enter(fn, offsets_of(fn, "RAISE_VARARGS", 0)[0], (), (None,), handled=handled)
    assert caught.value is handled


def test_exception_caught_by_a_variant_is_not_seen_in_the_frame_it_enters():
    def fn(log):
        try:
            missing(1)
        except ValueError as error:
            log.append(error.__context__)
        log.append(sys.exc_info()[1])
        return log

    def variant(function, log):
        try:
            raise ValueError("broke")
        except ValueError as exc:
            stack = call_stack(1)
            return core.enter(fn, offset_of(fn, "CALL"), slots(fn, log=log), stack, exc)

    point = core.Point("start", missing)
    point.add(variant)
    assert core.run_point(point, fn, []) == [None, None]
    outer = OSError()
    assert core.handling(outer, core.run_point, point, fn, []) == [outer, outer]


def test_handling_shows_an_exception_to_what_is_called():
    exc = ValueError("x")
    assert core.handling(exc, lambda a, b=1: (sys.exc_info()[1], a, b), 1, b=2) == (exc, 1, 2)
    assert sys.exc_info()[1] is None
    with pytest.raises(TypeError) as caught:
        core.handling(exc, int, "x", 1, 2)
    assert caught.value.__context__ is exc


def code_at(offset_name):
    return handler.__code__, offset_of(handler, offset_name)


def test_added_traceback_entry():
    exc = ValueError("x")
    code, offset = code_at("CALL")
    core.add_traceback(exc, code, globals(), offset)
    core.add_traceback(exc, nested.__code__, globals(), line_offset(nested, "return inner"))
    entries = traceback.extract_tb(exc.__traceback__)
    assert [(e.name, e.line) for e in entries] == [
        ("nested", "return inner()"),
        ("handler", "return missing(x)"),
    ]
    assert "nested" in "".join(traceback.format_exception(exc))
    inner = exc.__traceback__.tb_next
    assert inner.tb_lasti == offset == inner.tb_frame.f_lasti
    assert inner.tb_frame.f_lineno == inner.tb_lineno


def nested():
    value = 1

    def inner():
        return value

    return inner()


@pytest.mark.parametrize("fn", [nested, handler, inner_code(nested)])
def test_locals_of_an_added_frame_can_be_read(fn):
    code = getattr(fn, "__code__", fn)
    exc = ValueError("x")
    last = len(code.co_code) - 2
    core.add_traceback(exc, code, globals(), last)
    assert exc.__traceback__.tb_frame.f_locals == {}


def test_added_frame_with_locals():
    exc = ValueError("x")
    code, offset = code_at("CALL")
    core.add_traceback(exc, code, globals(), offset, slots(handler, x=5))
    assert exc.__traceback__.tb_frame.f_locals == {"x": 5}


def test_wrong_traceback_arguments_are_refused():
    with pytest.raises(TypeError):
        core.add_traceback(3, handler.__code__, {}, 0)
    with pytest.raises(ValueError, match="offset"):
        core.add_traceback(ValueError(), handler.__code__, {}, 100_000)
    with pytest.raises(TypeError):
        core.strip_traceback(3, handler.__code__)


def test_strip_removes_only_leading_entries():
    def variant():
        missing(1)

    def outer():
        try:
            variant()
        except AssertionError as exc:
            return exc

    exc = outer()
    core.strip_traceback(exc, variant.__code__)
    assert [e.name for e in traceback.extract_tb(exc.__traceback__)][0] == "outer"
    core.strip_traceback(exc, outer.__code__)
    assert [e.name for e in traceback.extract_tb(exc.__traceback__)] == ["variant", "missing"]
    core.strip_traceback(exc, variant.__code__)
    core.strip_traceback(exc, missing.__code__)
    assert exc.__traceback__ is None
    core.strip_traceback(exc, missing.__code__)
