"""Guard programs come and go: death of what they hold, re-entry, errors, memory, threads."""

from __future__ import annotations

import gc
import sys
import threading
import weakref

import pytest
from core_under_test import core

GuardProgram = core.GuardProgram
OPS_LT = core.EXPR_OPS["lt"]


class Thing:
    def __init__(self, **values):
        for name, value in values.items():
            setattr(self, name, value)


def pinned(obj, *children, checks=()):
    """A program on an object that is held weakly, with nodes below it."""
    return GuardProgram((("slot", 0, (("weak", obj, 0), *checks), children),))


def settled(guards, *state):
    """The program after a first and a second check, which use what the first recorded."""
    assert guards.check(*state)
    assert guards.check(*state)
    return guards


def test_a_program_does_not_keep_its_object_alive():
    class Node:
        pass

    root = Node()
    root.child = Node()
    root.child.parent = root
    root.child.data = {"a": [1]}
    inner = ("attr", "data", (), (("item", "a", (("len", 1, 1),), ()),))
    guards = pinned(root, ("attr", "child", (), (inner,)))
    constant = GuardProgram((("const", root, (("weak", root, 0),), (("attr", "child", (), ()),)),))
    settled(guards, root)
    settled(constant)
    gone = weakref.ref(root), weakref.ref(root.child)
    del root
    gc.collect()
    assert gone[0]() is None
    assert gone[1]() is None
    assert guards.dead
    assert constant.dead
    assert guards.nodes == 0
    assert not guards.check(Node())
    assert guards.failing(Node()) == -1
    assert "gone" in guards.explain(Node())[1]


def test_programs_in_cycles_are_collected():
    def make():
        thing = Thing()
        guards = pinned(thing, checks=(("truth", lambda value, thing=thing: True, 0),))
        thing.guards = guards
        assert guards.check(thing)
        return weakref.ref(guards), weakref.ref(thing)

    references = [make() for _ in range(10)]
    gc.collect()
    assert all(ref() is None for pair in references for ref in pair)


def test_a_program_dropped_by_its_own_check():
    holder = []

    def drop(value):
        holder.clear()
        gc.collect()
        return True

    thing = Thing(a=1)
    holder.append(pinned(thing, ("attr", "a", (("truth", drop, 0), ("equals", 1, 1)), ())))
    check = holder[0].check
    assert check(thing)
    assert not holder


def test_an_object_that_dies_during_the_check():
    holder = {}

    class Dying:
        def __init__(self):
            self.b = object()

        @property
        def value(self):
            holder.clear()
            return 1

    thing = Dying()
    holder["thing"] = thing.inner = Thing(x=Dying())
    guards = GuardProgram(
        (
            ("slot", 0, (("weak", thing.inner, 0),), ()),
            ("slot", 1, (), (("attr", "value", (), ()), ("attr", "b", (), ()))),
        )
    )
    inner = thing.inner
    assert guards.check(inner, thing)
    inner = thing.inner = None
    holder["thing"] = Thing()
    dying = Thing(x=1)
    holder["dying"] = dying
    guards = GuardProgram(
        (
            ("const", dying, (("weak", dying, 0),), (("attr", "x", (), ()),)),
            ("slot", 0, (), (("attr", "value", (), ()),)),
            ("const", {}, (("len", 0, 1),), ()),
        )
    )
    del dying
    assert not guards.check(thing)
    assert guards.dead


def test_state_changed_by_the_check_itself():
    thing = Thing(inner=Thing(x=1), spare=[])

    def replace(value):
        thing.__dict__["inner"] = Thing(x=1)
        thing.__dict__ = dict(thing.__dict__)
        return True

    guards = pinned(
        thing,
        ("attr", "inner", (("truth", replace, 0),), (("attr", "x", (("equals", 1, 1),), ()),)),
        ("attr", "spare", (("truth", replace, 0), ("len", 0, 2)), ()),
    )
    for _ in range(50):
        assert guards.check(thing)
    thing.inner.x = 2
    assert not GuardProgram(
        (("slot", 0, (("weak", thing),), (("attr", "inner", (), (
            ("attr", "x", (("equals", 1),), ()),)),)),)
    ).check(thing)  # fmt: skip


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, MemoryError, RecursionError])
def test_grave_errors_are_passed_on(error):
    def fail(value):
        raise error

    class Broken:
        @property
        def value(self):
            raise error

    for guards in (
        GuardProgram((("slot", 0, (("truth", fail, 0),), ()),)),
        GuardProgram((("slot", 0, (), (("attr", "value", (), ()),)),)),
        GuardProgram((("slot", 0, (), (("call", fail, (), ()),)),)),
    ):
        with pytest.raises(error):
            guards.check(Broken())
        with pytest.raises(error):
            guards.failing(Broken())


def test_other_errors_mean_failing():
    def fail(value):
        raise ValueError

    class Hostile:
        def __eq__(self, other):
            raise ValueError

        __hash__ = object.__hash__

        def __getattr__(self, name):
            raise ZeroDivisionError

        def __len__(self):
            raise OSError

        def __repr__(self):
            raise OSError

    hostile = Hostile()
    for check in (("truth", fail), ("len", 1), ("no_attr", "a"), ("equals", 1), ("is", 3)):
        for root in (("slot", 0), ("const", hostile)):
            guards = GuardProgram(((*root, ((*check, 1),), ()),))
            assert not guards.check(hostile)
            assert guards.explain(hostile)[0] == 1


def test_many_programs_on_one_dict():
    space = {str(i): i for i in range(50)}
    programs = [
        GuardProgram((("const", space, (), (("item", str(i), (("equals", i, 0),), ()),)),))
        for i in range(50)
    ]
    assert all(p.check() for p in programs)
    space["7"] = "other"
    assert [p.check() for p in programs].count(False) == 1
    del programs[::2]
    gc.collect()
    space["7"] = 7
    assert all(p.check() for p in programs)
    space["9"] = 0
    assert [p.check() for p in programs].count(False) == 1


def test_memory_stays_level():
    def turn():
        thing = Thing(inner=Thing(x=1), values=[1, 2], table={"k": (1, 2)})
        guards = GuardProgram(
            (
                ("slot", 0, (("weak", thing, 0),), (
                    ("attr", "inner", (), (("attr", "x", (("equals", 1, 1),), (), 5),)),
                    ("attr", "values", (("len", 2, 1),), (("index", 0, (), (), 6),)),
                    ("attr", "table", (), (("item", "k", (("equals", (1, 2), 2),), ()),)),
                )),
                ("slot", 1, (("int",),), (), 7),
            ),
            distinct=(((5, 7), 3),),
            exprs=((4, ((7, "int", None),), (1, 0, 0, 9, OPS_LT)),),
            torch_state=((sys.getrecursionlimit, sys.getrecursionlimit(), 1),),
        )  # fmt: skip
        for value in (3, 4):
            assert guards.check(thing, value), guards.explain(thing, value)
            assert guards.explain(thing, 10)[0] == 4
        thing.inner = Thing(x=1)
        assert guards.check(thing, 3)
        thing.inner = Thing(x=2)
        assert not guards.check(thing, 3)
        with pytest.raises(ValueError, match="unknown check"):
            GuardProgram((("slot", 0, (("weak", thing), ("len", 3), ("wrong",)), ()),))

    for _ in range(20):
        turn()
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(300):
        turn()
    gc.collect()
    assert sys.getallocatedblocks() - before < 100


def test_threads_change_and_check():
    thing = Thing(inner=Thing(x=1), n=0)
    guards = pinned(
        thing,
        ("attr", "inner", (), (("attr", "x", (("truth", lambda x: x == 1, 1),), ()),)),
    )
    stop = threading.Event()
    seen = []

    def check():
        while not stop.is_set():
            seen.append(guards.check(thing))

    threads = [threading.Thread(target=check) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(2000):
        thing.inner = Thing(x=1)
        thing.n = i
        thing.__dict__ = dict(thing.__dict__)
    stop.set()
    for thread in threads:
        thread.join()
    assert all(seen)
    assert seen


def test_sizes_for_reports():
    thing = Thing(a=1, table={})
    guards = pinned(thing, ("attr", "a", (), ()), ("attr", "table", (("len", 0),), ()))
    assert guards.nodes == 3
    assert guards.tensors == 0
    assert guards.watched == 0
    assert guards.check(thing)
    assert guards.watched == 2


def test_a_dict_that_others_hold_is_watched_if_it_had_a_table_of_its_own_before():
    thing = Thing(a=1)
    vars(thing)
    assert core.own_table(thing)
    held = vars(thing)
    guards = pinned(thing, ("dict", None, (), (("item", "a", (("is", 1, 0),), ()),)))
    settled(guards, thing)
    assert guards.watched == 1
    thing.b = 2
    assert guards.check(thing)
    thing.a = 2
    assert not guards.check(thing)
    assert held == {"a": 2, "b": 2} and list(held) == ["a", "b"]
