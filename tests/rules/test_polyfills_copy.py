"""copy.copy and copy.deepcopy, and their polyfills: values, sharing, and cycles."""

from __future__ import annotations

import collections
import copy
import dataclasses
import fractions

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import suture
from suture.rules.polyfills.copy import deep, shallow
from tests.harness import check


class Plain:
    def __init__(self, **attributes):
        self.__dict__.update(attributes)


class Slotted:
    __slots__ = ("__dict__", "a")

    def __init__(self, a, b):
        self.a = a
        self.b = b


class WithState:
    def __init__(self, value):
        self.value = value

    def __getstate__(self):
        return {"kept": self.value}

    def __setstate__(self, state):
        self.value = [state["kept"]]


class WithReduce:
    def __init__(self, value):
        self.value = value

    def __reduce__(self):
        return WithReduce, (self.value,)


class ListOfMine(list):
    pass


class CopiesItself:
    def __copy__(self):
        return "copied"

    def __deepcopy__(self, memo):
        return "copied deep"


@dataclasses.dataclass
class Record:
    a: object
    b: object = None


Named = collections.namedtuple("Named", "x y")

leaves = st.one_of(st.none(), st.integers(), st.text(max_size=2), st.floats(allow_nan=False))
trees = st.recursive(
    leaves,
    lambda inside: st.one_of(
        st.lists(inside, max_size=3),
        st.tuples(inside, inside),
        st.dictionaries(st.text(max_size=2), inside, max_size=3),
        st.builds(Plain, a=inside, b=inside),
        st.builds(Record, inside, inside),
        st.builds(Slotted, inside, inside),
        st.builds(WithState, inside),
        st.builds(WithReduce, inside),
        st.builds(Named, inside, inside),
        st.builds(lambda x: ListOfMine([x, x]), inside),
        st.builds(lambda x: [x, x], inside),
        st.builds(lambda x: collections.OrderedDict(k=x), inside),
        st.builds(lambda x: collections.deque([x]), inside),
        st.builds(CopiesItself),
    ),
    max_leaves=8,
)


def shape(value, seen=None):
    """Types, values, and which objects are one: equal for two graphs of one form."""
    seen = {} if seen is None else seen
    if isinstance(value, (int, float, str, type(None))):
        return value
    if id(value) in seen:
        return f"again {seen[id(value)]}"
    seen[id(value)] = len(seen)
    parts = [type(value).__name__]
    if isinstance(value, dict):
        parts += [(shape(k, seen), shape(v, seen)) for k, v in value.items()]
    elif isinstance(value, (list, tuple, collections.deque)):
        parts += [shape(item, seen) for item in value]
    for name in (*sorted(getattr(value, "__dict__", {})), *getattr(value, "__slots__", ())):
        if name != "__dict__":
            parts.append((name, shape(getattr(value, name), seen)))
    return parts


@given(trees)
def test_deepcopy(tree):
    assert shape(deep(tree)) == shape(copy.deepcopy(tree))


@given(trees)
def test_copy(tree):
    mine, theirs = shallow(tree), copy.copy(tree)
    assert shape(mine) == shape(theirs)
    assert (mine is tree) == (theirs is tree)


@given(trees)
def test_deepcopy_shares_nothing_that_changes(tree):
    holder = [tree, tree]
    made = deep(holder)
    assert made is not holder
    assert made[0] is made[1]
    assert (made[0] is tree) == (copy.deepcopy(holder)[0] is tree)


def test_cycles():
    ring = [1]
    ring.append((ring, {"me": ring}))
    made = deep(ring)
    assert made[1][0] is made
    assert made[1][1]["me"] is made
    thing = Plain()
    thing.me = thing
    assert deep(thing).me is not thing


def test_what_is_not_copied():
    for value in (len, test_cycles, Plain, int, 3, "x", ..., range(3), fractions.Fraction(1, 3)):
        assert deep(value) is copy.deepcopy(value)
        assert shallow(value) is copy.copy(value)


def test_bound_methods_take_their_object_along():
    items = [1]
    bound = Plain(items=items).__init__
    assert deep(bound).__self__ is not bound.__self__


def test_memo_is_used_and_filled():
    inside = [1]
    memo = {id(inside): "known"}
    assert deep([inside], memo) == ["known"]


@pytest.mark.parametrize("made", [shallow, deep])
def test_tensors_and_modules(made):
    tensor = torch.arange(3.0)
    assert torch.equal(made(tensor), tensor)
    module = torch.nn.Linear(2, 2)
    twin = made(module)
    assert type(twin) is torch.nn.Linear
    assert torch.equal(twin.weight, module.weight)
    assert (twin.weight is module.weight) == (made is shallow)


def test_errors_are_those_of_the_original():
    import threading

    lock = threading.Lock()
    with pytest.raises(TypeError):
        copy.deepcopy(lock)
    with pytest.raises(TypeError):
        deep(lock)


class Config:
    """As libraries write them: every attribute is read through the class's own method."""

    names = {"hidden": "width"}  # noqa: RUF012

    def __init__(self):
        self.width = 3
        self.nested = {"sizes": [1]}

    def __getattribute__(self, key):
        if key != "names" and key in super().__getattribute__("names"):
            key = super().__getattribute__("names")[key]
        return super().__getattribute__(key)


class NoReduction:
    def __getattribute__(self, name):
        if name.startswith("__reduce"):
            raise AttributeError(name)
        return object.__getattribute__(self, name)


def test_objects_with_their_own_getattribute_are_copied_in_the_graph():
    config = Config()

    def fn(x):
        deep, shallow = copy.deepcopy(config), copy.copy(config)
        deep.width += 1
        deep.nested["sizes"].append(2)
        try:
            copy.deepcopy(NoReduction())
        except copy.Error as error:
            said = str(error)
        return x * deep.hidden, config.width, config.nested, deep.nested, shallow.hidden, said

    check(fn, torch.ones(2))


def test_a_deep_copy_that_breaks_is_made_by_python_as_a_whole():
    def fn(layer, x):
        made = copy.deepcopy({"layer": layer, "sizes": [1, 2]})
        made["sizes"].append(3)
        with torch.no_grad():
            made["layer"].weight.mul_(0.5)
        return made["layer"](x), made["sizes"], made["layer"].weight is layer.weight

    # A copy is another module in each call: known by identity first, by its class from then on. The
    # first one is gone when the second comes, and its variant with it: nothing fails a guard.
    args = torch.nn.Linear(2, 2), torch.ones(2)
    check(fn, *args, breaks=["GB2020"], graphs=2, recompiles=None, calls=4)
    assert suture.stats().recompilations == []
