"""Each change of watched state is noticed, and what did not change the outcome is taken over."""

from __future__ import annotations

import types
from collections import OrderedDict, defaultdict

import pytest
from core_under_test import core

GuardProgram = core.GuardProgram


class Thing:
    shared = 1

    def __init__(self, **values):
        for name, value in values.items():
            setattr(self, name, value)


class Other(Thing):
    pass


class Slotted:
    __slots__ = ("a", "__weakref__")


def pinned(obj, *children, checks=()):
    """A program on an object that is held weakly, with nodes below it."""
    return GuardProgram((("slot", 0, (("weak", obj, 0), *checks), children),))


def settled(guards, *state):
    """The program after a first and a second check, which use what the first recorded."""
    assert guards.check(*state)
    assert guards.check(*state)
    return guards


A = object()
DICT_CHANGES = {
    "setattr": lambda o: setattr(o, "a", 2),
    "store": lambda o: o.__dict__.__setitem__("a", 2),
    "delattr": lambda o: delattr(o, "a"),
    "del": lambda o: o.__dict__.__delitem__("a"),
    "update": lambda o: o.__dict__.update(a=2),
    "pop": lambda o: o.__dict__.pop("a"),
    "popitem": lambda o: o.__dict__.popitem(),
    "clear": lambda o: o.__dict__.clear(),
    "ior": lambda o: o.__dict__.__ior__({"a": 2}),
    "replace": lambda o: setattr(o, "__dict__", {"a": 2}),
    "class": lambda o: setattr(o, "__class__", Other),
}


def store_attribute(o):
    o.a = 2


def store_attribute_often(o):
    for i in range(100):
        o.a = i


DICT_CHANGES["statement"] = store_attribute
DICT_CHANGES["specialised"] = store_attribute_often


@pytest.mark.parametrize("change", DICT_CHANGES)
@pytest.mark.parametrize("how", ["dict", "attr"])
@pytest.mark.parametrize("many", [False, True])
def test_changes_of_an_instance_are_noticed(change, how, many):
    if many:
        for i in range(50):  # lets the interpreter specialise on the shape of instances
            store_attribute_often(Thing(a=i))
    thing = Thing(b=0, a=A)
    child = ("item", "a", (("is", A, 1),), ())
    child = ("dict", None, (), (child,)) if how == "dict" else ("attr", *child[1:])
    guards = settled(pinned(thing, child, checks=(("type", Thing, 2),)), thing)
    DICT_CHANGES[change](thing)
    assert not guards.check(thing)
    assert not guards.check(thing)
    assert guards.failing(thing) is not None
    thing.__class__ = Thing
    thing.a = A
    assert guards.check(thing)
    assert guards.check(thing)


def test_added_keys_are_noticed():
    for add in (
        lambda d: d.setdefault("x", 1),
        lambda d: d.update(x=1),
        lambda d: d.__setitem__("x", 1),
        lambda d: d.__ior__({"x": 1}),
        lambda d: d.update([("x", 1)]),
    ):
        for make in (dict, OrderedDict, lambda **kw: defaultdict(int, **kw)):
            for check in (("len", 1, 1), ("keys", ("a",), 1), ("no_key", "x", 1)):
                thing = Thing(d=make(a=1))
                guards = pinned(thing, ("dict", None, (), (("item", "d", (check,), ()),)))
                settled(guards, thing)
                add(thing.d)
                assert not guards.check(thing)
                del thing.d["x"]
                assert guards.check(thing)
    thing = Thing(d=defaultdict(int))
    guards = pinned(thing, ("attr", "d", (("len", 0, 1),), ()))
    settled(guards, thing)
    assert thing.d["missing"] == 0
    assert not guards.check(thing)


def test_an_empty_dict_that_is_filled_at_once_is_noticed():
    thing = Thing(d={})
    guards = settled(pinned(thing, ("attr", "d", (("len", 0, 1),), ())), thing)
    thing.d.update({"a": 1, "b": 2})
    assert not guards.check(thing)


def test_unguarded_and_repeated_writes_are_taken_over():
    inner = Thing(x=1)
    thing = Thing(inner=inner, training=True, step=0)
    guards = pinned(
        thing,
        ("dict", None, (), (
            ("item", "training", (("is", True, 1),), ()),
            ("item", "inner", (), (("attr", "x", (("equals", 1, 2),), ()),)),
        )),
    )  # fmt: skip
    settled(guards, thing)
    for step in range(20):
        thing.step = step
        assert guards.check(thing)
        thing.training = True
        assert guards.check(thing)
        thing.training = False
        assert not guards.check(thing)
        thing.training = True
        assert guards.check(thing)
        inner.other = step
        assert guards.check(thing)
    inner.x = 2
    assert not guards.check(thing)
    inner.x = 1
    assert guards.check(thing)


def test_a_replaced_inner_object_is_walked_again():
    thing = Thing(inner=Thing(x=1))
    guards = pinned(thing, ("attr", "inner", (), (("attr", "x", (("equals", 1, 1),), ()),)))
    settled(guards, thing)
    for x in (1, 2, 1):
        thing.inner = Thing(x=x)
        assert guards.check(thing) == (x == 1)
        assert guards.check(thing) == (x == 1)
        thing.inner.x = 1
        assert guards.check(thing)
        thing.inner.x = 3
        assert not guards.check(thing)


def test_changes_of_classes_are_noticed():
    class Base:
        factor = A

    class Derived(Base):
        pass

    class Elsewhere:
        factor = A

    thing = Derived()
    for child in (
        ("attr", "factor", (("is", A, 1),), ()),
        ("type", None, (), (("mro_attr", "factor", (("is", A, 1),), ()),)),
        ("type", None, (), (("attr", "factor", (("is", A, 1),), ()),)),
    ):
        guards = settled(pinned(thing, child), thing)
        Base.factor = 2
        assert not guards.check(thing)
        Base.factor = A
        assert guards.check(thing)
        Derived.factor = 2
        assert not guards.check(thing)
        del Derived.factor
        assert guards.check(thing)
        Derived.__bases__ = (Elsewhere,)
        assert guards.check(thing)
        Elsewhere.factor = 3
        assert not guards.check(thing)
        Elsewhere.factor = A
        Derived.__bases__ = (Base,)
        assert guards.check(thing)
        for i in range(30):
            Base.unrelated = i
            assert guards.check(thing)
    guards = settled(pinned(thing, ("attr", "factor", (("is", A, 1),), ())), thing)
    thing.factor = 2
    assert not guards.check(thing)
    del thing.factor
    assert guards.check(thing)
    Base.factor = property(lambda self: A)
    assert guards.check(thing)
    Base.factor = property(lambda self: 2)
    assert not guards.check(thing)


def test_absent_attributes_are_noticed_when_they_come():
    class Bare:
        pass

    class WithFallback:
        def __getattr__(self, name):
            raise AttributeError(name)

    for make in (Bare, WithFallback):
        thing = make()
        guards = settled(pinned(thing, checks=(("no_attr", "late", 1),)), thing)
        thing.late = 1
        assert not guards.check(thing)
        del thing.late
        assert guards.check(thing)
        make.late = 1
        assert not guards.check(thing)
        del make.late
        assert guards.check(thing)
        make.__getattr__ = lambda self, name: 3
        assert not guards.check(thing)


def test_cells_functions_lists_slots_and_modules():
    cell = types.CellType(A)
    values = [A, 2]
    slotted = Slotted()
    slotted.a = A
    module = types.ModuleType("fresh")
    module.a = A

    def function(a=A, *, k=A):
        return cell

    code = function.__code__
    thing = Thing(c=cell, l=values, s=slotted, f=function, m=module, fresh=[])
    is_a = (("is", A, 1),)
    children = {
        "c": ("cell", None, is_a, ()),
        "l": ("index", 0, is_a, ()),
        "s": ("attr", "a", is_a, ()),
        "m": ("attr", "a", is_a, ()),
    }
    parts = (
        ("default", 0, is_a, ()),
        ("kwdefault", "k", is_a, ()),
        ("code", None, (("is", code, 1),), ()),
        ("closure", 0, (), (("cell", None, (("is", cell, 1),), ()),)),
    )
    nodes = [("attr", name, (), (child,)) for name, child in children.items()]
    nodes += [("attr", "f", (), parts), ("attr", "fresh", (("len", 0, 1),), ())]
    guards = settled(pinned(thing, *nodes), thing)

    def undone(change, undo):
        change()
        assert not guards.check(thing)
        assert not guards.check(thing)
        undo()
        assert guards.check(thing)
        assert guards.check(thing)

    undone(lambda: setattr(cell, "cell_contents", 2), lambda: setattr(cell, "cell_contents", A))
    undone(lambda: delattr(cell, "cell_contents"), lambda: setattr(cell, "cell_contents", A))
    undone(lambda: values.__setitem__(0, 2), lambda: values.__setitem__(0, A))
    undone(values.reverse, values.reverse)
    undone(values.clear, lambda: values.extend([A, 2]))
    undone(lambda: values.insert(0, 3), lambda: values.pop(0))
    undone(lambda: thing.fresh.append(1), thing.fresh.clear)
    undone(lambda: setattr(slotted, "a", 2), lambda: setattr(slotted, "a", A))
    undone(lambda: delattr(slotted, "a"), lambda: setattr(slotted, "a", A))
    undone(lambda: setattr(module, "a", 2), lambda: setattr(module, "a", A))
    undone(
        lambda: setattr(function, "__defaults__", (2,)),
        lambda: setattr(function, "__defaults__", (A,)),
    )
    undone(
        lambda: setattr(function, "__defaults__", None),
        lambda: setattr(function, "__defaults__", (A,)),
    )
    undone(lambda: function.__kwdefaults__.update(k=2), lambda: function.__kwdefaults__.update(k=A))
    undone(
        lambda: setattr(function, "__kwdefaults__", None),
        lambda: setattr(function, "__kwdefaults__", {"k": A}),
    )
    undone(
        lambda: setattr(function, "__code__", code.replace(co_name="other")),
        lambda: setattr(function, "__code__", code),
    )
    values.append(1)
    values.pop()
    assert guards.check(thing)


def test_globals_are_a_constant_root():
    space = {"a": A, "unrelated": 0}
    guards = settled(GuardProgram((("const", space, (), (("item", "a", (("is", A, 1),), ()),)),)))
    for i in range(10):
        space["unrelated"] = i
        assert guards.check()
    space["a"] = 1
    assert not guards.check()
    space["a"] = A
    assert guards.check()
    space.clear()
    assert not guards.check()


def test_what_runs_python_is_looked_at_each_time():
    class Computed:
        answer = 1

        @property
        def value(self):
            return type(self).answer

        def __len__(self):
            return type(self).answer

    thing = Thing(c=Computed())
    guards = pinned(
        thing,
        ("attr", "c", (("len", 1, 1), ("truth", lambda c: c.answer == 1, 2)), (
            ("attr", "value", (("equals", 1, 3),), ()),
            ("call", lambda c: c.answer, (("equals", 1, 4),), ()),
        )),
    )  # fmt: skip
    settled(guards, thing)
    Computed.answer = 2
    assert guards.failing(thing) == 1
    assert not guards.check(thing)
    Computed.answer = 1
    assert guards.check(thing)
