"""Side effects: in order, on the same objects, and visible after an exception too."""

from __future__ import annotations

import collections
import os
import tempfile

import pytest
import torch

import suture
from tests.harness import check, same


class Node:
    def __init__(self, value=0):
        self.value = value
        self.next = None

    def bump(self, by):
        self.value += by
        return self


GLOBAL: list = []
COUNTER = 0


def twice(fn, make):
    """Call plainly and compiled on equal states, compare results and states each time."""
    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    for _ in range(2):
        a, b = make(), make()
        errors = []
        for call, args in ((fn, a), (compiled, b)):
            try:
                errors.append(call(*args))
            except Exception as error:
                errors.append((type(error), error.args))
        same(errors[0], errors[1], "result")
        same(a, b, "arguments")


def test_order_of_new_attributes():
    def fn(x, node):
        node.b = 1
        node.a = 2
        node.value = 3
        del node.b
        node.b = x + 1
        return list(vars(node))

    check(fn, torch.ones(2), Node())


def test_list_made_here_is_in_two_places():
    def fn(x, node):
        items = [x + 1]
        node.items = items
        node.again = items
        items.append(2)
        return items is node.items, node.items is node.again

    check(fn, torch.ones(2), Node())


def test_object_that_holds_itself():
    def fn(x):
        node = Node(x * 2)
        node.next = node
        items = [node]
        items.append(items)
        return node.next is node, items[1] is items, node.value

    check(fn, torch.ones(2))


def test_circle_leaves_the_region():
    def fn(x):
        a, b = Node(x), Node(x + 1)
        a.next, b.next = b, a
        table = {"a": a}
        a.table = table
        return a

    suture.reset()
    made = suture.compile(fn, backend="eager")(torch.ones(2))
    assert made.next.next is made
    assert made.table["a"] is made


def test_effects_before_an_exception():
    def fn(x, node, items, table):
        node.value = 5
        items.append(1)
        table["k"] = 2
        y = x + 1
        node.y = y
        items.pop(10)
        node.value = 6

    twice(fn, lambda: (torch.ones(2), Node(), [], {}))


def test_effects_in_a_handler_and_finally():
    def fn(x, node, items):
        try:
            items.append(1)
            items[5] = 2
        except IndexError as error:
            items.append(str(error))
            node.value = x + 1
            raise KeyError("again") from error
        finally:
            items.append("finally")

    twice(fn, lambda: (torch.ones(2), Node(), []))


def test_effects_on_both_sides_of_a_break():
    def fn(x, node, items):
        node.value = 1
        items.append(node.value)
        suture.graph_break()
        items.append(node.value + 1)
        node.value = x.sum()
        return x * len(items)

    check(fn, torch.ones(2), Node(), [], graphs=1, breaks=("GB0025",))


def test_global_is_set_and_deleted():
    def fn(x):
        global COUNTER, GONE
        COUNTER = 7
        GONE = 1
        del GONE
        GLOBAL.append(COUNTER)
        return x + COUNTER

    for _ in range(2):
        GLOBAL.clear()
        fn(torch.ones(2))
        plain = list(GLOBAL), COUNTER
        GLOBAL.clear()
        globals()["COUNTER"] = 0
        suture.compile(fn, backend="eager")(torch.ones(2))
        assert plain == (list(GLOBAL), COUNTER)
        assert "GONE" not in globals()


def test_nonlocal_of_a_function_that_leaves():
    def fn(x):
        n = 0

        def step():
            nonlocal n
            n += 1
            return n

        step()
        return x + n, step

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    for _ in range(2):
        y, step = compiled(torch.ones(2))
        assert step() == 2
        assert step() == 3


def test_two_functions_share_a_cell():
    def fn(x):
        n = 1

        def put(v):
            nonlocal n
            n = v

        def get():
            return n

        put(5)
        return put, get, x + n

    put, get, _ = suture.compile(fn, backend="eager")(torch.ones(2))
    assert get() == 5
    put(9)
    assert get() == 9


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.update(z=1),
        lambda d: d.pop("a"),
        lambda d: d.__setitem__("a", 5),
        lambda d: (d.pop("a"), d.__setitem__("a", 5)),
        lambda d: d.clear(),
        lambda d: d.popitem(),
        lambda d: d.setdefault("q", []).append(1),
    ],
)
@pytest.mark.parametrize("kind", [dict, collections.OrderedDict])
def test_dict_keeps_its_order(change, kind):
    def fn(x, table):
        change(table)
        return x + len(table), list(table)

    check(fn, torch.ones(2), kind(a=1, b=2, c=3))


def test_dict_is_changed_while_its_iterator_waits_at_a_break():
    def fn(x, table):
        for key in table:
            table[key] = x * 2
            suture.graph_break()
        return table

    check(fn, torch.ones(2), {"a": 1, "b": 2, "c": 3}, graphs=None, breaks=None, recompiles=None)


def test_list_grows_while_it_is_iterated():
    def fn(x, items):
        for item in items:
            if len(items) < 6:
                items.append(item + 1)
            x = x + item
        return x

    check(fn, torch.ones(2), [1, 2])


def test_dict_that_grows_while_it_is_iterated_raises():
    def fn(x, table):
        for key in table:
            table[key + "!"] = 1
        return x

    twice(fn, lambda: (torch.ones(2), {"a": 1}))


def test_aliased_arguments_change_together():
    def fn(x, a, b):
        a.append(1)
        b.append(2)
        return x + len(a), a is b

    one: list = []
    check(fn, torch.ones(2), one, one)


def test_default_argument_that_changes():
    def fn(x, log=[]):  # noqa: B006
        log.append(len(log))
        return x + len(log)

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    for n in range(1, 4):
        same(compiled(torch.ones(2)), torch.ones(2) + n, "result")


def test_method_changes_its_object_through_another_name():
    def fn(x, node):
        other = node
        other.bump(2).bump(3)
        return x * node.value, other is node

    check(fn, torch.ones(2), Node(1))


def test_tensor_in_a_list_is_changed_in_place():
    def fn(x, items):
        items[0].add_(1)
        items.append(items[0])
        return x + items[1]

    check(fn, torch.ones(2), [torch.zeros(2)])


def test_set_and_deque():
    def fn(x, a, b):
        a.add(7)
        a.discard(1)
        b.appendleft(0)
        b.rotate(1)
        return x + len(a) + b[0]

    check(fn, torch.ones(2), {1, 2}, collections.deque([1, 2, 3], maxlen=4))


def test_exception_object_keeps_what_was_put_on_it():
    def fn(x):
        error = ValueError("a", 1)
        error.extra = x + 1
        try:
            raise error
        except ValueError as caught:
            return caught is error, caught.extra, caught.args

    check(fn, torch.ones(2))


def test_traceback_and_context_of_a_caught_exception():
    def fn(x):
        try:
            try:
                raise KeyError("a")
            except KeyError:
                raise ValueError("b") from None
        except ValueError as error:
            found = error
        return x + 1, found

    suture.reset()
    _, error = suture.compile(fn, backend="eager")(torch.ones(2))
    assert error.__suppress_context__
    assert isinstance(error.__context__, KeyError)
    assert error.__traceback__.tb_frame.f_code is fn.__code__


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_what_ends_with_its_owner_lasts_as_long_as_the_variable():
    def fn(x):
        folder = tempfile.TemporaryDirectory()
        path = folder.name
        file = tempfile.TemporaryFile()
        number = file.fileno()
        x = x + 1
        suture.graph_break()
        seen = os.path.exists(path), os.fstat(number).st_size
        suture.graph_break()
        return x * 2, seen, os.path.exists(path)

    check(fn, torch.ones(2), graphs=None, breaks=None, recompiles=None)
