"""A callback has a say before a variant that fits is run."""

from __future__ import annotations

import pytest
from core_under_test import core


def identity(x):
    return x


@pytest.fixture
def compiled():
    """A function whose variant adds 1, and whose misses multiply."""
    point = core.Point("identity", lambda point, state: lambda fn, x: x * 10)
    point.add(lambda fn, x: x + 1)
    yield core.Compiled(identity, point)
    core.set_choice_callback(None)


def test_it_sees_point_and_state_and_may_let_it_run(compiled):
    seen = []
    assert core.set_choice_callback(lambda *given: seen.append(given) or True) is None
    assert compiled(1) == 2
    ((point, state),) = seen
    assert point.name == "identity" and state[1:] == (1,)


def test_a_no_is_a_miss(compiled):
    core.set_choice_callback(lambda point, state: False)
    assert compiled(1) == 10
    core.set_choice_callback(None)
    assert compiled(1) == 2


def test_what_it_raises_the_call_raises(compiled):
    def fail(point, state):
        raise KeyError("no")

    core.set_choice_callback(fail)
    with pytest.raises(KeyError):
        compiled(1)
    assert core.set_choice_callback(None) is fail


def test_it_must_be_callable():
    with pytest.raises(TypeError):
        core.set_choice_callback(3)
