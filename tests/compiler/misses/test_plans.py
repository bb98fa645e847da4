"""One plan for each try, one loop: what a retry changes, and that it says why."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
import torch

import suture
from suture import events
from suture.compiler.capture import Capture, Interpret, Return
from suture.compiler.misses.history import History
from suture.compiler.plan import Plan, Stop
from tests.harness import check

X = torch.arange(4.0)
HERE = (check.__code__, 3)


def reasons(fn, *args, backend="eager", **options):
    """Why regions of a call were traced again, in order."""
    suture.reset()
    with events.recorded(events.Retried) as seen:
        suture.compile(fn, backend=backend, **options)(*args)
    assert [event.tries for event in seen] == list(range(1, len(seen) + 1))
    return [event.reason for event in seen]


class TestPlans:
    def test_a_plan_and_a_capture_are_frozen(self):
        with pytest.raises(dataclasses.FrozenInstanceError):
            Plan().dynamic = True
        assert Capture.__dataclass_params__.frozen
        assert "tracer" not in {field.name for field in dataclasses.fields(Capture)}

    def test_another_assumption_drops_the_stop(self):
        stopping = Plan().stopping(Stop(7, Interpret(raises=False)))
        assert stopping.stop.step == 7
        assert stopping.leaving(frozenset({HERE})).stop is None
        assert stopping.leaving(frozenset({HERE})).by_python == {HERE}

    def test_a_refused_float_is_data_first_and_then_a_constant(self):
        first = Plan().refusing(frozenset({"L['a']"}))
        assert first.floats_as_data and not first.constants
        assert first.refusing(frozenset({"L['a']"})).constants == {"L['a']"}


class TestHistory:
    def test_what_a_try_found_counts_for_later_ones_but_where_it_stopped(self):
        history = History(dynamic=None)
        history.keep(Plan(without_data=True).stopping(Stop(7, Return(None))))
        assert history.plan() == Plan(without_data=True)

    def test_a_branch_on_data_is_expected_no_more_once_it_went_otherwise(self):
        history = History(dynamic=None)
        history.unexpected([(HERE, False)])
        assert history.plan().unexpected == {HERE}

    def test_a_branch_on_what_modules_keep_may_turn_once(self):
        history = History(dynamic=None)
        history.unexpected([(HERE, True)])
        assert not history.plan().unexpected
        history.unexpected([(HERE, True)])
        assert history.plan().unexpected == {HERE}


class TestReasons:
    def test_none_where_the_first_try_holds(self):
        assert reasons(lambda x: x + 1, X) == []

    def test_a_break_in_the_midst_of_an_instruction(self):
        def fn(x):
            def key(n):
                suture.graph_break()
                return -n

            return x * sorted([1, 3, 2], key=key)[0]

        (reason,) = reasons(fn, X)
        assert reason.startswith("in the midst of an instruction: GB0025")

    def test_a_number_that_the_region_itself_changes(self):
        def fn(x, state):
            state["step"] += 1
            return x * state["step"]

        assert reasons(fn, X, {"step": 2}) == ["the region itself changes L['state']['step']"]

    def test_an_iterator_that_leaves_the_region(self):
        def fn(x):
            it = itertools.chain([x], [x + 1])
            return next(it) + 1, it

        (reason, *_) = reasons(fn, X)
        assert reason == "an iterator that has begun leaves the region: Python makes it"

    def test_a_backend_that_refuses_symbols(self):
        def static_only(gm, inputs):
            made = [n.meta["example_value"] for n in gm.graph.nodes if n.op == "placeholder"]
            if any(
                isinstance(v, torch.SymInt) or isinstance(v.shape[0], torch.SymInt) for v in made
            ):
                raise RuntimeError("only constants here")
            return gm.forward

        (reason,) = reasons(lambda x: x + 1, X, backend=static_only, dynamic=True)
        assert "only constants here" in reason
        assert reason.endswith("sizes and numbers are constants")


class TestTheLimit:
    def grow(self, x, state):
        state["step"] += 1
        return x * state["step"]

    def test_the_region_is_interpreted_and_a_break_says_so(self):
        with suture.config.patch(retry_limit=0):
            out = check(
                self.grow, X, {"step": 2}, graphs=0, breaks=None, recompiles=None, interpreted=None
            )
        assert "GB0052" in out.numbers

    def test_a_full_graph_is_an_error_then(self):
        suture.reset()
        compiled = suture.compile(self.grow, backend="eager", fullgraph=True)
        with suture.config.patch(retry_limit=0):
            with pytest.raises(suture.errors.Unsupported, match="GB0052"):
                compiled(X, {"step": 2})
