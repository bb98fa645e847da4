"""Control flow: stack depths, exceptions being handled, loops."""

# ruff: noqa: F821

import dis
import sys

from suture.bytecode import CANONICAL, decode
from suture.bytecode.flow import successors
from tests.bytecode.corpus import corpus, program, programs

ENDING = {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD",
          "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"}  # fmt: skip


def edges(original, following, depth):
    """Where CPython goes on behind one original instruction, and how deep its stack is then."""
    arg = original.arg
    if original.opname == "RETURN_GENERATOR":  # what is sent is pushed, whatever dis says of it
        return [(following, depth + 1)]
    found = []
    jumps = original.opcode in dis.hasjrel or original.opcode in dis.hasjabs
    if jumps and original.opname != "END_ASYNC_FOR":  # whose argument names the loop's beginning
        effect = dis.stack_effect(original.opcode, arg, jump=True)
        found.append((original.argval, depth + effect))
    if original.opname not in ENDING:
        found.append((following, depth + dis.stack_effect(original.opcode, arg, jump=False)))
    return found


def depths_by_dis(sample):
    """The stack depth at each reachable offset, from nothing but dis."""
    at = sample.originals
    following = dict(zip(at, list(at)[1:]))
    depths, work = {}, [(0, 0)]
    while work:
        offset, depth = work.pop()
        if offset in depths:
            assert depths[offset] == depth
            continue
        depths[offset] = depth
        work += edges(at[offset], following.get(offset), depth)
        if at[offset].opname == "NOP":  # dropped, and it cannot raise
            continue
        work += [
            (e.target, e.depth + e.lasti + 1) for e in sample.entries if e.start <= offset < e.end
        ]
    return depths


def test_depths_are_those_of_dis():
    """At every offset where a frame can be entered; and what dis reaches, we reach."""
    for sample in corpus():
        decoded = sample.decoded
        expected = depths_by_dis(sample)
        for inst in decoded.instructions:
            depth = decoded.depth(inst.index)
            if not inst.boundary:
                continue
            by_dis = expected.get(inst.offset)
            if depth is None:
                assert by_dis is None or clears_a_loop(sample, inst.lasti), (sample, inst)
            else:
                assert depth == by_dis <= sample.code.co_stacksize, (sample, inst)


def clears_a_loop(sample, offset):
    """POP_TOP (3.13) or POP_ITER behind END_FOR: the canonical FOR_ITER jumps behind it."""
    at = sample.originals
    clearing = at[offset].opname in ("POP_TOP", "POP_ITER")
    return clearing and at[offset - 2].opname == "END_FOR"


def test_depths_agree_where_paths_meet():
    for sample in corpus():
        decoded = sample.decoded
        for inst in decoded.instructions:
            depth = decoded.depth(inst.index)
            if depth is None:
                continue
            effect = CANONICAL[inst.op]
            if effect.falls:
                pops, pushes = effect.counts(inst)
                assert pops <= depth
                assert decoded.depth(inst.index + 1) == depth - pops + pushes, (sample, inst)
            if effect.jumps:
                pops, pushes = effect.counts_taken(inst)
                assert decoded.depth(inst.target) == depth - pops + pushes, (sample, inst)
            if inst.handler:
                # 3.15 covers the end of a generator expression too, which cannot raise.
                quiet = sys.version_info >= (3, 15) and not effect.raises
                assert inst.handler.depth <= depth or quiet
                entered = inst.handler.depth + inst.handler.lasti + 1
                assert decoded.depth(inst.handler.target) == entered


def test_jumps_have_targets_and_others_have_none():
    for sample in programs():
        for inst in sample.decoded.instructions:
            assert CANONICAL[inst.op].jumps == (inst.target is not None)
            assert CANONICAL[inst.op].doc


def test_exceptions_being_handled_agree_where_paths_meet():
    for sample in corpus():
        decoded = sample.decoded
        for inst in decoded.instructions:
            if decoded.depth(inst.index) is None:
                continue
            here = decoded.handled(inst.index)
            change = {"PUSH_EXC_INFO": 1, "POP_EXCEPT": -1}.get(inst.op, 0)
            assert here + change >= 0
            for index in successors(inst):
                assert decoded.handled(index) == here + change, (sample, inst)
            for handling in decoded.handling(inst.index):
                assert 0 <= handling.previous < decoded.depth(inst.index)


def named(code, name):
    """The first instruction that loads the global ``name`` (compilers copy short blocks)."""
    inst, *_ = [i for i in decode(code).instructions if i.op == "LOAD_GLOBAL" and i.val == name]
    return inst.index


def test_the_body_of_an_except_knows_what_is_handled():
    def f(x):
        try:
            before()
        except matched() as e:
            try:
                inside(e)
            except second:
                deep()
                return last(), e
        after()

    decoded = decode(f.__code__)

    def at(name):
        return [(h.previous, h.current) for h in decoded.handling(named(f.__code__, name))]

    null_first = decoded.instructions[named(f.__code__, "before")].boundary is False
    assert decoded.depth(named(f.__code__, "before")) == int(null_first)
    assert at("before") == at("after") == []
    assert at("matched") == [(0, 1)]
    assert at("inside") == [(0, None)]
    assert at("second") == [(0, None), (1, 2)]
    assert at("deep") == [(0, None), (1, None)]
    assert at("last") == [(0, None), (1, None)]


def test_the_previous_exception_is_followed_through_swaps():
    def f(x):
        try:
            return x()
        except OSError:
            return x(1)

    decoded = decode(f.__code__)
    places = [
        (decoded.depth(i.index), decoded.handling(i.index)[-1].previous)
        for i in decoded.instructions
        if i.op == "POP_EXCEPT" and decoded.handled(i.index)
    ]
    assert (2, 1) in places  # the result below, the exception to put back on top


def test_loops_are_found():
    def f(xs, n):
        start()
        for x in xs:
            inside()
            while n:
                innermost()
            if x:
                leaving()
                return x
        after()

    decoded = decode(f.__code__)
    looping = {n: decoded.in_loop(named(f.__code__, n)) for n in f.__code__.co_names}
    assert looping == {"start": False, "inside": True, "innermost": True, "leaving": False,
                       "after": False}  # fmt: skip


def test_a_handler_can_close_a_loop():
    def f(xs):
        while True:
            try:
                return inside()
            except OSError:
                retry()

    decoded = decode(f.__code__)
    assert decoded.in_loop(named(f.__code__, "inside"))
    assert decoded.in_loop(named(f.__code__, "retry"))


def test_waiting_is_no_loop():
    async def f(x):
        return await x

    decoded = decode(f.__code__)
    assert decoded.is_generator
    assert not any(decoded.in_loop(i.index) for i in decoded.instructions)
    looping = decode(program("coroutines", "g"))
    assert any(looping.in_loop(i.index) for i in looping.instructions)


def test_what_lies_past_jumps():
    """A place that nothing but a jump is at is the place it leads to, in a loop without end too."""

    def fn(xs, y):
        for x in xs:
            if x:
                if y:
                    continue
                y = x
        while True:
            pass

    code = decode(fn.__code__)
    instructions = code.instructions
    jumps = [inst for inst in instructions if inst.op == "JUMP"]
    assert jumps
    for inst in instructions:
        past = code.past_jumps(inst.index)
        if inst.op != "JUMP":
            assert past == inst.index
        else:
            assert past == code.past_jumps(inst.target)
    assert code.past_jumps(len(instructions)) == len(instructions)
