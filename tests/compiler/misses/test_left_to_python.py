"""A function that can meet no tensor is left to Python, and one that may meet some is compiled."""

from __future__ import annotations

import ast
import collections
import copy
import functools
import itertools
import os
import pickle
import queue
import sys
import threading
import time
import traceback
import types
import weakref

import pytest
import torch

import suture
from suture import events
from suture.compiler.misses import left_to_python
from suture.runtime.plain_values import Asked

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


def imported_from_a_package():
    import torch.functional as anything

    return anything.torch.ones(2) + 1


def of_thread():
    return threading.current_thread().x + 1


class Visitor(ast.NodeVisitor):
    """The library computes the names of the methods that it calls."""

    def visit_Name(self, node):
        return TENSOR + 1


def dispatched():
    return Visitor().visit(ast.parse("name", mode="eval").body)


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
        "an import from a package": imported_from_a_package,
        "a thread": of_thread,
        "a method that the library looks up": dispatched,
        "a frame": of_caller,
        "a text": evaluated,
    }.items()
]


@pytest.mark.parametrize("fn", MEETING)
def test_what_leads_to_a_tensor_is_not_left(fn, monkeypatch):
    monkeypatch.setattr(threading.current_thread(), "x", TENSOR, raising=False)
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


class Settings:
    def __init__(self, scale):
        self.scale = scale
        self.names = ["a", "b"]


SETTINGS = Settings(2)


def scaled(n):
    return n * SETTINGS.scale


def test_what_depends_on_objects_is_not_traced_however_often_it_is_called():
    suture.reset()
    ours = suture.compile(scaled, backend="eager")
    assert [ours(3) for _ in range(30)] == [6] * 30
    assert suture.stats().variants == 0 and suture.stats().left_to_python


def test_an_object_that_gets_a_tensor_is_seen_after_a_while():
    suture.reset()
    ours = suture.compile(scaled, backend="eager")
    try:
        assert [ours(3) for _ in range(30)] == [6] * 30
        SETTINGS.scale = torch.ones(2)
        end = time.monotonic() + 60
        while suture.stats().graphs == 0 and time.monotonic() < end:
            torch.testing.assert_close(ours(3), torch.full((2,), 3.0))
        assert suture.stats().graphs == 1
    finally:
        SETTINGS.scale = 2


def test_what_was_asked_a_moment_ago_is_not_asked_again(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    asked = Asked()
    asked.answered(took=0.001)
    now[0] = 0.0199
    assert asked()
    now[0] = 0.0201
    assert not asked()
    asked.answered(took=60.0)
    now[0] += 1
    assert not asked()


def twice(holder):
    return holder.scale * 2 if holder.names else 0


def test_objects_made_anew_for_each_call_are_seen_by_what_they_hold():
    suture.reset()
    ours = suture.compile(twice, backend="eager")
    assert [ours(Settings(n)) for n in range(30)] == [n * 2 for n in range(30)]
    assert suture.stats().variants == 0
    torch.testing.assert_close(ours(Settings(torch.ones(2))), torch.full((2,), 2.0))
    assert suture.stats().graphs == 1


CONTAINERS = {
    "list": (list(range(5)), [1, torch.ones(2)]),
    "long list": (list(range(500)), [torch.ones(2)] * 500),
    "dict": ({"a": 1}, {"a": torch.ones(2)}),
    "longer dict": ({str(n): n for n in range(500)}, {"a": torch.ones(2)}),
    "nested": ({"a": [1, (2, 3)], "b": {"c": None}}, {"a": [1, (2, 3)], "b": {"c": torch.ones(2)}}),
    "tuple": ((1, 2), (1, torch.ones(2))),
}


def largest(parts):
    if isinstance(parts, dict):
        parts = parts.values()
    found = [largest(part) if isinstance(part, (dict, list, tuple)) else part for part in parts]
    return found[-1]


@pytest.mark.parametrize("kind", CONTAINERS)
def test_containers_are_seen_by_what_they_hold(kind):
    plain, with_tensor = CONTAINERS[kind]
    suture.reset()
    ours = suture.compile(lambda parts: largest(parts), backend="eager")
    for _ in range(30):
        assert ours(copy.deepcopy(plain)) == largest(plain)
    assert suture.stats().variants == 0
    assert ours(with_tensor) is largest(with_tensor)
    assert suture.stats().variants > 0


def test_a_later_call_with_a_list_of_its_own_is_not_asked_about_again():
    suture.reset()
    ours = suture.compile(lambda parts: sum(parts), backend="eager")
    ours([1, 2])
    questions = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(left_to_python, "guards_of_plain", lambda *_: questions.append(1))
        assert [ours([n]) for n in range(5)] == list(range(5))
    assert questions == []


def paused():
    found = yield 1
    yield found


GENERATOR = paused()


def from_generator(n):
    return len([value for value in GENERATOR]) + n


def with_tensors(x):
    yield x


HOLDING = with_tensors(TENSOR)


def test_a_generator_is_known_by_its_function_and_its_variables():
    _, stats = compiled(from_generator, 1, calls=1)
    assert stats.left_to_python and stats.variants == 0
    _, stats = compiled(lambda: next(HOLDING) + 1, calls=1)
    assert not stats.left_to_python


def pickled(text):
    total = 0
    for _ in range(30):
        total += len(pickle.loads(text))
        open(os.devnull).close()
    return total


def test_little_is_traced_of_what_only_says_nothing_of_what_it_gives():
    _, stats = compiled(pickled, pickle.dumps("abc"), calls=1)
    assert 0 < stats.variants < 12 and not stats.left_to_python


def test_what_is_unpickled_is_compiled():
    fn = lambda text: pickle.loads(text) * 2 + 1  # noqa: E731
    text = pickle.dumps(torch.ones(2))
    results, stats = compiled(fn, text, calls=1)
    torch.testing.assert_close(results[0], torch.full((2,), 3.0))
    assert stats.graphs == 1


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


def test_iterators_that_keep_tuples_with_empty_places_are_read():
    def rest(pairs):
        return list(pairs)

    def begun():
        pairs = itertools.zip_longest("ab", (1, 2, 3), fillvalue="-")
        assert [next(pairs) for _ in range(3)] == [("a", 1), ("b", 2), ("-", 3)]
        return pairs

    suture.reset()
    ours = suture.compile(rest, backend="eager")
    for _ in range(3):
        assert ours(begun()) == []
