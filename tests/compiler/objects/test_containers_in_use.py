"""Containers whose methods run code of the program, and views of dicts that come from outside."""

from __future__ import annotations

import collections
import weakref

import pytest
import torch

import suture
from tests.harness import check


def test_extend_shows_each_item_to_the_iterator_behind_it():
    def fn(x):
        sums = [1]
        sums.extend(map(lambda n: n + sums[-1], range(4)))
        ends = collections.deque([1], maxlen=3)
        ends.extendleft(n + ends[0] for n in range(4))
        ends.extend(n + ends[-1] for n in range(2))
        return x + sums[-1], sums, ends

    check(fn, torch.ones(2), graphs=1)


def test_extend_keeps_what_came_before_an_error():
    def fn(x):
        items = []

        def numbers():
            yield 1
            yield 2
            raise ValueError("three")

        try:
            items.extend(numbers())
        except ValueError:
            x = x + len(items)
        return x, items

    check(fn, torch.ones(2), graphs=1)


def test_views_of_a_dict_are_arguments():
    held = {"a": 1, "b": 2}
    keys, values, items = held.keys(), held.values(), held.items()

    def fn(x):
        return x * len(keys), "a" in keys, list(values), dict(items)

    check(fn, torch.ones(2), graphs=1)


def test_view_follows_its_dict_between_calls():
    def fn(x, keys):
        return x + len(keys)

    held = {"a": 1}
    compiled = suture.compile(fn, backend="eager", fullgraph=True)
    assert compiled(torch.zeros(1), held.keys()).item() == 1
    held["b"] = 2
    assert compiled(torch.zeros(1), held.keys()).item() == 2


def test_fromkeys_of_classes_that_derive_from_dict():
    class Loud(dict):
        def __setitem__(self, key, value):
            super().__setitem__(key, value * 2)

    def fn(x):
        counts = collections.defaultdict.fromkeys(["a", "b"], 3)
        return x * counts["a"], Loud.fromkeys([1], 4)[1], type(Loud.fromkeys([])) is Loud

    check(fn, torch.ones(2), graphs=1)


def test_set_can_be_set_up_again():
    def fn(x):
        changed, fixed = {1, 2}, frozenset({1, 2})
        changed.__init__([3])
        fixed.__init__([3])
        return x + len(changed) + len(fixed), changed, fixed

    check(fn, torch.ones(2), graphs=1)


def test_methods_of_sequences_answer_and_refuse_as_python_does():
    def fn(x):
        answers = [[1].__eq__([1]), [1].__lt__([2]), (1,).__ge__([1]), (1,).__ne__(3)]
        for act in (lambda: [1].__add__(3), lambda: (1,).__mul__(2.0), lambda: [1, 2][::0]):
            try:
                answers.append(act())
            except (TypeError, ValueError) as error:
                answers.append(str(error))
        return x + 1, answers

    check(fn, torch.ones(2), graphs=1)


def test_isdisjoint_stops_at_the_first_that_is_in_both():
    def fn(x):
        seen = []
        {2, 4}.isdisjoint(seen.append(n) or n for n in (1, 2, 3))
        return x + len(seen)

    check(fn, torch.ones(2), graphs=1)


def test_weak_keys_are_found_by_what_they_refer_to():
    first, second, other = (torch.nn.Module() for _ in range(3))
    held = weakref.WeakKeyDictionary({first: 2, second: 3})

    def fn(x):
        return x + held[second], first in held, other in held

    check(fn, torch.ones(2), graphs=1)


def test_union_of_a_dict_and_an_ordered_one_is_ordered():
    def fn(x):
        made = {"b": 1} | collections.OrderedDict(a=2)
        return x + 1, type(made).__name__, collections.OrderedDict.fromkeys("ab", value=3)

    check(fn, torch.ones(2), graphs=1)


def test_plain_dict_pops_no_first_item():
    def fn(x):
        try:
            {1: 2}.popitem(False)
        except TypeError as error:
            return x + 1, str(error)

    check(fn, torch.ones(2), graphs=1)


def test_items_are_read_past_a_getitem_of_the_class():
    class Rows(list):
        def __getitem__(self, i):
            raise RuntimeError("not to be called")

    class Table(dict):
        def __getitem__(self, key):
            raise RuntimeError("not to be called")

    def fn(x, rows, table):
        rows.append(4)
        return x * len(rows), 3 in rows, list(table.values()), table.get("a")

    rows, table = Rows([1, 3]), Table(a=torch.ones(1))
    _, found, values, got = suture.compile(fn, backend="eager", fullgraph=True)(
        torch.ones(1), rows, table
    )
    assert found
    assert values[0] is got
    assert list(rows) == [1, 3, 4]


def test_sequence_extended_by_itself_takes_what_it_held():
    class Rows(list):
        pass

    def fn(x):
        rows, ends = Rows([1, 2]), collections.deque([1, 2])
        rows.extend(rows)
        ends.extendleft(ends)
        return x + len(rows), list(rows), ends

    check(fn, torch.ones(2), graphs=1)


def test_list_that_grows_while_it_is_read_backwards():
    def fn(x, held):
        made = [1, 2, 3]
        for i in reversed(made):
            made.append(i * 10)
        for i in reversed(held):
            held.append(i * 10)
        rest = reversed(made)
        next(rest)
        made.append(0)
        return x + len(made), made, list(rest), held

    check(fn, torch.ones(2), [1, 2], graphs=1)


def test_reversed_iterator_stays_where_it_is_over_a_break():
    def fn(x):
        items = [1, 2, 3]
        rest = reversed(items)
        next(rest)
        items.append(9)
        suture.graph_break()
        return x + 1, list(rest)

    assert suture.compile(fn, backend="eager")(torch.ones(1))[1] == [2, 1]


def test_list_from_outside_is_extended_by_what_looks_at_it():
    def fn(x, items):
        items.extend(items[-1] + n for n in range(3))
        return x + len(items)

    check(fn, torch.ones(2), [1, 2], graphs=1)


def test_a_list_from_outside_is_repeated_in_place():
    def fn(items, x):
        items *= 2
        return x + sum(items), items == [1, 2, 1, 2]

    check(fn, [1, 2], torch.ones(2))


def test_sets_keep_the_order_of_tables_that_made_room_first():
    def fn(x):
        written = {"alpha", "beta", "gamma", "delta", "epsilon"}
        joined = {"a", "b", "c"} | {"c", "d"}
        frozen = frozenset(["e", "f", "g"]) | {"h", "i", "j"}
        out = [x + len(name) for name in written]
        return out, [*written], written, f"{joined}", joined, list(frozen), frozen

    suture.reset()
    eager, ours = fn(torch.ones(2)), suture.compile(fn, backend="eager")
    given = ours(torch.ones(2))
    assert [repr(e) for e in eager] == [repr(g) for g in given]
    assert not suture.stats().breaks


def test_methods_of_dict_go_round_what_a_defaultdict_does():
    def fn(x):
        counts = collections.defaultdict(int, {"a": 1})
        copied, merged = dict.copy(counts), dict.__or__(counts, {"b": 2})
        return x + 1, type(copied), type(merged), copied, merged

    compiled = suture.compile(fn, backend="eager")
    assert compiled(torch.ones(2))[1:] == fn(torch.ones(2))[1:]


@pytest.mark.parametrize("kind", [collections.OrderedDict, dict])
def test_order_counts_between_ordered_dicts_alone(kind):
    def fn(x):
        one, other = collections.OrderedDict(a=1, b=2), kind(b=2, a=1)
        return x + 1, one == other, one != other, other == one

    check(fn, torch.ones(2))


def test_an_ordered_dict_that_changes_under_a_loop():
    def fn(table, x):
        for key in table:
            table.move_to_end(key)
        return x

    def deleting(table, x):
        for key in table:
            del table[key]
        return x

    def at_the_end(table, x):
        for key in table:
            if key == "c":
                table["d"] = 4
        return x + len(table)

    for each in (fn, deleting, at_the_end):
        make = lambda: (collections.OrderedDict.fromkeys("abc"), torch.ones(2))  # noqa: E731
        check(each, make=make, breaks=None, graphs=None, recompiles=None, interpreted=None)


def test_an_ordered_dict_changed_as_a_dict_is_left_to_python():
    def fn(x):
        table = collections.OrderedDict(a=1, b=2)
        dict.__delitem__(table, "a")
        try:
            return x + 1, list(table)
        except KeyError as error:
            return x - 1, error.args

    check(fn, torch.ones(2), breaks=None, graphs=None, recompiles=None, interpreted=None)


def test_a_deque_repeated_in_place_keeps_to_its_length():
    def fn(x):
        line = collections.deque("abc", maxlen=4)
        line *= 3
        return x + len(line), line

    check(fn, torch.ones(2))


def test_a_list_that_is_changed_and_changed_back_while_it_is_sorted():
    def fn(x):
        items = [2, 1]

        def key(item):
            items.append(item)
            items.pop()
            return item

        items.sort(key=key)
        return x

    check(fn, torch.ones(2), breaks=None, graphs=None, interpreted=None)


@pytest.mark.parametrize("limit", [None, 3])
def test_a_deque_from_outside_that_only_grows_is_compiled_once(limit):
    suture.reset()
    line = collections.deque([0, 1], maxlen=limit)

    def fn(x):
        line.append(x.shape[0])
        line.extend([7, 8])
        return x + 1

    compiled = suture.compile(fn, backend="eager", fullgraph=True)
    for _ in range(4):
        compiled(torch.ones(2))
    wanted = collections.deque([0, 1, *[2, 7, 8] * 4], maxlen=limit)
    assert line == wanted
    assert suture.stats().variants == 1


def test_a_deque_from_outside_is_looked_at_after_it_grew():
    def fn(line, x):
        before = len(line)
        line.append(5)
        return x + line[-1] + line[0], before, len(line), list(line), 5 in line, bool(line)

    check(fn, make=lambda: (collections.deque([1, 2, 3], 3), torch.ones(2)))


def test_a_long_deque_is_appended_to_and_measured():
    def fn(line, x):
        size = len(line)
        line.append(5)
        return x + size

    check(fn, make=lambda: (collections.deque(range(20_000)), torch.ones(2)))


def test_many_items_from_outside_are_sorted_by_python():
    def fn(pairs, x):
        return x + 1, sorted(pairs, key=lambda p: p[1])[0], sorted(pairs, reverse=True)[0]

    pairs = [(i * 37 % 1000, i * 11 % 1000) for i in range(1000)]
    check(fn, pairs, torch.ones(2), graphs=None, breaks=("GB2033", "GB2033"))


def test_known_keys_are_put_in_order_at_once():
    def fn(x):
        pairs = [(i * 37 % 400, str(i)) for i in range(400)]
        mixed = [(1, None), (1, 2)]
        try:
            mixed.sort()
        except TypeError as error:
            text = str(error)
        return x + 1, sorted(pairs)[:3], sorted(pairs, key=lambda p: -p[0], reverse=True)[:3], text

    check(fn, torch.ones(2))
