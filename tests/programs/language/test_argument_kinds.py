"""Arguments of every kind, one after the other, in random order: the same function meets None,
numbers, texts, containers, tensors, arrays and objects, and must answer as in eager each time.

SUTURE_FUZZ=n runs n rounds of each function instead of a few.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import enum
import functools
import os
import random

import numpy
import pytest
import torch

import suture
from tests.harness import same

ROUNDS = int(os.environ.get("SUTURE_FUZZ") or 1)


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3


@dataclasses.dataclass
class Point:
    x: int = 1
    y: float = 2.0


class Sized:
    """Something like a sequence, in Python."""

    def __init__(self, n):
        self.n = n

    def __repr__(self):
        return f"Sized({self.n})"

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        if not 0 <= i < self.n:
            raise IndexError(i)
        return i * 10


Pair = collections.namedtuple("Pair", "a b")

KINDS = {
    "none": lambda: None,
    "bool": lambda: True,
    "false": lambda: False,
    "int": lambda: 3,
    "zero": lambda: 0,
    "big": lambda: 2**40,
    "float": lambda: 1.5,
    "complex": lambda: 1 + 2j,
    "str": lambda: "abc",
    "empty str": lambda: "",
    "bytes": lambda: b"abc",
    "bytearray": lambda: bytearray(b"ab"),
    "range": lambda: range(3),
    "slice": lambda: slice(1, None, 2),
    "list": lambda: [1, 2, 3],
    "empty list": lambda: [],
    "tuple": lambda: (1, 2, 3),
    "named tuple": lambda: Pair(1, 2),
    "dict": lambda: {"a": 1, "b": 2},
    "ordered dict": lambda: collections.OrderedDict(a=1),
    "default dict": lambda: collections.defaultdict(int, a=1),
    "counter": lambda: collections.Counter("aab"),
    "deque": lambda: collections.deque([1, 2, 3]),
    "set": lambda: {1, 2, 3},
    "frozenset": lambda: frozenset({1, 2}),
    "tensor": lambda: torch.arange(3.0),
    "scalar tensor": lambda: torch.tensor(2.0),
    "parameter": lambda: torch.nn.Parameter(torch.ones(2)),
    "array": lambda: numpy.arange(3.0),
    "numpy scalar": lambda: numpy.float64(2.5),
    "numpy int": lambda: numpy.int64(3),
    "enum": lambda: Color.RED,
    "int enum": lambda: Level.HIGH,
    "dataclass": lambda: Point(),
    "partial": lambda: functools.partial(int, "3"),
    "function": lambda: len,
    "class": lambda: Point,
    "generator": lambda: (i for i in (1, 2, 3)),
    "iterator": lambda: iter([1, 2, 3]),
    "sized": lambda: Sized(3),
    "empty sized": lambda: Sized(0),
    "dtype": lambda: torch.float64,
    "size": lambda: torch.Size([2, 3]),
}


def length(x, v):
    return len(v), x + len(v)


def truth(x, v):
    return (x + 1, True) if v else (x - 1, False)


def is_none(x, v):
    return x if v is None else x * 2


def kind(x, v):
    return type(v).__name__, isinstance(v, (int, list, tuple)), x + 1


def listed(x, v):
    items = list(v)
    return items, x + len(items)


def unpacked(x, v):
    first, *rest = v
    return first, rest, x + 1


def spread(x, v):
    return (lambda *a: len(a))(*v), x + 1


def named(x, v):
    return sorted((lambda **k: k)(**v)), x + 1


def doubled(x, v):
    return v + v, x + 1


def scaled(x, v):
    return x * v


def text(x, v):
    return f"{v}" if not callable(v) and not hasattr(v, "__next__") else "", x + 1


def item(x, v):
    return v[1], x + 1


def sliced(x, v):
    return v[1:], x + 1


def member(x, v):
    return 1 in v, x + 1


def equal(x, v):
    return v == 3, v == (1, 2, 3), x + 1


def ordered(x, v):
    return v < 3, x + 1


def key(x, v):
    return {v: 1}[v], x + 1


def attribute(x, v):
    return getattr(v, "x", "none"), hasattr(v, "shape"), x + 1


def called(x, v):
    return v(), x + 1


def number(x, v):
    return int(v), float(v), x + int(v)


def biggest(x, v):
    return max(v), sum(v), x + 1


def counted(x, v):
    n = 0
    for _ in v:
        n += 1
    return n, x + n


def mixed(x, v):
    if isinstance(v, torch.Tensor):
        return x.sum() + v.sum()
    if isinstance(v, (list, tuple, range)):
        return x + len(v)
    if isinstance(v, dict):
        return x + sum(v.values())
    if isinstance(v, (int, float)) and not isinstance(v, bool):
        return x * v
    return x


def matched(x, v):
    match v:
        case None:
            return "none", x
        case [a, *rest]:
            return "sequence", a, rest, x + 1
        case {"a": a}:
            return "mapping", a, x + 2
        case int() | float():
            return "number", v, x + 3
        case Point(x=a):
            return "point", a, x + 4
    return "other", x + 5


FUNCTIONS = [
    length, truth, is_none, kind, listed, unpacked, spread, named, doubled, scaled, text, item,
    sliced, member, equal, ordered, key, attribute, called, number, biggest, counted, mixed,
    matched,
]  # fmt: skip


def _outcome(fn, make):
    """What a call gives and what it leaves of its argument; or the exception."""
    value = make()
    try:
        result = fn(torch.ones(3), value)
    except Exception as error:
        return type(error), str(error)
    left = None if hasattr(value, "__next__") else value
    return result, left, list(value) if hasattr(value, "__next__") else None


_VARIANTS = (64, 8)  # one for every kind, or interpreted after a few


@pytest.mark.parametrize("fn", FUNCTIONS)
def test_a_function_meets_arguments_of_every_kind(fn):
    seeds = range(ROUNDS)
    for seed in seeds:
        suture.reset()
        compiled = suture.compile(copy.copy(fn), backend="eager")
        order = list(KINDS) * 2
        random.Random(f"{fn.__name__} {seed}").shuffle(order)
        for at, name in enumerate(order):
            plain = _outcome(fn, KINDS[name])
            with suture.config.patch(recompile_limit=_VARIANTS[seed % 2]):
                ours = _outcome(compiled, KINDS[name])
            try:
                same(plain, ours, f"{fn.__name__}({name})")
            except AssertionError as error:
                raise AssertionError(f"{error}; seed {seed}, after {order[:at]}") from None
