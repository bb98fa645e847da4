"""The user's marks, suture's and torch's: what they mean, and what they refuse."""

from __future__ import annotations

import functools
import operator

import pytest
import torch
import torch._dynamo
import torch._dynamo.trace_rules as trace_rules

import suture
from suture import rules
from suture.rules import CONSTANT, IN_GRAPH, INLINE, RUN, SPECIAL
from tests.harness import Graphs

# torch's tables know functions by id: one that is gone would leave its marks to another one
_ALIVE = []


def fresh():
    def function(x):
        return x

    _ALIVE.append(function)
    return function


@pytest.mark.parametrize(
    ("mark", "kind", "name"),
    [
        (rules.allow_in_graph, IN_GRAPH, None),
        (rules.nonstrict_trace, SPECIAL, "nonstrict_trace"),
        (rules.dont_skip_tracing, INLINE, None),
        (rules.forbid_in_graph, SPECIAL, "forbidden"),
        (rules.assume_constant_result, CONSTANT, "assume_constant_result"),
        (rules.disable, RUN, None),
    ],
)
def test_marks_as_decorators(mark, kind, name):
    marked = mark(fresh())
    verdict = rules.lookup(marked)
    assert verdict.kind is kind
    assert verdict.rule == f"mark {mark.__name__}"
    assert "test_marks.py" in verdict.where
    assert marked(3) == 3
    if name is not None:
        assert verdict.name == name


def test_marks_take_effect_after_a_verdict_was_given():
    function = fresh()
    assert rules.lookup(function).kind is INLINE
    rules.allow_in_graph(function)
    assert rules.lookup(function).kind is IN_GRAPH
    rules.unmark(function)
    assert rules.lookup(function).kind is INLINE


def test_marks_on_functions_one_cannot_edit():
    rules.disallow_in_graph([torch.sub, torch.Tensor.sub])
    try:
        assert rules.lookup(torch.sub).kind is RUN
        assert rules.lookup(torch.ones(1).sub).kind is RUN
        assert rules.lookup(torch.add).kind is IN_GRAPH
    finally:
        rules.unmark(torch.sub)
        rules.unmark(torch.Tensor.sub)
    assert rules.lookup(torch.sub).kind is IN_GRAPH


def test_disallow_is_for_what_would_be_a_node():
    with pytest.raises(rules.RuleError, match="goes into no graph anyway.*use disable"):
        rules.disallow_in_graph(fresh())


def test_marks_that_disagree_name_both_places():
    function = rules.allow_in_graph(fresh())
    with pytest.raises(rules.ConflictingMarks) as caught:
        rules.forbid_in_graph(function)
    text = str(caught.value)
    assert "allow_in_graph" in text
    assert "forbid_in_graph" in text
    assert text.count("test_marks.py:") == 2
    assert rules.lookup(rules.allow_in_graph(function)).kind is IN_GRAPH


def test_one_function_is_allowed_and_disallowed_in_turn():
    function = fresh()
    for mark, kind in 2 * [(rules.allow_in_graph, IN_GRAPH), (rules.disallow_in_graph, RUN)]:
        assert rules.lookup(mark(function)).kind is kind
    rules.unmark(function)


@pytest.mark.parametrize(
    "mark",
    [rules.allow_in_graph, rules.disable, rules.forbid_in_graph, rules.nonstrict_trace],
)
def test_marks_are_for_callables(mark):
    with pytest.raises(rules.RuleError, match="cannot be called"):
        mark(3)


def test_a_rule_error_is_a_value_error_and_a_user_error():
    from suture.errors import UserError

    with pytest.raises(ValueError, match="cannot be called"):
        rules.allow_in_graph(3)
    with pytest.raises(UserError):
        rules.allow_in_graph(3)


# disable


def test_disable_with_a_reason():
    @rules.disable(reason="talks to a database")
    def query(x):
        """The doc."""
        return x

    verdict = rules.lookup(query)
    assert verdict.kind is RUN
    assert verdict.reason == "the program disables it: talks to a database"
    assert query(3) == 3
    assert query.__doc__ == "The doc."
    assert query._torchdynamo_disable


def test_disable_switches_the_hook_off_while_it_runs(monkeypatch):
    from suture.rules import marks

    switched = []

    def switch(active):
        switched.append(active)
        return True

    monkeypatch.setattr(marks, "_hook_switch", lambda: switch)
    rules.disable(fresh())(1)
    assert switched == [False, True]
    with pytest.raises(ZeroDivisionError):
        rules.disable(lambda: 1 / 0)()
    assert switched == [False, True] * 2
    rules.disable(fresh(), recursive=False)(1)
    assert switched == [False, True] * 2


def test_disable_on_classes_and_modules():
    @rules.disable
    class Thing:
        def __init__(self, a):
            self.a = a

        def __call__(self):
            return self.a

    assert Thing(3)() == 3
    assert rules.lookup(Thing.__init__).kind is RUN
    assert rules.lookup(Thing(3)).kind is RUN

    layer = torch.nn.Linear(2, 2)
    x = torch.ones(1, 2)
    wanted = layer(x)
    assert rules.disable(layer) is layer
    assert torch.equal(layer(x), wanted)
    assert rules.lookup(layer.forward).kind is RUN
    assert rules.lookup(torch.nn.Linear.forward).kind is INLINE


def test_disabled_generators_are_run_when_they_run():
    def count(n):
        yield from range(n)

    disabled = rules.disable(count)
    assert list(disabled(3)) == [0, 1, 2]
    assert rules.lookup_frame(count.__code__, count.__globals__).kind is RUN


def test_disabling_twice_wraps_once():
    function = fresh()
    twice = rules.disable(rules.disable(function))
    assert twice._torchdynamo_orig_callable is function


def test_a_mark_is_not_inherited_by_wrappers():
    disabled = rules.disable(fresh())

    @functools.wraps(disabled)
    def wrapper(x):
        return disabled(x)

    assert wrapper.__dict__["_torchdynamo_disable"]
    assert rules.lookup(wrapper).kind is INLINE


# substitutes


def test_substitute_in_graph():
    original = fresh()

    @rules.substitute_in_graph(original)
    def instead(x):
        return x + 0

    verdict = rules.lookup(original)
    assert verdict.kind is INLINE
    assert verdict.target is instead
    assert rules.lookup(instead).target is None
    rules.unmark(original)
    assert rules.lookup(original).target is None


@pytest.mark.parametrize(
    "replacement",
    [lambda y: y, lambda x, y: x, lambda x=1: x, lambda *, x: x, lambda *x: x],
)
def test_substitutes_have_the_signature_of_the_original(replacement):
    with pytest.raises(rules.SignatureMismatch) as caught:
        rules.substitute_in_graph(fresh())(replacement)
    assert str(caught.value).count("test_marks.py:") == 2


def test_signatures_that_fit():
    original = fresh()
    rules.substitute_in_graph(original)(lambda x: x)
    rules.unmark(original)
    rules.substitute_in_graph(original)(lambda *args, **kwargs: None)
    rules.unmark(original)
    rules.substitute_in_graph(original, skip_signature_check=True)(lambda: None)
    rules.unmark(original)


def test_one_function_has_one_substitute():
    original = fresh()
    rules.substitute_in_graph(original)(lambda x: x)
    with pytest.raises(rules.ConflictingMarks):
        rules.substitute_in_graph(original)(lambda x: x + 1)
    with pytest.raises(rules.RuleError, match="a function in Python is needed"):
        rules.substitute_in_graph(fresh())(len)


# what the marked functions take and give


def test_allow_in_graph_refuses_what_says_that_it_returns_no_tensors():
    def name_of(x: torch.Tensor) -> str:
        return str(x)

    with pytest.raises(rules.RuleError, match="returns str") as caught:
        rules.allow_in_graph(name_of)
    assert str(caught.value).count("test_marks.py:") == 2


# packages and logging


def test_packages():
    import colorsys
    import json

    assert rules.lookup(json.dumps).kind is RUN
    rules.inline_package("json")
    try:
        assert rules.lookup(json.dumps).kind is INLINE
        with pytest.raises(rules.RuleError, match="two rules disagree") as caught:
            rules.run_package("json")
        assert str(caught.value).count("test_marks.py:") == 2
    finally:
        rules.forget_package("json")
    assert rules.lookup(json.dumps).kind is RUN
    rules.run_package("colorsys")
    try:
        assert rules.lookup(colorsys.rgb_to_hsv).rule == "package colorsys"
        assert rules.lookup(colorsys.rgb_to_hsv).kind is RUN
    finally:
        rules.forget_package("colorsys")


def test_a_package_must_exist():
    with pytest.raises(rules.UnknownName, match="did you mean numpy"):
        rules.inline_package("numpyy")
    with pytest.raises(rules.RuleError, match="named by a string"):
        rules.run_package(torch)


def test_packages_named_by_an_option(monkeypatch):
    import json

    from suture import config

    with monkeypatch.context() as patch:
        patch.setitem(vars(config), "inline_packages", "json, colorsys")
        verdict = rules.lookup(json.dumps)
        assert (verdict.kind, verdict.where) == (INLINE, "suture.config.inline_packages")
        patch.setitem(vars(config), "inline_packages", "")
        patch.setitem(vars(config), "run_packages", "json")
        assert rules.lookup(json.dumps).where == "suture.config.run_packages"
    assert rules.lookup(json.dumps).rule == "package json"
    assert rules.lookup(json.dumps).where.startswith("suture/rules/packages.py")


def test_ignored_logging_functions():
    log = fresh()
    rules.ignore_logging_functions(log)
    assert (rules.lookup(log).kind, rules.lookup(log).name) == (SPECIAL, "ignored")


# orders to the tracer


def test_orders_do_nothing_outside_of_a_trace():
    assert rules.graph_break("why") is None
    assert rules.skip_frame() is None
    for order in (rules.graph_break, rules.skip_frame):
        assert rules.lookup(order).kind is SPECIAL
        assert rules.lookup(order).name == order.__name__


def test_error_on_graph_break_nests():
    assert rules.breaks_are_errors() is None
    with rules.error_on_graph_break(True):
        with rules.error_on_graph_break(False):
            assert rules.breaks_are_errors() is False
        assert rules.breaks_are_errors() is True
        assert rules.error_on_graph_break(False)(rules.breaks_are_errors)() is False
    assert rules.breaks_are_errors() is None


# torch's own marks


def test_torch_disable():
    for disable in (torch.compiler.disable, torch._dynamo.disable):
        for recursive in (True, False):
            verdict = rules.lookup(disable(fresh(), recursive=recursive))
            assert (verdict.kind, verdict.rule) == (RUN, "mark torch.compiler.disable")
    disabled = torch.compiler.disable(fresh(), reason="slow")
    assert rules.lookup(disabled).reason.endswith("slow")


def test_torch_allow_and_disallow():
    function = fresh()
    assert rules.lookup(function).kind is INLINE
    torch.compiler.allow_in_graph(function)
    assert rules.lookup(function).kind is IN_GRAPH
    torch._dynamo.disallow_in_graph(function)
    assert rules.lookup(function).kind is RUN


def test_torch_marks_as_attributes():
    constant = torch.compiler.assume_constant_result(fresh())
    assert rules.lookup(constant).name == "assume_constant_result"
    forbidden = torch._dynamo.forbid_in_graph(fresh())
    assert rules.lookup(forbidden).name == "forbidden"
    assert rules.lookup(torch._dynamo.nonstrict_trace(fresh())).name == "nonstrict_trace"


def test_torch_substitutes_of_the_user():
    ids = set(trace_rules._allowed_callable_ids()) | set(trace_rules._disallowed_callable_ids())
    while True:  # a function that has no mark of one that is gone

        def original(a, b):
            return a - b

        _ALIVE.append(original)
        if id(original) not in ids:
            break

    @torch.compiler.substitute_in_graph(original)
    def instead(a, b):
        return a + -b

    _ALIVE.append(instead)
    assert rules.lookup(original).target is instead.__torch_dynamo_polyfill__
    assert rules.lookup(operator.indexOf).target.__module__ == "suture.rules.polyfills.operator"


def test_torch_orders():
    assert rules.lookup(torch._dynamo.graph_break).name == "graph_break"
    assert rules.lookup(torch.compiler.is_compiling).name == "is_compiling"


def test_a_marked_object_is_a_node_and_its_like_is_not():
    class Scale:
        __name__ = "scale"

        def __init__(self, by):
            self.by = by

        def __call__(self, x):
            return x.mul(self.by).add(1)

    marked, plain = Scale(2), Scale(3)
    suture.allow_in_graph(marked)
    graphs = Graphs()
    compiled = suture.compile(lambda x, scale: scale(x) + 1, backend=graphs)
    assert compiled(torch.ones(1), marked).item() == 4
    assert compiled(torch.ones(1), plain).item() == 5
    assert [len(ops) for ops in graphs.ops()] == [2, 3]
