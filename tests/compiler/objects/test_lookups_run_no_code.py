"""Finding out what an object holds runs no code of the program."""

import types

import torch

import suture
from tests.harness import check


class Asked:
    """Says what it was asked for."""

    seen: list[str] = []
    __slots__ = ("size", "unset")

    def __init__(self):
        object.__setattr__(self, "size", 3)

    def __getattribute__(self, name):
        Asked.seen.append(name)
        return object.__getattribute__(self, name)


def count(asked, turns):
    total = 0
    for turn in range(turns):
        total += asked.size + turn
    return total, asked.__class__.__name__


def test_slots_are_read_without_the_class():
    told = []
    for run in (count, suture.compile(count, backend="eager")):
        for turns in (3, 4, 900):
            Asked.seen.clear()
            told.append((run(Asked(), turns), list(Asked.seen)))
    assert told[:3] == told[3:]


class OddModule(types.ModuleType):
    __dict__ = 8


def test_a_module_whose_dict_is_no_dict():
    def fn(module, x):
        return x.sin(), module.__dict__

    check(fn, OddModule("odd"), torch.ones(2), graphs=None, breaks=None, make=None)


class OddMeta(type):
    def __getattribute__(cls, name):
        return True


def test_a_metaclass_that_says_the_same_to_everything():
    def fn(x):
        y = x.sin()

        class Odd(metaclass=OddMeta):
            pass

        return y.cos(), Odd.anything

    check(fn, torch.ones(2), graphs=None, breaks=None, recompiles=None)


class Evil:
    """A key that changes the class where it is compared."""

    def __init__(self, owner, log):
        self.owner, self.log = owner, log

    def __hash__(self):
        return hash("attr")

    def __eq__(self, other):
        self.log.append(other)
        if "attr" in vars(self.owner):
            del self.owner.attr
        return False


class Shown:
    def __get__(self, obj, owner):
        return 1


def test_a_key_of_an_instance_that_is_no_text():
    def make():
        owner = type("Owner", (), {"attr": Shown()})
        made = owner()
        made.__dict__[Evil(owner, [])] = 0
        return made

    def fn(made, x):
        y = x.sin()
        first = made.attr
        return y + first, getattr(made, "attr", "gone")

    x = torch.ones(2)
    eager, ours = fn(make(), x), suture.compile(fn, backend="eager")(make(), x)
    torch.testing.assert_close(ours[0], eager[0])
    assert ours[1] == eager[1]


def test_a_descriptor_of_another_type_is_refused():
    def fn(x):
        class Thing:
            pass

        told = []
        for descriptor, obj in ((type.__dict__["__mro__"], Thing()), (Asked.size, Thing())):
            try:
                told.append(descriptor.__get__(obj))
            except TypeError as error:
                told.append(str(error))
        return x.sin(), told

    check(fn, torch.ones(2), graphs=None, breaks=None, recompiles=None)


def test_what_type_itself_says_of_a_class_whose_metaclass_says_something_else():
    class Meta(type):
        __dict__ = property(lambda cls: {"other": 1})
        __mro__ = property(lambda cls: ("other",))
        __name__ = property(lambda cls: "other")

    class Asked(metaclass=Meta):
        marker = 7

    def fn(x):
        inside, order = type.__dict__["__dict__"].__get__, type.__dict__["__mro__"].__get__
        name = type.__dict__["__name__"].__get__
        seen = len(Asked.__dict__), len(Asked.__mro__), Asked.__name__
        return x + inside(Asked)["marker"] + len(order(Asked)), name(Asked), seen

    check(fn, torch.ones(2), graphs=None, breaks=None)
