"""Liveness, against its definition: a slot is live where some path reads it before writing it."""

# ruff: noqa: F821

from suture.bytecode import CANONICAL, decode
from suture.bytecode.flow import successors
from suture.bytecode.liveness import READS, WRITES
from tests.bytecode.corpus import programs


def reaches_a_read(decoded, index, slot):
    """The definition, by walking every path."""
    seen, work = set(), [index]
    while work:
        index = work.pop()
        if index in seen:
            continue
        seen.add(index)
        inst = decoded.instructions[index]
        if inst.op in READS and inst.val == slot:
            return True
        if inst.handler and CANONICAL[inst.op].raises:
            work.append(inst.handler.target)
        if not (inst.op in WRITES and inst.val == slot):
            work += successors(inst)
    return False


def test_plain_locals_are_live_by_the_definition():
    checked = 0
    for sample in programs():
        code, decoded = sample.code, sample.decoded
        if len(decoded.instructions) > 400:
            continue
        kept = set(decoded.cells + decoded.frees)
        if "super" in code.co_names:
            kept.add(0)
        for inst in decoded.instructions:
            live = decoded.live(inst.index)
            assert list(live) == sorted(live)
            for slot in set(range(len(decoded.localsplus))) - kept:
                expected = reaches_a_read(decoded, inst.index, slot)
                assert (slot in live) == expected, (sample, inst, decoded.localsplus[slot])
                checked += 1
    assert checked > 1000


def live_at(function, name):
    """The names live where the global ``name`` is loaded."""
    decoded = decode(function.__code__)
    for inst in decoded.instructions:
        if inst.op == "LOAD_GLOBAL" and inst.val == name:
            return {decoded.localsplus[slot] for slot in decoded.live(inst.index)}
    raise AssertionError(name)


def test_what_is_not_needed_any_more_is_dead():
    def f(a, b, c):
        here(a)
        b = c
        there(b)

    assert live_at(f, "here") == {"a", "c"}
    assert live_at(f, "there") == {"b"}


def test_a_loop_keeps_what_its_next_turn_reads():
    def f(xs, a, b):
        for x in xs:
            here(x, a)
            a = b
        return 1

    assert live_at(f, "here") == {"x", "a", "b"}


def test_a_handler_keeps_what_it_reads():
    def f(a, b):
        try:
            here()
            b = 1
        except OSError:
            return b
        return a

    assert live_at(f, "here") == {"a", "b"}


def test_deleting_is_reading():
    def f(a):
        here()
        del a

    assert live_at(f, "here") == {"a"}


def test_cells_and_free_variables_in_use_stay():
    x = 1

    def f(a, b):
        def g():
            return a, x

        here(g)
        return 1

    assert live_at(f, "here") == {"a", "g", "x"}
    decoded = decode(f.__code__)
    assert {decoded.localsplus[s] for s in decoded.live(0)} == {"a"}


def test_super_finds_its_self():
    class A:
        def f(self):
            here()
            return super().f()

    assert live_at(A.f, "here") == {"self", "__class__"}


def test_locals_sees_everything():
    def f(a, b):
        here()
        return locals()

    assert live_at(f, "here") == {"a", "b"}


def test_a_method_named_like_a_builtin_does_not():
    def f(model, b):
        here()
        return model.eval()

    assert live_at(f, "here") == {"model"}
