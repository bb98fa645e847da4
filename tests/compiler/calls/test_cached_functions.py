"""A function under functools.lru_cache runs as often as in eager, and its cache counts the same."""

from __future__ import annotations

import functools
import types

import pytest
import torch

import suture
from suture.compiler.library import cached_functions
from tests.harness import Graphs, check

X = torch.ones(2)


def doubles():
    log = []

    @functools.lru_cache(maxsize=None)
    def cached(n):
        log.append(n)
        return n * 2

    return lambda x, n: x * cached(n) + cached(n), cached, log


def hands_out_a_list():
    log = []

    @functools.lru_cache(maxsize=None)
    def cached(n):
        log.append(n)
        return [n]

    def fn(x, n):
        held = cached(n)
        held.append(1)
        return x + len(held), held is cached(n)

    return fn, cached, log


def forgets():
    log = []

    @functools.lru_cache(maxsize=2)
    def cached(n):
        log.append(n)
        return n + 1

    def fn(x, n):
        log.append("before")
        return x + cached(n) + cached(n + 1)

    return fn, cached, log


def of_a_tensor():
    log = []

    @functools.lru_cache(maxsize=None)
    def cached(t, n):
        log.append(n)
        return t * 2

    return lambda x, n: cached(x, n) + 1, cached, log


def a_method():
    log = []

    class Table:
        @functools.lru_cache(maxsize=None)  # noqa: B019
        def get(self, n):
            log.append(n)
            return torch.full((2,), float(n))

    table = Table()
    return lambda x, n: table.get(n) + x, Table.get, log


def calls_itself():
    log = []

    @functools.cache
    def fib(n):
        log.append(n)
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    return lambda x, n: x * fib(n), fib, log


def raises():
    log = []

    @functools.cache
    def cached(n):
        log.append(n)
        if n == 4:
            raise ValueError("four")
        return n

    def fn(x, n):
        try:
            return x * cached(n)
        except ValueError as error:
            return x, str(error)

    return fn, cached, log


def asks_for_the_counts():
    @functools.cache
    def cached(n):
        return n * 3 if n > 4 else -n

    def fn(x, n):
        out = x * cached(n)
        return out, tuple(cached.cache_info()), cached(n=n)

    return fn, cached, []


def clears():
    log = []

    @functools.cache
    def cached(n):
        log.append(n)
        return n

    def fn(x, n):
        cached.cache_clear()
        return x + cached(n) + cached(n)

    return fn, cached, log


def made_inside():
    log = []

    def fn(x, n):
        @functools.cache
        def cached(k):
            log.append(k)
            return k

        return x * cached(n) + cached(n)

    return fn, None, log


def reads_what_changes():
    state = [0]

    @functools.cache
    def cached(n):
        return n + state[0]

    def fn(x, n):
        state[0] += 1
        return x + cached(n)

    return fn, cached, state


PROGRAMS = [
    doubles, hands_out_a_list, forgets, of_a_tensor, a_method, calls_itself, raises,
    asks_for_the_counts, clears, made_inside, reads_what_changes,
]  # fmt: skip


def _all(make, compiled):
    suture.reset()
    fn, cached, log = make()
    fn = suture.compile(fn, backend="eager") if compiled else fn
    told = []
    for n in (6, 6, 4, 4, 9, 6, 5, 7, 8, 3, 2, 6):
        told.append(str(fn(X, n)))
        told.append((cached and cached.cache_info(), list(log)))
    return told


@pytest.mark.parametrize("make", PROGRAMS)
def test_a_cached_function_is_called_as_python_calls_it(make):
    assert _all(make, compiled=True) == _all(make, compiled=False)


@pytest.mark.parametrize("lazy", [False, True])
def test_one_that_only_computes_is_traced_and_its_cache_asked(lazy):
    @functools.lru_cache(maxsize=None)
    def heads(size, width=4):
        total = 0
        for i in range(size):
            total += i if i < width else 1
        return total

    cached = functools.cache(lambda n: n + 1) if lazy else heads

    def fn(x):
        return x * cached(8) + cached(8)

    check(fn, X, graphs=1, calls=3)
    assert cached.cache_info() == (11, 1, None, 1)


PACKAGE = """
import functools
import torch
runs = []

@functools.lru_cache
def at_least(version, strict=False):
    runs.append(version)
    return [2, 13] >= [int(part) for part in version.split(".")]

@functools.lru_cache
def fails(version):
    runs.append(version)
    raise ValueError(version)

class Recipe:
    def __init__(self, axes):
        self.axes = axes

SIGNS = ("->", "to")
scale = 1

def set_scale(value):
    global scale
    scale = value

@functools.lru_cache(256)
def parsed(pattern):
    if not any(sign in pattern for sign in SIGNS):
        raise ValueError(pattern)
    return Recipe([axis.strip() for axis in pattern.split("->")[0].split()])

@functools.lru_cache(1024)
def reconstructed(recipe, shape, known):
    lengths = dict(known)
    for axis, length in zip(recipe.axes, shape):
        lengths[axis] = length
    return [lengths[axis] for axis in reversed(recipe.axes)]

@functools.lru_cache
def scaled(n):
    return [n * scale]

@functools.lru_cache
def table(n):
    return [torch.arange(n)]

@functools.lru_cache
def noted(n):
    runs.append(n)
    return [n]
"""


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A module as if it were installed: its functions are none of the program's own."""
    monkeypatch.setattr(cached_functions, "_PACKAGES", (str(tmp_path),))
    namespace = {"__name__": "installed_package"}
    exec(compile(PACKAGE, str(tmp_path / "installed.py"), "exec"), namespace)
    return types.SimpleNamespace(**namespace)


def test_the_answer_in_the_cache_of_a_package_is_taken_from_it(package):
    def fn(x):
        if package.at_least("2.9") and package.at_least("3.0", strict=True):
            return x.sin()
        return x.cos()

    fn(X)
    check(fn, X, graphs=1, calls=3)
    assert package.runs == ["2.9", "3.0"]


def test_a_cleared_cache_of_a_package_runs_the_function_once_more(package):
    def fn(x):
        return x.sin() if package.at_least("2.9") else x.cos()

    fn(X)
    compiled = suture.compile(fn, backend="eager")
    compiled(X)
    package.at_least.cache_clear()
    compiled(X)
    compiled(X)
    assert package.runs == ["2.9", "2.9"]


def test_a_function_of_a_package_that_raises_runs_each_time(package):
    def fn(x):
        try:
            package.fails("2.9")
        except ValueError as error:
            return x + len(str(error))

    compiled = suture.compile(fn, backend="eager")
    for _ in range(3):
        assert torch.equal(compiled(X), X + 3)
    assert len(package.runs) == 3


def test_an_argument_without_a_hash_is_the_programs_error(package):
    def fn(x):
        try:
            package.at_least(bytearray(b"2.9"))
        except TypeError as error:
            return x + len(str(error))

    check(fn, X, breaks=None)


def test_a_function_of_a_package_that_computes_objects_is_traced(package):
    def fn(x):
        recipe = package.parsed("a b -> b a")
        return x.reshape(package.reconstructed(recipe, tuple(x.shape), (("c", 1),)))

    check(fn, torch.ones(2, 3), ops=[["reshape"]])


def test_it_is_traced_with_sizes_that_change(package):
    graphs = Graphs()
    recipe = package.parsed

    def fn(x):
        first = package.reconstructed(recipe("a b -> b a"), x.shape, ())
        second = package.reconstructed(recipe("a b -> b a"), x.shape, ())
        return x.reshape(first), recipe("a b -> b a") is recipe("a b -> b a"), first == second

    compiled = suture.compile(fn, backend=graphs)
    for size in (2, 3, 4, 5):
        made, *same = compiled(torch.ones(size, 7))
        assert made.shape == (7, size) and same == [True, True]
    assert len(graphs) == 2 and not suture.stats().breaks


def test_an_error_of_a_function_of_a_package_is_the_programs(package):
    def fn(x):
        try:
            return x + len(package.parsed("a b").axes)
        except ValueError as error:
            return x.sin(), str(error)

    check(fn, X, ops=[["sin"]])


def test_another_cached_function_under_the_name_is_seen(package):
    def fn(x):
        return x + package.scaled(3)[0]

    compiled = suture.compile(fn, backend="eager")
    assert torch.equal(compiled(X), X + 3)
    package.scaled = functools.lru_cache(lambda n: [n + 10])
    assert torch.equal(compiled(X), X + 13)


def _results(fn, compiled):
    suture.reset()
    call = suture.compile(fn, backend="eager") if compiled else fn
    return [str(call(X, n)) for n in (3, 3, 4, 3)]


def test_what_leaves_is_the_object_in_the_cache(package):
    def fn(x, n):
        made = package.scaled(n)
        return x + made[0], made

    compiled = suture.compile(fn, backend="eager")
    assert compiled(X, 3)[1] is compiled(X, 3)[1] is package.scaled(3)


def test_what_is_changed_is_the_object_in_the_cache(package):
    def fn(x, n):
        made = package.scaled(n)
        made.append(1)
        return x + len(made)

    plain = _results(fn, False)
    package.scaled.cache_clear()
    assert _results(fn, True) == plain


def test_a_cache_keeps_what_was_so_when_it_was_asked_first(package):
    def fn(x, n):
        package.set_scale(package.scale + 1)
        return x + package.scaled(n)[0]

    plain = _results(fn, False)
    package.scaled.cache_clear()
    package.set_scale(1)
    assert _results(fn, True) == plain


def test_a_cached_tensor_is_one_tensor(package):
    def fn(x, n):
        return package.table(n)[0].add_(1) + x[0]

    plain = _results(fn, False)
    package.table.cache_clear()
    assert _results(fn, True) == plain


def test_a_cached_function_of_a_package_that_does_something_does_it_once(package):
    def fn(x, n):
        return x + package.noted(n)[0]

    assert _results(fn, True) and package.runs == [3, 4]
