"""Sets: the order of their members, what stands for a member, views of dicts."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.harness import check as checked


def check(fn: Any, *args: Any, graphs: int | None = None, **more: Any) -> None:
    """Compare with eager; how it is cut into graphs is not the point here."""
    checked(fn, *args, graphs=graphs, breaks=None, recompiles=None, interpreted=None, **more)


def test_a_set_that_lost_members_keeps_the_order_of_its_table() -> None:
    def fn(x: Any) -> Any:
        names = {17, 9, 1, 4, 25}
        names.discard(17)
        names -= {4, 5}
        names.add(33)
        return x + 1, list(names), names.pop(), sorted(names)

    check(fn, torch.ones(2), graphs=1)


def test_a_set_has_one_order_before_and_behind_a_break() -> None:
    def fn(x: Any) -> Any:
        names = {8, 16, 3, 24} & {24, 16, 8, 5}
        first = list(names)
        print("break")
        return x + 1, first == list(names), str(names) == str(set(names)), first

    check(fn, torch.ones(2))


@pytest.mark.parametrize("order", [("b", "a", "c"), ("c", "b", "a")])
def test_a_set_from_outside_is_gone_through_in_its_own_order(order: Any) -> None:
    def fn(x: Any, names: Any) -> Any:
        return x * 2, [n + "!" for n in names], list(names | {"q"})[:0]

    check(fn, torch.ones(2), set(order))


def test_the_member_of_an_intersection_comes_from_the_smaller_set() -> None:
    def fn(x: Any) -> Any:
        return x + 1, {1, 2, 3} & {1.0, 2.0}, {True, 5} | {1, 7}, {1.0} & {1, 2, 3}

    check(fn, torch.ones(2))


def test_members_whose_hash_counts_are_hashed_by_python_alone() -> None:
    class Counting(int):
        def __init__(self, *_: Any) -> None:
            self.hashed = 0

        def __hash__(self) -> int:
            self.hashed += 1
            return int.__hash__(self)

    def fn(x: Any) -> Any:
        held = dict.fromkeys(map(Counting, range(5)))
        made = set(held)
        return x + 1, [k.hashed for k in held], len(made)

    check(fn, torch.ones(2))


def test_an_object_that_says_itself_what_it_equals_is_found_in_a_dict() -> None:
    def fn(x: Any) -> Any:
        class Key:
            def __hash__(self) -> int:
                return hash("key")

            def __eq__(self, other: object) -> bool:
                return other == "key"

        key, held = Key(), {"key": 44}
        print("break")
        return x + 1, held.get(key), key in held

    check(fn, torch.ones(2))


def test_views_of_dicts_compare_by_asking_for_each_item() -> None:
    class Refusing:
        def __eq__(self, other: object) -> bool:
            raise RuntimeError("compared")

    def fn(x: Any) -> Any:
        out = []
        a, b = {1: Refusing()}, {1: Refusing()}
        try:
            out.append(a.items() == b.items())
        except RuntimeError as error:
            out.append(str(error))
        small, large = {1: 2}, {1: 2, 3: 4}
        out += [small.items() < large.items(), large.keys() >= {1}, small.keys() == {1}]
        out += [{1, 5} & large.keys(), large.keys() - {1}, {9} | small.keys()]
        return x + 1, out

    check(fn, torch.ones(2))


def test_two_equal_frozensets_are_two_objects() -> None:
    def fn(x: Any) -> Any:
        items = ["a", "b"]
        one, two = frozenset(items), frozenset(reversed(items))
        return x + 1, one == two, one is two, id(one) == id(two), frozenset(one) is one

    check(fn, torch.ones(2), graphs=1)


def test_a_frozenset_that_holds_what_holds_it_is_made_once() -> None:
    class Holding(frozenset):  # type: ignore[type-arg]
        pass

    class Box:
        value: Any = None

    def fn(x: Any) -> Any:
        box = Box()
        made = Holding([box])
        box.value = made
        print("break")
        return x + 1, next(iter(made)).value is made

    check(fn, torch.ones(2))


def test_a_dead_weak_proxy_is_passed_around() -> None:
    import weakref

    class Thing:
        pass

    proxy = weakref.proxy(Thing())

    def fn(x: Any) -> Any:
        held = proxy
        try:
            held.attribute  # noqa: B018
        except ReferenceError:
            return x + 1
        return x

    check(fn, torch.ones(2))


def test_the_context_of_an_exception_is_what_the_caller_handles() -> None:
    def inner(x: Any) -> Any:
        import sys

        try:
            raise KeyError("inner")
        except KeyError as error:
            return x + 1, type(error.__context__), sys.exc_info()[0]

    def fn(x: Any) -> Any:
        try:
            raise ValueError("outer")
        except ValueError:
            return inner(x)

    import suture

    check(fn, torch.ones(2))
    compiled = suture.compile(inner, backend="eager")

    def called_while_handling(x: Any) -> Any:
        try:
            raise ValueError("outer")
        except ValueError:
            return compiled(x)

    for _ in range(2):
        assert compiled(torch.ones(2))[1:] == (type(None), KeyError)
        assert called_while_handling(torch.ones(2))[1:] == (ValueError, KeyError)


def test_a_call_that_breaks_below_a_handler_sees_what_is_handled() -> None:
    import sys

    def deepest() -> Any:
        print("break")
        return sys.exc_info()[0]

    def middle() -> Any:
        print("break")
        return deepest()

    def fn(x: Any) -> Any:
        try:
            raise KeyError
        except KeyError:
            seen = middle()
        return x + 1, seen, sys.exc_info()[0]

    check(fn, torch.ones(2))


def test_sorting_does_not_ask_for_the_order_of_a_set():
    def fn(x):
        numbers = {5, 17, 33, 1}
        numbers.discard(17)
        numbers.add(49)
        names = {"b", "a", "c"}
        names.remove("a")
        return x + 1, sorted(numbers), sorted(names, reverse=True)

    checked(fn, torch.ones(2))


def test_a_set_that_grows_while_it_is_iterated_raises():
    def fn(x, members, grow):
        for member in members:
            x = x + member
            if grow:
                members.add(member + 10)
        return x

    for grow in (False, True):
        check(fn, torch.ones(2), {1, 2, 3}, grow, graphs=None)
