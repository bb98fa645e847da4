"""enter() at each instruction that a program runs, with the state it has there.

A trace function reads the frame's slots and stack from its memory at each instruction (from 3.12
on at each line: only there the interpreter stores the stack), copies them, and lets enter() finish
the program from the copy. It has to end as the program itself ends.
"""

from __future__ import annotations

import copy
import ctypes
import dis
import sys
import types

import pytest
from core_under_test import core

FRAME_DATA = object.__basicsize__ + 8  # of a frame object: the pointer to the interpreter's frame
STACK_TOP = 64  # of that: an int, the number of slots in use; from 3.14 on, where they end
REFERENCES = sys.version_info >= (3, 14)  # slots are references with two bits of their own
SLOTS = 80 if REFERENCES else 72  # of that: the slots
UNBOUND = core.UNBOUND


class Manager:
    def __init__(self, log, swallow=False):
        self.log, self.swallow = log, swallow

    def __enter__(self):
        self.log.append("enter")
        return self

    def __exit__(self, kind, value, trace):
        self.log.append(kind and kind.__name__)
        return self.swallow


def loops(n):
    total, i = 0, 0
    for i in range(n):
        if i % 3 == 0:
            continue
        for j in [1, 2, i]:
            total += i * j
            if total > 40:
                break
        else:
            total -= 1
    while i:
        i -= 1
        total = total * 2 % 1001
    return total, [k * total for k in range(3)], {k: i for k in "ab"}


def tries(n):
    log = []
    for i in range(n):
        try:
            try:
                log.append(10 // (i - 1))
                if i == 3:
                    raise KeyError(i)
            except ZeroDivisionError as error:
                log.append(str(error))
                raise ValueError(i) from error
            finally:
                log.append(("finally", i, repr(sys.exc_info()[1])))
        except ValueError as error:
            log.append((repr(error), repr(error.__cause__), repr(error.__context__)))
        except KeyError:
            log.append(repr(sys.exc_info()[1]))
            return log
    return log


def managers(n):
    log = []
    for i in range(n):
        with Manager(log, True) as first, Manager(first.log):
            log.append(i)
            if i == 1:
                raise OSError(i)
            log.append("end")
    return log


def closures(a, *rest, b=3, **more):
    count = 0

    def add(k):
        nonlocal count
        count += k * a
        return count

    values = [add(k) for k in (*rest, b)]
    return values, count, sorted(more.items()), (lambda: (a, count))()


def calls(x):
    text = f"{x!r:>5}-{x:03d}"
    pair = (max(x, 2, key=lambda v: -v), "a,b".split(sep=","))
    first, *others = [*pair, *{"k": x}.items()]
    head = [1, 2, 3][x % 3 : 3] if x else None
    return text, first, others, head, not x, x < 5 < 9, x is None or -x


def matching(value):
    results = []
    for item in (value, [1, 2, 3], {"k": 4}, "s"):
        match item:
            case [first, *_]:
                results.append(first)
            case {"k": found}:
                results.append(found)
            case str():
                results.append("text")
            case _:
                results.append(None)
    del value
    assert results
    return results


def raising(n):
    for i in range(n):
        try:
            Manager(None).log.append(i)
        except AttributeError:
            raise LookupError(i)


PROGRAMS = [
    (loops, (7,), {}),
    (tries, (5,), {}),
    (managers, (3,), {}),
    (closures, (2, 5, 6), {"b": 7, "z": 1}),
    (calls, (4,), {}),
    (matching, (3,), {}),
    (raising, (3,), {}),
]


def outcome(fn, *args, **kwargs):
    try:
        return fn(*args, **kwargs)
    except Exception as error:
        return repr(error), repr(error.__context__)


# Exceptions too: a copy would lack traceback and context.
OTHERS = (types.TracebackType, type({}.items()), type(UNBOUND))
SHARED = (types.ModuleType, types.MethodDescriptorType, BaseException, *OTHERS)


def copied(state, memo):
    """A copy of everything in the state; functions are made anew around copied cells."""
    result = []
    for value in state:
        if isinstance(value, types.CellType):
            if id(value) not in memo:
                memo[id(value)] = types.CellType()
                for content in contents_of(value):
                    memo[id(value)].cell_contents = copied((content,), memo)[0]
            result.append(memo[id(value)])
        elif isinstance(value, types.FunctionType) and value.__closure__:
            closure = copied(value.__closure__, memo)
            made = types.FunctionType(value.__code__, value.__globals__, None, None, closure)
            result.append(memo.setdefault(id(value), made))
        elif isinstance(value, types.BuiltinFunctionType) and value.__self__ is not None:
            owner = copied((value.__self__,), memo)[0]
            result.append(getattr(owner, value.__name__))
        elif type(value) is tuple:
            result.append(copied(value, memo))
        elif isinstance(value, SHARED):
            result.append(value)
        else:
            result.append(copy.deepcopy(value, memo))
    return tuple(result)


def contents_of(cell):
    try:
        return [cell.cell_contents]
    except ValueError:
        return []


def read_state(frame):
    """(locals, stack) from the frame's memory."""
    data = ctypes.c_void_p.from_address(id(frame) + FRAME_DATA).value
    if REFERENCES:
        end = ctypes.c_void_p.from_address(data + STACK_TOP).value
        used = (end - data - SLOTS) // 8
    else:
        used = ctypes.c_int.from_address(data + STACK_TOP).value
    values = [read_slot(data + SLOTS + 8 * i) for i in range(used)]
    count = len(frame.f_code.co_varnames) + len(frame.f_code.co_freevars)
    count += len(set(frame.f_code.co_cellvars) - set(frame.f_code.co_varnames))
    return tuple(values[:count]), tuple(values[count:])


def read_slot(place):
    """One slot: an object, UNBOUND, or the int that the two lowest bits say it is."""
    bits = ctypes.c_size_t.from_address(place).value
    if REFERENCES and bits & 3 == 3:
        return bits >> 2
    bits &= ~3
    return ctypes.cast(bits, ctypes.py_object).value if bits else UNBOUND


def can_be_entered(code, offset):
    """Not between KW_NAMES and its CALL: those names are kept outside of the frame."""
    before = [i for i in dis.get_instructions(code) if i.offset < offset]
    names = [i.opname for i in before if i.opname != "CACHE"][-2:]
    return "KW_NAMES" not in names


@pytest.mark.parametrize(
    ("fn", "args", "kwargs"), PROGRAMS, ids=lambda p: getattr(p, "__name__", "")
)
def test_program_ends_the_same_from_everywhere(fn, args, kwargs):
    expected = outcome(fn, *args, **kwargs)
    by_instruction = sys.version_info < (3, 12)
    entered, wrong = set(), []

    def trace(frame, event, arg):
        if frame.f_code is not fn.__code__:
            return None
        frame.f_trace_opcodes = by_instruction
        wanted = "opcode" if by_instruction else "line"
        if event == wanted and can_be_entered(frame.f_code, frame.f_lasti):
            memo = {}
            state = read_state(frame)
            handled = sys.exc_info()[1]
            local, stack, (exc,) = (copied(part, memo) for part in (*state, (handled,)))
            found = outcome(core.enter, fn, frame.f_lasti, local, stack, None, exc)
            entered.add(frame.f_lasti)
            if found != expected:
                wrong.append((frame.f_lineno, frame.f_lasti, found))
        return trace

    sys.settrace(trace)
    try:
        traced = outcome(fn, *args, **kwargs)
    finally:
        sys.settrace(None)
    assert traced == expected
    assert wrong == []
    assert len(entered) >= (20 if by_instruction else 4)
