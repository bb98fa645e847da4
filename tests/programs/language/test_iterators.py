"""Iterators of the library, generators that Python runs, and how long tracing goes on."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import operator
import pickle
import sys
import time
from typing import Any

import pytest
import torch

import suture
from tests.harness import check as checked


def check(fn: Any, *args: Any, graphs: int | None = None, **more: Any) -> None:
    """Compare with eager; how it is cut into graphs is not the point here."""
    checked(fn, *args, graphs=graphs, breaks=None, recompiles=None, interpreted=None, **more)


def test_a_started_iterator_of_itertools_is_still_one_behind_a_break() -> None:
    def fn(x: Any) -> Any:
        pairs = itertools.combinations("abc", 2)
        first = next(pairs)
        print("break")
        rest = pickle.loads(pickle.dumps(pairs))
        return x + 1, first, type(pairs).__name__, list(rest)

    check(fn, torch.ones(2))


def test_tee_of_a_tee_goes_on_with_it() -> None:
    def fn(x: Any) -> Any:
        one, two = itertools.tee("abc")
        next(one)
        three, four = itertools.tee(one)
        return x + 1, three is one, list(two), list(three), list(four), type(two).__name__

    check(fn, torch.ones(2))


def test_an_iterator_that_is_entered_again_from_its_own_key_is_left_to_python() -> None:
    def fn(x: Any) -> Any:
        def key(n: Any) -> Any:
            if n == 5:
                list(inner)
            return n != 6

        for _, inner in itertools.groupby(range(10), key):
            list(inner)
        return x + 1

    check(fn, torch.ones(2))


def test_a_length_hint_that_raises_type_error_gives_the_default() -> None:
    def fn(x: Any) -> Any:
        return x + 1, operator.length_hint(itertools.repeat(None), 12)

    check(fn, torch.ones(2))


def test_the_state_of_a_generator_can_be_asked_for() -> None:
    def fn(x: Any) -> Any:
        def count() -> Any:
            yield 1
            yield 2

        made = count()
        states = [inspect.getgeneratorstate(made)]
        next(made)
        states.append(inspect.getgeneratorstate(made))
        list(made)
        states.append(inspect.getgeneratorstate(made))
        return x + 1, states, made.gi_running, made.gi_yieldfrom

    check(fn, torch.ones(2))


def test_a_generator_that_yields_in_a_handler_forgets_what_its_caller_handled() -> None:
    def fn(x: Any) -> Any:
        def seen() -> Any:
            try:
                raise ValueError
            except ValueError:
                yield sys.exc_info()[0]
            yield sys.exc_info()[0]

        made, out = seen(), []
        try:
            raise IndexError
        except IndexError:
            out.append(next(made))
        out.append(next(made))
        return x + 1, out

    check(fn, torch.ones(2))


def test_what_is_thrown_into_a_generator_keeps_its_own_context() -> None:
    def fn(x: Any) -> Any:
        @contextlib.contextmanager
        def raising(error: Any) -> Any:
            try:
                yield
            finally:
                raise error

        errors = [Exception(i) for i in range(4)]
        try:
            with contextlib.ExitStack() as stack:
                for error in errors[1:]:
                    stack.enter_context(raising(error))
                raise errors[0]
        except Exception as error:
            chain, at = [], error
            while at is not None:
                chain.append(at.args)
                at = at.__context__
        return x + 1, chain

    check(fn, torch.ones(2))


def test_a_traceback_that_is_put_back_is_the_one_that_was_taken() -> None:
    def fn(x: Any) -> Any:
        @contextlib.contextmanager
        def plain() -> Any:
            yield

        try:
            with plain():
                raise KeyError("here")
        except KeyError as error:
            names, at = [], error.__traceback__
            while at is not None:
                names.append(at.tb_frame.f_code.co_name)
                at = at.tb_next
        return x + 1, names

    check(fn, torch.ones(2))


def test_an_exception_without_its_init_is_made_without_it() -> None:
    def fn(x: Any) -> Any:
        bare = UnicodeDecodeError.__new__(UnicodeDecodeError)
        print("break")
        return x + 1, str(bare), type(bare)

    check(fn, torch.ones(2))


def test_a_long_loop_without_tensors_is_left_to_python() -> None:
    def fn(x: Any) -> Any:
        total = 0
        for i in range(200_000):
            total += i % 7
        return x + total

    began = time.process_time()
    check(fn, torch.ones(2))
    assert time.process_time() - began < 60


def test_a_recursion_without_tensors_is_left_to_python() -> None:
    def fib(n: int) -> int:
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    def fn(x: Any) -> Any:
        return x + fib(19)

    with suture.config.patch(trace_limit=2_000):
        check(fn, torch.ones(2))


def test_a_generator_without_tensors_costs_little_when_python_runs_it() -> None:
    def fn(x: Any) -> Any:
        numbers = itertools.chain.from_iterable(() for _ in range(200_000))
        return x + 1, next(numbers, "none")

    check(fn, torch.ones(2))
    compiled = suture.compile(fn, backend="eager")
    compiled(torch.ones(2))
    began = time.process_time()
    compiled(torch.ones(2))
    assert time.process_time() - began < 1


def test_the_traceback_of_an_exception_that_was_raised_here_has_this_frame() -> None:
    import types

    def outside() -> Any:
        try:
            raise OSError
        except OSError as error:
            return error.__traceback__

    def fn(x: Any) -> Any:
        before = outside()
        try:
            raise IndexError().with_traceback(before)
        except IndexError as error:
            after = error.__traceback__
            return (
                x + 1,
                after is before,
                after.tb_next is before,
                isinstance(after, types.TracebackType),
            )

    check(fn, torch.ones(2))


def test_fields_of_c_objects_that_are_read_only_stay_so() -> None:
    import functools

    def fn(x: Any) -> Any:
        made, out = functools.partial(max, 1), []
        for name in ("func", "args", "keywords"):
            try:
                setattr(made, name, None)
            except AttributeError as error:
                out.append(str(error))
        return x + 1, out, made(3)

    check(fn, torch.ones(2))


def test_a_function_without_annotations_has_one_empty_dict_of_them() -> None:
    def fn(x: Any) -> Any:
        def made():  # type: ignore[no-untyped-def]
            return 1

        made.__annotations__["a"] = 1
        return x + 1, made.__annotations__ is made.__annotations__, made.__annotations__

    check(fn, torch.ones(2))


def test_sums_of_changing_floats_are_rounded_as_python_rounds_them() -> None:
    import math

    def lost(a: float, b: float) -> Any:
        total = a + b
        low = b - (total - a)
        return "something" if low else "nothing"

    compiled = suture.compile(lost, backend="eager")
    summed = suture.compile(lambda values: math.fsum(values), backend="eager")
    for a, b in ((1.0, 0.5), (2.0, 1e-20), (3.0, 0.25), (5.0, 1e-17), (1.0, 0.1)):
        assert compiled(a, b) == lost(a, b)
        values = [a, b, 1e100, -a, -1e100]
        assert summed(values) == math.fsum(values)


def test_a_relative_import_that_python_runs_is_relative_to_the_program(
    tmp_path: Any, monkeypatch: Any
) -> None:
    package = tmp_path / "relative_package"
    package.mkdir()
    package.joinpath("late.py").write_text("value = 3\n")
    package.joinpath("__init__.py").write_text(
        "def fn(x):\n"
        "    from . import late\n"
        "    from .late import value\n"
        "    try:\n"
        "        from . import nothing\n"
        "    except ImportError as error:\n"
        "        text = str(error).partition(' (')[0]\n"
        "    return x + value, late.__name__, text\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import relative_package  # type: ignore[import-not-found]

    out = suture.compile(relative_package.fn, backend="eager")(torch.ones(1))
    assert out[1:] == (
        "relative_package.late",
        "cannot import name 'nothing' from 'relative_package'",
    )
    assert out[0].item() == 4


def test_a_text_that_was_computed_is_another_object_behind_a_break() -> None:
    def fn(x: Any) -> Any:
        one = "xyzpdq"
        two = one[:3] + one[3:]
        print("break")
        return x + 1, one == two, one is two

    check(fn, torch.ones(2))


def test_what_the_program_handles_keeps_its_traceback_while_more_is_compiled() -> None:
    import io

    def fn(x: Any) -> Any:
        def made() -> Any:
            io.StringIO()
            yield 1

        try:
            raise ValueError
        except ValueError as error:
            numbers = made()
            print("break")
            next(numbers)
            print("break")
            return x + 1, sys.exc_info()[2] is None, error.__traceback__ is None

    check(fn, torch.ones(2))


def test_a_tuple_is_its_own_copy() -> None:
    def fn(x: Any) -> Any:
        pair, numbers, empty = (x, x), tuple(range(3)), tuple(range(0))
        same = [
            pair[:] is pair,
            pair * 1 is pair,
            tuple(numbers) is numbers,
            numbers * 1 is numbers,
        ]
        return x + 1, same, id(empty) == id(empty * 1), id(empty) == id(()), numbers[:2], pair * 2

    check(fn, torch.ones(2), graphs=1)


def test_a_set_or_list_that_is_set_up_again_holds_the_new_members_only() -> None:
    class Names(set):  # type: ignore[type-arg]
        pass

    class Items(list):  # type: ignore[type-arg]
        pass

    class Fixed(frozenset):  # type: ignore[type-arg]
        pass

    def fn(x: Any) -> Any:
        names, items, fixed = Names("ab"), Items("ab"), Fixed([1])
        names.__init__("cd")  # type: ignore[misc]
        items.__init__("cd")  # type: ignore[misc]
        fixed.__init__("cd")  # type: ignore[misc]
        out = [sorted(names), items, sorted(fixed)]
        for cls in (Names, Items, Fixed):
            try:
                cls([], 2)  # type: ignore[call-arg]
            except TypeError as error:
                out.append(str(error))
        return x + 1, out

    check(fn, torch.ones(2))


def test_members_of_enums_equal_numbers_that_change() -> None:
    import enum

    kinds = enum.IntFlag("kinds", "june july august")

    def fn(value: int) -> Any:
        return kinds(value) == value, value == kinds(value), kinds.june == value

    compiled = suture.compile(fn, backend="eager")
    assert [compiled(v) for v in (1, 2, 4)] == [fn(v) for v in (1, 2, 4)]


def test_a_function_that_uses_up_its_own_iterator_ends_it() -> None:
    def fn(x: Any) -> Any:
        calls = []

        def more() -> Any:
            calls.append(1)
            if len(calls) == 1:
                list(numbers)
                return 1
            return 2

        numbers = iter(more, 2)
        return x + 1, next(numbers, "ended"), len(calls)

    check(fn, torch.ones(2))


def test_a_product_of_iterators_that_outlives_its_graph_takes_their_elements_once() -> None:
    def fn(x: Any) -> Any:
        pairs = itertools.product(iter("ab"), iter([1, 2]))
        print("break")
        return x + 1, list(pairs)

    check(fn, torch.ones(2))


@pytest.mark.parametrize("make", [list, tuple, lambda v: dict.fromkeys(v), lambda v: range(1, 4)])
def test_looking_for_an_item_leaves_an_iterator_behind_it(make):
    def fn(x, it):
        return 2 in it, list(it), x + 1

    checked(
        fn,
        graphs=None,
        breaks=None,
        recompiles=None,
        interpreted=None,
        calls=3,
        make=lambda: (torch.ones(2), iter(make([1, 2, 3]))),
    )


@pytest.mark.parametrize(
    "refused",
    [
        lambda: itertools.product([1], repeat=1, other=2),
        lambda: itertools.product([1], other=2),
        lambda: itertools.chain([1], other=2),
        lambda: itertools.zip_longest([1], other=2),
        lambda: itertools.accumulate([1], other=2),
        lambda: itertools.accumulate(),
        lambda: itertools.islice([1], other=2),
    ],
)
def test_arguments_that_are_refused_are_in_the_words_of_the_library(refused):
    def fn(x):
        try:
            refused()
        except TypeError as error:
            return x + 1, str(error)

    check(fn, torch.ones(2))
