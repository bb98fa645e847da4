"""A function that can meet no tensor is left to Python, and one that may meet some is compiled."""

from __future__ import annotations

import collections
import functools
import os
import queue
import sys
import traceback
import types
import weakref

import pytest
import torch

import suture
from suture import events

FACTOR = 3
STATE: dict[str, object] = {"a": 2}
ORDERED = collections.OrderedDict(w=torch.ones(2))
MADE: object = None


@pytest.fixture(autouse=True)
def left():
    """Functions that can meet no tensor are left to Python here."""
    with suture.config.patch(trace_tensor_free=False):
        yield


def compiled(fn, *args, calls=2):
    """What calls of the compiled function give, and what suture did."""
    suture.reset()
    ours = suture.compile(fn, backend="eager")
    with suture.config.patch(strict=True):
        results = [ours(*args) for _ in range(calls)]
    return results, suture.stats()


def total(turns):
    value = 0
    for turn in range(turns):
        value = value * 2 % 1013 + turn * FACTOR
    return value


def test_a_plain_function_is_not_traced():
    results, stats = compiled(total, 50)
    assert results == [total(50)] * 2
    assert (stats.variants, stats.graphs, stats.interpreted) == (0, 0, [])
    assert [record.function for record in stats.left_to_python] == ["total"]


def test_everything_is_traced_where_that_is_wanted():
    with suture.config.patch(trace_tensor_free=True):
        results, stats = compiled(total, 50)
    assert results == [total(50)] * 2 and stats.variants == 1 and not stats.left_to_python


def test_a_tensor_instead_of_a_number_is_compiled():
    suture.reset()
    ours = suture.compile(lambda x: x * FACTOR, backend="eager")
    assert ours(2) == 6 and ours(2) == 6
    assert suture.stats().graphs == 0
    torch.testing.assert_close(ours(torch.ones(2)), torch.full((2,), 3.0))
    assert suture.stats().graphs == 1


def test_a_global_that_becomes_a_tensor_is_seen():
    global MADE

    def fn(n):
        return n if MADE is None else MADE * n

    suture.reset()
    ours = suture.compile(fn, backend="eager")
    try:
        assert ours(2) == 2 and ours(2) == 2
        MADE = torch.ones(2)
        torch.testing.assert_close(ours(2), torch.full((2,), 2.0))
        assert suture.stats().graphs == 1
    finally:
        MADE = None


def test_a_container_that_gets_a_tensor_is_seen():
    suture.reset()
    ours = suture.compile(lambda n: STATE["a"] * n, backend="eager")
    try:
        assert ours(2) == 4
        STATE["a"] = torch.ones(2)
        torch.testing.assert_close(ours(2), torch.full((2,), 2.0))
        assert suture.stats().graphs == 1
    finally:
        STATE["a"] = 2


class Holder:
    """Gives a tensor without anybody naming torch."""

    made = torch.ones(2)

    def __init__(self):
        self.x = torch.ones(2)
        self.items = [1, 2]

    @property
    def shown(self):
        return self.x

    def __enter__(self):
        return self.x

    def __exit__(self, *_):
        return None

    def __iter__(self):
        return iter([self.x])

    def __add__(self, other):
        return self.x + other


HOLDER = Holder()
TENSOR = torch.ones(2)
LOCAL = types.SimpleNamespace(x=TENSOR)
WEAK = weakref.ref(TENSOR)
QUEUE: queue.LifoQueue = queue.LifoQueue()
MODULE = sys.modules[__name__]


@functools.singledispatch
def spread(n):
    return n


@spread.register
def _(n: int):
    return torch.ones(n)


def makes():
    return torch.ones(2)


def entering():
    with HOLDER as x:
        return x + 1


def from_queue():
    QUEUE.put(TENSOR)
    return QUEUE.get() + 1


def by_name(name="ma" + "kes"):
    return getattr(MODULE, name)() + 1


def reflected():
    return vars(HOLDER)["x"] + 1


def imported():
    import torch as anything

    return anything.ones(2) + 1


def of_caller():
    return sys._getframe(0).f_globals["TENSOR"] + 1


def evaluated():
    return eval("TENSOR + 1")


MEETING = [
    pytest.param(fn, id=name)
    for name, fn in {
        "made": lambda: torch.ones(2) + 1,
        "made by a function": lambda: makes() + 1,
        "held by an object": lambda: HOLDER.x + 1,
        "held by a class": lambda: Holder.made + 1,
        "a property": lambda: HOLDER.shown + 1,
        "a block": entering,
        "an iterator": lambda: [x + 1 for x in HOLDER][0],
        "an operator": lambda: HOLDER + 1,
        "an ordered dictionary": lambda: ORDERED["w"] + 1,
        "a namespace": lambda: LOCAL.x + 1,
        "a weak reference": lambda: WEAK() + 1,
        "a queue": from_queue,
        "a registered function": lambda: spread(2) + 1,
        "a partial function": functools.partial(torch.add, TENSOR, 1),
        "a callback of the library": lambda: functools.reduce(lambda a, b: a + b, [TENSOR, 1]),
        "a closure": (lambda x: lambda: x + 1)(TENSOR),
        "a default": lambda x=TENSOR: x + 1,
        "a computed name": by_name,
        "all attributes": reflected,
        "an import": imported,
        "a frame": of_caller,
        "a text": evaluated,
    }.items()
]


@pytest.mark.parametrize("fn", MEETING)
def test_what_leads_to_a_tensor_is_not_left(fn):
    results, stats = compiled(fn, calls=1)
    torch.testing.assert_close(results[0], torch.full((2,), 2.0))
    assert not stats.left_to_python


def test_a_break_that_the_program_asks_for_is_one_in_plain_code_too():
    def fn(n):
        suture.graph_break()
        return n + 1

    _, stats = compiled(fn, 1, calls=1)
    assert len(stats.breaks) == 1
    assert not stats.left_to_python


def test_breaks_that_are_errors_stay_errors():
    def fn(n):
        open(os.devnull).close()
        return n + 1

    suture.reset()
    with pytest.raises(suture.errors.Unsupported):
        suture.compile(fn, backend="eager", fullgraph=True)(1)
    assert not suture.stats().left_to_python


def test_all_kinds_of_parameters_arrive():
    def fn(a, /, b=2, *args, c, d=4, **kwargs):
        return a, b, args, c, d, kwargs

    suture.reset()
    ours = suture.compile(fn, backend="eager")
    for _ in range(2):
        assert ours(1, c=3) == fn(1, c=3)
        assert ours(1, 2, 3, c=5, d=6, e=7) == fn(1, 2, 3, c=5, d=6, e=7)
    assert suture.stats().variants == 0


def test_a_traceback_has_the_frames_of_the_program_alone():
    def fails(n):
        raise ValueError(n)

    suture.reset()
    ours = suture.compile(fails, backend="eager")
    for _ in range(2):
        with pytest.raises(ValueError, match="1") as caught:
            ours(1)
        names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
        assert names[1:] == ["fails"]


def test_what_depends_on_objects_is_compiled_in_the_end():
    suture.reset()
    ours = suture.compile(lambda: STATE["a"], backend="eager")
    assert [ours() for _ in range(12)] == [2] * 12
    assert suture.stats().variants == 1 and suture.stats().left_to_python


def test_reset_forgets_what_was_left():
    compiled(total, 5)
    suture.reset()
    assert not suture.stats().left_to_python
    with suture.config.patch(trace_tensor_free=True):
        ours = suture.compile(total, backend="eager")
        assert ours(5) == total(5)
    assert suture.stats().variants == 1


def test_explain_says_so():
    report = suture.explain(total)(5)
    assert "no tensor" in str(report)


def test_a_later_call_is_not_asked_about_again():
    suture.reset()
    ours = suture.compile(total, backend="eager")
    ours(2_000)
    seen = []
    stop = events.subscribe(seen.append)
    try:
        assert [ours(2_000) for _ in range(3)] == [total(2_000)] * 3
    finally:
        stop()
    assert seen == []
