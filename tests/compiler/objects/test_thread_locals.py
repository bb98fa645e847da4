"""What each thread holds for itself: read and set in the thread that calls."""

from __future__ import annotations

import threading

import torch

import suture
from tests.harness import check


class Counted(threading.local):
    step = 10

    def advance(self):
        self.step = self.step + 1
        return self.step


HELD = threading.local()
COUNTED = Counted()


def test_an_attribute_is_set_and_read_back_in_one_graph():
    def fn(x):
        HELD.value = x + 1
        HELD.value = HELD.value * 2
        return HELD.value + x

    check(fn, torch.ones(2), graphs=1)
    assert HELD.value.tolist() == [4.0, 4.0]


def test_a_counter_of_a_thread_goes_on_from_call_to_call():
    suture.reset()
    local = threading.local()
    local.count = 0

    def fn(x):
        local.count += 1
        return x * local.count

    compiled = suture.compile(fn, backend="eager", fullgraph=True)
    assert [compiled(torch.ones(1)).item() for _ in range(5)] == [1, 2, 3, 4, 5]
    assert local.count == 5


def test_another_thread_sets_its_own():
    suture.reset()
    local = threading.local()
    seen = []

    def fn(x):
        local.value = x + getattr(local, "value", 0)
        return local.value

    compiled = suture.compile(fn, backend="eager")
    compiled(torch.ones(1))
    compiled(torch.ones(1))

    def other():
        compiled(torch.ones(1))
        seen.append(local.value.item())

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert seen == [1.0] and local.value.item() == 2.0


def test_a_subclass_with_a_method_that_sets():
    def fn(x):
        before = COUNTED.step
        after = COUNTED.advance()
        COUNTED.step = before
        return x * after, before

    check(fn, torch.ones(2), graphs=1)
    assert COUNTED.step == 10


def test_an_attribute_that_was_set_can_be_deleted_and_looked_for():
    def fn(x):
        HELD.gone = x
        del HELD.gone
        return x + 1, hasattr(HELD, "gone")

    check(fn, torch.ones(2), graphs=None, breaks=None)
    assert not hasattr(HELD, "gone")


def test_all_attributes_are_listed_after_one_was_set():
    def fn(x):
        HELD.listed = 3
        return x + 1, HELD.__dict__["listed"], vars(HELD)["listed"]

    check(fn, torch.ones(2), graphs=None, breaks=None)


def test_what_the_thread_held_before_is_deleted():
    local = threading.local()

    def fn(x):
        value = local.kept
        del local.kept
        try:
            return local.kept
        except AttributeError as error:
            return x * value, str(error), hasattr(local, "kept"), getattr(local, "kept", 3)

    def make():
        local.kept = 4
        return (torch.ones(2),)

    check(fn, make=make, graphs=1)
    assert not hasattr(local, "kept")


def test_deleting_what_is_not_there():
    local = threading.local()

    def fn(x):
        try:
            del local.missing
        except AttributeError as error:
            return x + 1, str(error)

    check(fn, torch.ones(2), graphs=1)
