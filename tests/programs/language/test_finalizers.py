"""Objects with a `__del__`: it runs, and not before the function is done with the object."""

from __future__ import annotations

import collections
import gc
import weakref

import pytest
import torch

import suture
from tests.harness import check

LOG: list[str] = []


class Handle:
    def __init__(self, name):
        self.name = name
        LOG.append(f"made {name}")

    def __del__(self):
        LOG.append(f"gone {self.name}")


@pytest.fixture(autouse=True)
def fresh_log():
    LOG.clear()
    gc.disable()
    yield
    gc.enable()


def logged(fn, calls=3):
    """What `fn` logs in plain calls and in compiled ones."""
    compiled = suture.compile(fn, backend="eager")
    found = []
    for call in (fn, *[compiled] * calls):
        LOG.clear()
        call(torch.ones(2))
        found.append(list(LOG))
    return found


def same_in_all(fn):
    plain, *others = logged(fn)
    assert others == [plain] * len(others)


def test_a_finalizer_runs_at_the_end_of_the_function():
    def fn(x):
        handle = Handle("a")
        y = x + 1
        LOG.append("at work")
        return y * len(handle.name)

    same_in_all(fn)


def test_an_object_that_is_read_no_more_lives_until_the_end():
    def fn(x):
        handle = Handle("a")  # noqa: F841
        y = x + 1
        torch._dynamo.graph_break()
        LOG.append("behind a break")
        torch._dynamo.graph_break()
        return y * 2

    same_in_all(fn)


def test_one_of_an_inlined_call_goes_before_the_function_returns():
    def inner(x):
        handle = Handle("inner")
        return x + len(handle.name)

    def fn(x):
        y = inner(x)
        LOG.append("behind the call")
        return y * 2

    plain, *others = logged(fn)
    assert list(map(sorted, others)) == [sorted(plain)] * len(others)


def test_an_object_that_is_returned_lives_on():
    def fn(x):
        handle = Handle("kept")
        return handle, x + 1

    compiled = suture.compile(fn, backend="eager")
    handle, _ = compiled(torch.ones(2))
    assert LOG == ["made kept"]
    del handle
    assert LOG == ["made kept", "gone kept"]


def test_a_temporary_object():
    def fn(x):
        y = x + len(Handle("t").name)
        LOG.append("behind it")
        return y

    plain, *others = logged(fn)
    assert list(map(sorted, others)) == [sorted(plain)] * len(others)


def test_a_derived_class():
    class Deeper(Handle):
        pass

    check(lambda x: x + len(Deeper("d").name), torch.ones(2), breaks=["GB2036", "GB2037"])


def test_compiling_keeps_nothing_of_the_first_call():
    class Plain:
        pass

    seen = []

    @torch._dynamo.disable
    def make():
        made = Plain()
        seen.append(weakref.ref(made))
        return made

    class Wrapped:
        def __init__(self, held):
            self.held = held
            seen.append(weakref.ref(self))

    def fn(x):
        held = Wrapped(make())
        torch._dynamo.graph_break()
        return x + 1, held.held is not None

    compiled = suture.compile(fn, backend="eager")
    compiled(torch.ones(2))
    assert [ref() for ref in seen] == [None] * len(seen)


def deleted(x):
    handle = Handle("a")
    y = x + len(handle.name)
    del handle
    LOG.append("behind")
    return y * 2


def replaced_behind_a_break(x):
    handle = Handle("a")
    suture.graph_break()
    y = x + 1
    handle = None
    LOG.append("behind")
    return y, handle


def given_to_a_call(x):
    def inner(x, handle):
        return x + len(handle.name)

    y = inner(x, Handle("a"))
    LOG.append("behind")
    return y * 2


def of_a_call_that_broke(x):
    def inner(x):
        handle = Handle("a")
        suture.graph_break()
        return x + len(handle.name)

    y = inner(x)
    LOG.append("behind")
    return y * 2


def kept_in_a_list(x):
    handle = Handle("a")
    suture.graph_break()
    kept = [handle]
    del handle
    LOG.append("still there")
    return x + len(kept)


@pytest.mark.parametrize(
    "fn",
    [deleted, replaced_behind_a_break, given_to_a_call, of_a_call_that_broke, kept_in_a_list],
)
def test_a_finalizer_runs_when_the_program_drops_the_object(fn):
    same_in_all(fn)


def test_a_weak_dictionary_forgets_what_the_program_drops():
    class Plain:
        pass

    table = weakref.WeakValueDictionary()

    def fn(x):
        made = Plain()
        table["made"] = made
        before = len(table)
        del made
        return x + 1, before, len(table)

    check(fn, torch.ones(2), graphs=None, breaks=None)


def test_a_generator_that_is_dropped_behind_a_break_is_closed_there():
    def numbers():
        try:
            yield 1
            yield 2
        finally:
            LOG.append("closed")

    def fn(x):
        made = numbers()
        x = x + next(made)
        suture.graph_break()
        del made
        LOG.append("behind")
        for i in numbers():
            suture.graph_break()
            x = x + i
            break
        LOG.append("behind the loop")
        return x * 2

    same_in_all(fn)


HELD: list = []
LAST: collections.deque = collections.deque(maxlen=2)


def clear():
    HELD.clear()


def delete():
    del HELD[0]


def put_over():
    HELD[1] = None


def cut():
    HELD[1:] = []


def pop_and_keep():
    handle = HELD.pop()
    LOG.append(f"popped {handle.name}")
    handle = None
    LOG.append("let go")


def push_out():
    LAST.append(None)


@pytest.mark.parametrize("change", [clear, delete, put_over, cut, pop_and_keep, push_out])
def test_an_object_goes_when_it_leaves_a_list_from_outside(change):
    def fn(x):
        y = x + 1
        LOG.append("before")
        change()
        LOG.append("behind")
        return y * 2

    compiled = suture.compile(fn, backend="eager")
    found = []
    for call in (fn, compiled, compiled):
        HELD[:] = [Handle("a"), Handle("b"), Handle("c")]
        LAST.extend([Handle("d"), Handle("e")])
        LOG.clear()
        call(torch.ones(2))
        found.append(list(LOG))
        HELD.clear()
        LAST.clear()
    assert found[0].index("behind") > 1  # something was in between
    assert found[1:] == [found[0]] * 2


def test_a_list_of_objects_with_a_finalizer_may_grow_in_one_graph():
    more = [Handle("a")]

    def fn(x):
        y = x + 1
        more.append(y)
        return y * 2

    check(fn, torch.ones(2), recompiles=None)


class Box:
    def __init__(self, of):
        self.of = of


def forget(of):
    of.of = None


def delete_attribute(of):
    del of.of


CHANGES = {
    "list pop": (list, list.pop),
    "list clear": (list, list.clear),
    "list cut": (list, lambda of: of.__setitem__(slice(1), [])),
    "deque popleft": (collections.deque, collections.deque.popleft),
    "dict pop": (lambda made: dict(enumerate(made)), lambda of: of.pop(0)),
    "dict put over": (lambda made: dict(enumerate(made)), lambda of: of.update({1: None})),
    "dict clear": (lambda made: dict(enumerate(made)), dict.clear),
    "attribute put over": (lambda made: Box(made[0]), forget),
    "attribute deleted": (lambda made: Box(made[1]), delete_attribute),
}


@pytest.mark.parametrize("name", CHANGES)
def test_weak_references_die_when_what_they_lead_to_leaves_its_holder(name):
    make, change = CHANGES[name]

    def fn(x, holder, members, reference, kept):
        before = len(members)
        change(holder)
        return x * 2, before, len(members), reference() is None, kept in members

    results = []
    compiled = suture.compile(fn, backend="eager")
    for call in (fn, compiled, compiled):
        made = [Box(i) for i in range(3)]
        kept = Box(3)
        members, reference = weakref.WeakSet([*made, kept]), weakref.ref(made[0])
        holder = make(made)
        del made
        results.append(call(torch.ones(2), holder, members, reference, kept)[1:])
    assert results[0][1] < results[0][0]
    assert results[1:] == [results[0]] * 2


@pytest.mark.parametrize("kind", [list, dict])
def test_a_finalizer_runs_where_a_container_lets_go(kind):
    def fn(x, holder):
        LOG.append("before")
        if kind is list:
            del holder[0]
        else:
            del holder["a"]
        LOG.append("behind")
        return x * 2

    found = []
    compiled = suture.compile(fn, backend="eager")
    for call in (fn, compiled, compiled):
        LOG.clear()
        call(torch.ones(2), [Handle("a")] if kind is list else {"a": Handle("a")})
        found.append(list(LOG))
    assert found == [["made a", "before", "gone a", "behind"]] * 3
