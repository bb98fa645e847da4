"""Loops whose iterator has two slots on the stack, as on Python 3.15.

Before 3.15 the decoded instructions are given the second slot, where they have one. Whatever is
traced then keeps it, across breaks too; only CPython itself cannot be sent into the midst of such a
loop, so no program here ends in the interpreter while it is inside of one.
"""

from __future__ import annotations

import sys

import pytest
import torch

import suture
from suture.bytecode import CANONICAL, Handler, Instruction, code
from tests.harness import check

DEEP = ("LIST_APPEND", "SET_ADD", "MAP_ADD", "LIST_EXTEND", "SET_UPDATE", "DICT_UPDATE")
MAKE = ("GET_ITER", "GET_YIELD_FROM_ITER")
USE = ("FOR_ITER", "SEND", "END_SEND", "CLEANUP_THROW")


def makes(instructions, inst):
    """Whether the instruction pushes the iterator of a loop; a comprehension that is a function of
    its own is called with it."""
    if inst.op.startswith("LOAD_FAST"):
        return instructions[inst.index + 1].op == "FOR_ITER"
    return inst.op in MAKE and instructions[inst.index + 1].op != "CALL"


def tags(instructions):
    """For each instruction the stack on entry: True where an iterator is. None: not reachable."""
    found = [None] * len(instructions)
    work = [(0, ())] if instructions else []
    while work:
        index, stack = work.pop()
        if found[index] is not None:
            continue
        found[index] = stack
        inst = instructions[index]
        effect = CANONICAL[inst.op]
        if (handler := inst.handler) is not None:
            pushed = (False,) * (handler.lasti + 1)
            work.append((handler.target, stack[: handler.depth] + pushed))
        if effect.jumps and inst.target is not None:
            pops, pushes = effect.counts_taken(inst)
            work.append((inst.target, stack[: len(stack) - pops] + (False,) * pushes))
        if effect.falls:
            work.append((index + 1, behind(instructions, inst, stack)))
    return found


def behind(instructions, inst, stack):
    pops, pushes = CANONICAL[inst.op].counts(inst)
    kept = stack[: len(stack) - pops]
    if inst.op == "SWAP" and inst.val > 1:
        return (*kept, stack[-1], *stack[1 - inst.val : -1], stack[-inst.val])
    if inst.op == "COPY":
        return (*stack, stack[-inst.val])
    return kept + (makes(instructions, inst),) * pushes


def made(inst, op=None, val=None, first=True):
    """A copy of an instruction, with another meaning."""
    arg = inst.arg if val is None else val
    new = Instruction(
        op or inst.op,
        arg,
        inst.val if val is None else val,
        0,
        inst.offset,
        inst.lasti,
        inst.next_offset,
        inst.target,
        inst.boundary and first,
    )
    new.handler = inst.handler
    new.ends = inst.ends
    return new


def wide(instructions, inst, stack):
    """The instruction where iterators have two slots: one or two."""
    if stack is None:
        return [made(inst)]
    if makes(instructions, inst):
        first, second = made(inst), made(inst, "PUSH_NULL", 0, False)
        first.ends = False
        return [first, second]
    if inst.op in USE:
        return [made(inst, val=1)]
    if inst.op == "POP_TOP" and stack[-1]:
        return [made(inst), made(inst, first=False)]
    if inst.op in ("SWAP", "COPY"):
        return [made(inst, val=inst.val + sum(stack[-inst.val :]))]
    if inst.op in DEEP:
        pops = CANONICAL[inst.op].counts(inst)[0]
        return [made(inst, val=inst.val + sum(stack[-inst.val - pops :]))]
    return [made(inst)]


def widen(decoded):
    """Give every iterator of a decoded code its second slot."""
    old = decoded.instructions
    stacks = tags(old)
    new, places = [], []
    for inst, stack in zip(old, stacks):
        places.append(len(new))
        new += wide(old, inst, stack)
    for index, inst in enumerate(new):
        inst.index = index
        if inst.target is not None:
            inst.target = places[inst.target]
    for inst, stack, place in zip(old, stacks, places):
        if (handler := inst.handler) is not None:
            depth = handler.depth + sum((stack or ())[: handler.depth])
            for each in new[place : place + len(wide(old, inst, stack))]:
                each.handler = Handler(places[handler.target], depth, handler.lasti)
    decoded.instructions = tuple(new)
    decoded._starts = {offset: places[index] for offset, index in decoded._starts.items()}


@pytest.fixture(autouse=True)
def two_slots(monkeypatch):
    def forget():
        suture.reset()
        code._known.clear()
        code._recent.clear()

    forget()
    if sys.version_info < (3, 15):
        plain = code.Code.__init__

        def init(self, source):
            plain(self, source)
            widen(self)

        monkeypatch.setattr(code.Code, "__init__", init)
    yield
    monkeypatch.undo()
    forget()


def test_the_second_slot_is_there():
    def fn(xs):
        for x in xs:
            if x:
                return x

    decoded = code.decode(fn.__code__)
    ops = [inst.op for inst in decoded.instructions]
    loop = ops.index("FOR_ITER")
    assert ops[loop - 2 : loop] == ["GET_ITER", "PUSH_NULL"]
    assert decoded.depth(loop) == 2 and decoded.instructions[loop].val == 1
    assert decoded.depth(decoded.instructions[loop].target) == 0


def test_loop_runs_to_its_end():
    def fn(x, n):
        for i in range(n):
            for y in (x, x + 1):
                x = x + i * y
        else:
            x = x - 1
        return x

    check(fn, torch.ones(3), 4)


def test_loop_is_left_by_break_continue_and_return():
    def fn(x, names):
        for name in names:
            if name == "skip":
                continue
            for i in [1, 2, 3]:
                if i == 2:
                    break
                x = x + i
            if name == "stop":
                return x * 2
        return x

    check(fn, torch.ones(3), ["a", "skip", "b"])
    check(fn, torch.ones(3), ["a", "stop", "b"])


def test_comprehensions():
    def fn(x):
        doubled = [[x * i * j for j in (1, 2) if j] for i in range(3)]
        kinds = {i: {y.shape for y in row} for i, row in enumerate(doubled)}
        return doubled, kinds, sum(y.sum() for row in doubled for y in row)

    check(fn, torch.ones(3))


def test_exceptions_in_loops():
    def fn(x):
        done = 0
        for i in range(3):
            try:
                for j in (1, 2):
                    try:
                        if i == j:
                            raise KeyError(i)
                        x = x + j
                    finally:
                        done += 1
            except KeyError as error:
                x = x * (error.args[0] + 10)
        return x, done

    check(fn, torch.ones(3))


def test_with_in_a_loop_and_a_loop_in_with():
    def fn(x):
        for _ in range(2):
            with torch.no_grad():
                for i in (1, 2):
                    x = x + i
                    if i == 2:
                        break
        return x

    check(fn, torch.ones(3))


def test_break_inside_of_nested_loops():
    def fn(x, names):
        for name in names:
            for i in (1, 2):
                x = x + i
                print(name, i)
                x = x * 2
        return x

    check(fn, torch.ones(3), ["a", "b"], graphs=None, breaks=None, recompiles=None)


class Noisy:
    """An iterator of the program that prints, which breaks in the midst of FOR_ITER."""

    def __init__(self, n):
        self.n = n

    def __iter__(self):
        print("iter")
        return self

    def __next__(self):
        print("next", self.n)
        if self.n == 0:
            raise StopIteration
        self.n -= 1
        return self.n


def test_break_inside_of_iter_and_next():
    def fn(x):
        for i in Noisy(2):
            x = x + i
        return x * 2

    check(fn, torch.ones(3), graphs=None, breaks=None, recompiles=None)


def turns(x, log):
    try:
        for i in (1, 2):
            got = yield x * i
            if got is not None:
                log.append(got)
    except KeyError:
        log.append("caught")
        yield x - 1
    finally:
        log.append("finally")
    return x + 100


def delegating(x, log):
    result = yield from turns(x, log)
    yield result
    yield from [x, x + 1]


def test_yield_from_generators_and_lists():
    def fn(x):
        log = []
        return list(delegating(x, log)), log

    check(fn, torch.ones(3))


def test_sending_through_yield_from():
    def fn(x):
        log = []
        gen = delegating(x, log)
        first = next(gen)
        second = gen.send("sent")
        third = next(gen)
        gen.close()
        return first, second, third, log

    check(fn, torch.ones(3))


def test_throwing_through_yield_from():
    def fn(x):
        log = []
        gen = delegating(x, log)
        first = next(gen)
        second = gen.throw(KeyError())
        rest = list(gen)
        return first, second, rest, log

    check(fn, torch.ones(3))


def test_closing_in_the_midst_of_yield_from():
    def fn(x):
        log = []
        gen = delegating(x, log)
        first = next(gen)
        gen.close()
        return first, log

    check(fn, torch.ones(3))


def test_stop_iteration_that_is_thrown_in_ends_yield_from():
    def inner(x):
        try:
            got = yield from [x, x + 1]
        except StopIteration as stop:  # before Python 3.12
            got = stop.value
        yield x * got

    def fn(x):
        gen = inner(x)
        first = next(gen)
        return first, gen.throw(StopIteration(7))

    check(fn, torch.ones(3), graphs=None, breaks=None, recompiles=None, interpreted=None)
