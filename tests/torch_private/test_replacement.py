"""Attributes that stand for others while a block is open."""

from __future__ import annotations

import threading
import types

import pytest

from suture.torch_private.replacement import Replacement


@pytest.fixture
def torchs():
    return types.SimpleNamespace(one="torch's", two="torch's", other="torch's")


def test_they_stand_there_from_the_first_block_to_the_last(torchs):
    made = []

    def make():
        made.append(None)
        return torchs, {"one": "ours", "two": "ours"}

    replacement = Replacement(make)
    with replacement:
        with replacement:
            assert (torchs.one, torchs.two, torchs.other) == ("ours", "ours", "torch's")
        assert (torchs.one, torchs.two) == ("ours", "ours")
    assert vars(torchs) == dict.fromkeys(("one", "two", "other"), "torch's")
    with replacement:
        assert torchs.one == "ours"
    assert len(made) == 2


def test_an_exception_ends_a_block_as_well(torchs):
    replacement = Replacement(lambda: (torchs, {"one": "ours"}))
    with pytest.raises(ValueError, match="program"), replacement:
        raise ValueError("program")
    assert torchs.one == "torch's"


def test_nothing_is_replaced_of_what_is_not_known(torchs):
    known = False
    replacement = Replacement(lambda: (torchs, {"one": "ours"}) if known else None)
    with replacement:
        assert torchs.one == "torch's"
        known = True
        with replacement:
            assert torchs.one == "ours"
    assert torchs.one == "torch's"


def test_the_last_thread_to_leave_puts_them_back(torchs):
    replacement = Replacement(lambda: (torchs, {"one": "ours"}))
    inside, leave = threading.Event(), threading.Event()

    def other():
        with replacement:
            inside.set()
            assert leave.wait(30)

    thread = threading.Thread(target=other)
    with replacement:
        thread.start()
        assert inside.wait(30)
    assert torchs.one == "ours"
    leave.set()
    thread.join()
    assert torchs.one == "torch's"
