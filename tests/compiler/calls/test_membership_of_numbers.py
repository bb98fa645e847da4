"""Whether a number that changes is one of some known ones is one decision."""

import pytest
import torch

import suture
from tests.harness import Graphs


def graphs_for(fn, calls):
    """How many graphs the calls make, each of which gives what eager gives."""
    suture.reset()
    graphs = Graphs()
    compiled = suture.compile(fn, backend=graphs)
    for args in calls:
        torch.testing.assert_close(compiled(*args), fn(*args))
    return len(graphs)


X = torch.ones(3)
NUMBERS = [(X, i) for i in (3, 0, 1, 2, 4, 5, 6, 7, 8, -1, 2**40)]


@pytest.mark.parametrize(
    "members",
    [
        (1, 4, 7),
        [1, 4, 7],
        {1, 4, 7},
        frozenset({1, 4, 7}),
        range(1, 8, 3),
        (1.0, True, "1", None, 4, 7.0, 7.5, float("nan"), float("inf")),
    ],
)
def test_containers_of_numbers(members):
    def fn(x, i):
        return x.sin() if i in members else x.cos()

    assert graphs_for(fn, NUMBERS) == 3


def test_containers_that_are_written_in_the_function():
    def fn(x, i):
        y = x.sin() if i in (1, 4, 7) else x.cos()
        return y + 1 if i + 1 not in [2, 5, 8] else y

    assert graphs_for(fn, NUMBERS) == 3


def test_containers_that_are_arguments():
    def fn(x, i, skipped):
        return x.sin() if i in skipped else x.cos()

    assert graphs_for(fn, [(x, i, [1, 4]) for x, i in NUMBERS]) == 3
    calls = [(X, 1, [1, 4]), (X, 2, [1, 4]), (X, 2, [2, 4]), (X, 4, [2, 3]), (X, 1, [1, 4])]
    assert graphs_for(fn, calls) <= 5


def test_sizes():
    def fn(x):
        return x.sin() if x.size(0) in (4, 8) else x.cos()

    assert graphs_for(fn, [(torch.ones(n),) for n in (3, 4, 5, 6, 7, 8, 9)]) == 3


def test_one_of_none_and_of_one():
    def fn(x, i):
        return x.sin() if i in () or i in [7] else x.cos()

    assert graphs_for(fn, NUMBERS) == 3


def test_what_is_found_is_used():
    def fn(x, i):
        return x * {1: 10, 4: 20}[i] if i in {1: 10, 4: 20} else x * i

    graphs_for(fn, NUMBERS[:6])


def test_members_that_have_an_equality_of_their_own_are_asked():
    asked = []

    class One:
        def __eq__(self, other):
            asked.append(other)
            return other == 1

        def __hash__(self):
            return 1

    one = One()

    def fn(x, i):
        return x.sin() if i in (one, 7) else x.cos()

    for i in (2, 1, 7, 3):
        asked.clear()
        compiled = suture.compile(fn, backend="eager")
        torch.testing.assert_close(compiled(X, i), X.sin() if i in (1, 7) else X.cos())
        assert asked == [i]
