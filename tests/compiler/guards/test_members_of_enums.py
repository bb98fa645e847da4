"""Members of enums are constants, but what hangs on them and what they compute is the program's:
it is read in each process and guarded."""

from __future__ import annotations

import enum

import pytest
import torch

import suture

X = torch.ones(2)
scale = 2


class Level(enum.Enum):
    LOW = 1
    HIGH = 2

    @property
    def scaled(self):
        return self.value * scale

    @enum.property
    def scaled_by_enum(self):
        return self.value * scale


class Scaled:
    def __get__(self, member, kind=None):
        return scale


class Missing(enum.Enum):
    ONE = 1

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return scale


class Held(Scaled):
    def __set__(self, member, value):
        raise AttributeError


class Mixed:
    here = Scaled()
    held = Held()


class WithMixin(Mixed, enum.Enum):
    ONE = 1


class Truth(enum.Enum):
    ONE = 1

    def __bool__(self):
        return scale > 2


class Items(enum.Enum):
    ONE = 1

    def __iter__(self):
        return iter([scale])

    def __reversed__(self):
        return iter([scale + 1])

    def __getitem__(self, key):
        return key * scale


class Length(enum.Enum):
    ONE = 1

    def __len__(self):
        return scale - 2


class Index(enum.Enum):
    ONE = 1

    def __index__(self):
        return scale


class Equal(enum.Enum):
    ONE = 1
    TWO = 2

    def __eq__(self, other):
        return scale > 2

    def __hash__(self):
        return 1


READS = {
    "a property": lambda x: x * Level.LOW.scaled,
    "a property of enum": lambda x: x * Level.LOW.scaled_by_enum,
    "a missing attribute": lambda x: x * Missing.ONE.more,
    "a descriptor": lambda x: x * WithMixin.ONE.here,
    "a descriptor that sets": lambda x: x * WithMixin.ONE.held,
    "truth": lambda x: x * (3 if Truth.ONE else 5),
    "truth by length": lambda x: x * (3 if Length.ONE else 5),
    "not": lambda x: x * (3 if not Truth.ONE else 5),
    "any": lambda x: x * (3 if any([Truth.ONE]) else 5),
    "iterating": lambda x: x * [k for k in Items.ONE][0],
    "iterating backwards": lambda x: x * list(reversed(Items.ONE))[0],
    "an item": lambda x: x * Items.ONE[3],
    "an index": lambda x: x * [5, 6, 7, 8][Index.ONE],
    "a range": lambda x: x * len(range(Index.ONE)),
    "comparing": lambda x: x * (3 if Equal.ONE == 3 else 5),
}


@pytest.mark.parametrize("name", READS)
def test_code_of_members_reads_what_changes(name, monkeypatch):
    suture.reset()
    fn = READS[name]
    compiled = suture.compile(fn, backend="eager")
    torch.testing.assert_close(compiled(X), fn(X))
    monkeypatch.setitem(globals(), "scale", 3)
    torch.testing.assert_close(compiled(X), fn(X))
    assert suture.stats().graphs == 2
    assert not suture.stats().breaks


def test_keys_that_compare_in_their_own_way_are_left_to_python(monkeypatch):
    suture.reset()
    fn = lambda x: x * {Equal.TWO: 7}.get(Equal.ONE, 8)  # noqa: E731
    compiled = suture.compile(fn, backend="eager")
    torch.testing.assert_close(compiled(X), fn(X))
    monkeypatch.setitem(globals(), "scale", 3)
    torch.testing.assert_close(compiled(X), fn(X))
    assert "GB2033" in {record.number for record in suture.stats().breaks}


def _by_argument(x, member):
    return x * member.extra


ATTRIBUTES = {
    "an attribute": lambda x: x * Level.LOW.extra,
    "an attribute of an argument": lambda x: _by_argument(x, Level.LOW),
    "its value": lambda x: x * Level.LOW.value,
    "its name": lambda x: x * len(Level.LOW.name),
    "what is not there yet": lambda x: x * (3 if hasattr(Level.LOW, "later") else 5),
    "of a member that is found by its value": lambda x: x * Level(1).extra,
}


@pytest.fixture
def low():
    was = dict(vars(Level.LOW))
    Level.LOW.extra = 5
    yield Level.LOW
    vars(Level.LOW).clear()
    vars(Level.LOW).update(was)


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes_of_members_change(name, low):
    suture.reset()
    fn = ATTRIBUTES[name]
    compiled = suture.compile(fn, backend="eager")
    torch.testing.assert_close(compiled(X), fn(X))
    low.extra = 6
    low.later = True
    low._value_ = 4
    low._name_ = "LOWER"
    torch.testing.assert_close(compiled(X), fn(X))
    assert suture.stats().graphs == 2
    assert not suture.stats().breaks


def test_a_member_is_a_constant_where_nothing_of_it_changes():
    def fn(x, member):
        return x * member.value if member is Level.HIGH else x.sin()

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    for member in (Level.HIGH, Level.LOW, Level.HIGH, Level.LOW):
        torch.testing.assert_close(compiled(X, member), fn(X, member))
    assert suture.stats().graphs == 2
