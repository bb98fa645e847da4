"""Whatever tracing read is guarded: each thing is changed between two calls, one by one."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools

import pytest
import torch

from tests.compiler.guards.changing import X, differs

# ---- values of arguments


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Point:
    scale = 2

    def __init__(self, x=1):
        self.x = x

    def times(self, t):
        return t * self.x


class Other(Point):
    def times(self, t):
        return t - self.x


Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Data:
    a: int = 1
    b: list = dataclasses.field(default_factory=list)


def use(x, v):
    if isinstance(v, (list, tuple, set, frozenset, collections.deque)):
        total = x + len(v)
        for item in v:
            total = total + (item if isinstance(item, (int, float)) else 7)
        return total, type(v).__name__
    if isinstance(v, dict):
        total = x
        for k, item in v.items():
            total = total * 2 + item + len(str(k))
        return total, type(v).__name__
    if isinstance(v, Point):
        return v.times(x) + len(v.__dict__), type(v).__name__
    if isinstance(v, Data):
        return x + v.a + len(v.b), 1
    if v is None or v is Ellipsis:
        return x - 5, v
    if isinstance(v, (str, bytes)):
        return x + len(v), v
    if isinstance(v, enum.Enum):
        return x * v.value, v.name
    if isinstance(v, slice):
        return x[v], v.step
    if isinstance(v, torch.dtype):
        return x.to(v), 1
    if isinstance(v, range):
        return x + sum(v), 2
    if isinstance(v, type):
        return x, v.__name__
    if callable(v):
        return v(x), 3
    return x * v, type(v).__name__


VALUES = [
    (1, 2),
    (1, True),
    (1, 1.0),
    (0.0, -0.0),
    (2.5, 3.5),
    (1, None),
    ("a", "bb"),
    ("a", b"a"),
    (None, ...),
    ([1, 2], [1, 3]),
    ([1, 2], [1, 2, 3]),
    ([1], (1,)),
    ((1, 2), (1, 2.0)),
    ((1, (2, 3)), (1, (2, 4))),
    ({"a": 1}, {"a": 2}),
    ({"a": 1}, {"b": 1}),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    ({"a": 1}, {"a": 1, "b": 2}),
    ({1: 1}, {True: 1}),
    ({"a": 1}, collections.OrderedDict(a=1)),
    ({1, 2}, {1, 3}),
    ({1, 2}, frozenset({1, 2})),
    (collections.deque([1]), collections.deque([1], maxlen=2)),
    (collections.deque([1, 2]), collections.deque([2, 1])),
    (Color.RED, Color.BLUE),
    (slice(0, 1), slice(0, 2)),
    (slice(0, 2), slice(0, 2, 2)),
    (range(3), range(4)),
    (torch.float64, torch.int64),
    (int, float),
    (Point(1), Point(2)),
    (Point(1), Other(1)),
    (Data(1), Data(2)),
    (Data(1, [1]), Data(1, [1, 2])),
    (Pair(1, 2), Pair(1, 3)),
    (Pair(1, 2), (1, 2)),
    (torch.sin, torch.cos),
    (lambda t: t + 1, lambda t: t + 2),
    (functools.partial(torch.add, other=1), functools.partial(torch.add, other=2)),
    (functools.partial(torch.add, 1), functools.partial(torch.sub, 1)),
    (Point(3).times, Point(4).times),
    ([].append, {}.get),
    (1j, 2j),
    (float("nan"), 1.0),
]


@pytest.mark.parametrize(("a", "b"), VALUES, ids=lambda v: str(v)[:24])
def test_value_of_an_argument(a, b):
    if getattr(a, "__self__", 0) == []:
        differs(lambda x, v: (x + 1, v.__name__), lambda: (X, [].append), lambda: (X, {}.get))
        return
    differs(use, lambda: (X, a), lambda: (X, b))


TENSORS = [
    torch.zeros(3),
    torch.zeros(2, 3, dtype=torch.float64),
    torch.zeros(2, 3, dtype=torch.int64),
    torch.zeros(2, 3, requires_grad=True),
    torch.zeros(3, 2).t(),
    torch.zeros(2, 3)[:, :1],
    torch.nn.Parameter(torch.zeros(2, 3)),
    torch.zeros(2, 3, device="meta"),
    torch.zeros(2, 3).expand(4, 2, 3),
]


@pytest.mark.parametrize("t", TENSORS, ids=lambda t: f"{t.dtype}{tuple(t.shape)}{t.requires_grad}")
def test_metadata_of_a_tensor(t):
    def fn(x):
        return x.shape, x.dtype, x.requires_grad, x.stride(), x.is_contiguous(), x.device, type(x)

    differs(fn, lambda: (X,), lambda: (t,))


# ---- identity


def test_two_lists_become_one():
    def fn(a, b, x):
        a.append(1)
        return x + len(b), a is b

    def after():
        one = []
        return one, one, X

    differs(fn, lambda: ([], [], X), after)


def test_two_names_of_one_list_become_two():
    def fn(a, b, x):
        a.append(1)
        return x + len(b)

    def before():
        one = []
        return one, one, X

    differs(fn, before, lambda: ([], [], X))


def test_two_dicts_become_one():
    def fn(a, b, x):
        a["k"] = 3
        return x + b.get("k", 0)

    def after():
        one = {}
        return one, one, X

    differs(fn, lambda: ({}, {}, X), after)


def test_two_objects_become_one():
    def fn(a, b, x):
        a.x = 7
        return x + b.x

    def after():
        one = Point(1)
        return one, one, X

    differs(fn, lambda: (Point(1), Point(1), X), after)


def test_a_list_inside_a_list_becomes_that_list():
    def fn(a, b, x):
        b[0].append(5)
        return x + len(a)

    def after():
        one = [1]
        return one, [one], X

    differs(fn, lambda: ([1], [[1]], X), after)


def test_an_argument_becomes_a_global():
    def fn(a, x):
        LIST.append(1)
        LIST.pop()
        a.append(2)
        return x + len(LIST) + (a is LIST)

    LIST.clear()

    def after():
        LIST.clear()
        return LIST, X

    def before():
        LIST.clear()
        return [], X

    differs(fn, before, after)


LIST: list = []


def test_two_tensors_become_one_that_is_changed():
    def fn(a, b):
        a.add_(1)
        return a + b

    def after():
        one = X.clone()
        return one, one

    differs(fn, lambda: (X.clone(), X.clone()), after)


@pytest.mark.parametrize("make", [list, dict, set, Point, collections.deque])
def test_object_is_compared_by_identity(make):
    def fn(a, b, x):
        return x + 1 if a is b else x - 1

    one = make()
    differs(fn, lambda: (make(), make(), X), lambda: (one, one, X))


def test_tensor_is_compared_by_identity():
    def fn(a, b):
        return a + 1 if a is b else a - 1

    differs(fn, lambda: (X, X.clone()), lambda: (X, X))
