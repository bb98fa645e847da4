"""Callables of the library that the tracer models."""

from __future__ import annotations

import functools
import itertools
import sys
import types

import torch

import suture
from tests.harness import check


def test_cached_function_runs_as_often_as_in_eager():
    calls = []

    @functools.lru_cache(None)
    def cached(n):
        calls.append(n)
        return [n]

    def fn(x):
        return x + cached(2)[0], cached(2) is cached(2)

    compiled = suture.compile(fn, backend="eager")
    for _ in range(3):
        compiled(torch.ones(2))
    assert calls == [2]


def test_cached_function_after_an_effect_is_traced():
    seen = []

    @functools.lru_cache(None)
    def cached(n):
        return len(seen)

    def fn(x):
        seen.append(1)
        return x + cached(len(seen))

    compiled = suture.compile(fn, backend="eager")
    for n in (1, 2, 3):
        assert compiled(torch.zeros(1)).item() == n


def test_cached_property_is_stored_on_the_object():
    class Box:
        @functools.cached_property
        def items(self):
            return [1, 2]

    def fn(x):
        box = Box()
        box.items.append(3)
        return x + len(box.items), list(vars(box))

    check(fn, torch.ones(2), graphs=None, breaks=None)


def test_bound_method_is_made_by_its_type():
    class Box:
        pass

    box = Box()
    method = types.MethodType(lambda self, y: y * 2, box)
    check(lambda x: types.MethodType(lambda self, y: (self is box, y * 2), box)(x), torch.ones(2))
    check(lambda x: method(x), torch.ones(2))


def test_iterator_of_the_library_leaves_as_what_it_is():
    def fn(x):
        return x + 1, itertools.count(3), itertools.chain([1], [2])

    _, count, chain = suture.compile(fn, backend="eager")(torch.ones(2))
    assert type(count) is itertools.count
    assert next(count) == 3
    assert type(chain) is itertools.chain
    assert list(chain) == [1, 2]


def test_exception_being_handled():
    def fn(x):
        try:
            raise KeyError("a")
        except KeyError as error:
            kind, value, _ = sys.exc_info()
            return x + 1, kind, value is error

    check(fn, torch.ones(2))


def test_iter_with_a_sentinel():
    def fn(x):
        items = [3, 2, 1, 0, 5]
        return x + sum(iter(lambda: items.pop(0), 0)), items

    check(fn, torch.ones(2))


def test_generic_function():
    @functools.singledispatch
    def kind(value):
        return 0

    kind.register(int, lambda value: 1)
    kind.register(list, lambda value: 2)
    check(lambda x: x + kind(3) * 10 + kind([]) + kind("a"), torch.ones(2))


def test_counting_and_repeating_iterators_leave_where_they_stand():
    def fn(x, n):
        endless, few, count = itertools.repeat(2), itertools.repeat("a", 3), itertools.count(n, 3)
        for _ in range(2):
            x = x + next(endless) * next(count)
            next(few)
        return x, endless, few, count

    compiled = suture.compile(fn, backend="eager", fullgraph=True)
    for n in (1, 2, 3):
        got, wanted = compiled(torch.ones(2), n), fn(torch.ones(2), n)
        torch.testing.assert_close(got[0], wanted[0])
        assert [type(i) for i in got[1:]] == [type(i) for i in wanted[1:]]
        assert [repr(i) for i in got[1:]] == [repr(i) for i in wanted[1:]]
        assert list(got[2]) == ["a"]
        assert next(got[3]) == next(wanted[3])


def test_a_read_only_view_of_a_dict_backwards():
    def fn(x, table):
        view = types.MappingProxyType(table)
        return x.sin(), list(reversed(view)), [k for k in view.__reversed__()]

    check(fn, torch.ones(2), {"a": 1, "b": 2})
