"""What is read of the iterators of loops: how much is to come, which dict it is of."""

from __future__ import annotations

import collections

import pytest
from core_under_test import core

LETTERS = {"a": 1, "b": 2, "c": 3}


class Counting:
    """An iterator of the program, which must not be asked."""

    def __iter__(self):
        return self

    def __next__(self):
        raise AssertionError("it was advanced")

    def __length_hint__(self):
        raise AssertionError("it was asked")

    def __reduce__(self):
        raise AssertionError("it was taken apart")


def advanced(iterator, by):
    for _ in range(by):
        next(iterator)
    return iterator


@pytest.mark.parametrize(
    "of", [[1, 2, 3], (1, 2, 3), range(3), "abc", LETTERS, LETTERS.values(), LETTERS.items()]
)
def test_what_is_to_come_is_counted(of):
    for at in range(4):
        iterator = advanced(iter(of), at)
        assert core.coming_of(iterator) == 3 - at
        assert len(list(iterator)) == 3 - at


def test_below_enumerate_and_zip_the_first_is_counted():
    assert core.coming_of(advanced(enumerate([1, 2, 3]), 1)) == 2
    assert core.coming_of(zip(enumerate("ab"), [1, 2, 3])) == 2
    assert core.coming_of(zip()) == -1


@pytest.mark.parametrize(
    "iterator", [Counting(), enumerate(Counting()), map(str, []), iter({1}), 3, None]
)
def test_what_does_not_count_is_not_asked(iterator):
    assert core.coming_of(iterator) == -1


@pytest.mark.parametrize("view", ["keys", "values", "items"])
@pytest.mark.parametrize("kind", [dict, collections.OrderedDict])
def test_what_is_left_of_a_dict(view, kind):
    of = kind(LETTERS)
    for at in range(3):
        iterator = advanced(iter(getattr(dict, view)(of)), at)
        assert core.dict_of(iterator) is of
        assert core.left_of(iterator) == 3 - at
        assert len(list(iterator)) == 3 - at
        assert core.dict_of(iterator) is None
        assert core.left_of(iterator) == -1


@pytest.mark.parametrize("view", ["keys", "values", "items"])
def test_a_dict_that_changes_below_its_iterator(view):
    of = {key: object() for key in "abc"}
    iterator = advanced(iter(getattr(of, view)()), 1)
    of["d"] = of.pop("b")  # as many keys as before, and the iterator goes on with these
    assert core.left_of(iterator) == 2
    assert core.coming_of(iterator) == 2
    del of["d"]
    assert core.coming_of(iterator) == 0  # it is not to be gone on with
    with pytest.raises(RuntimeError, match="changed size"):
        core.left_of(iterator)


def test_no_dict_is_found_elsewhere():
    for iterator in (iter([{}]), Counting(), enumerate({}), {}):
        assert core.dict_of(iterator) is None
        assert core.left_of(iterator) == -1
