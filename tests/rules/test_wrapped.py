"""Wrapped callables find their function."""

from __future__ import annotations

import functools
import warnings

import pytest
import torch

from suture import rules
from suture.rules import IN_GRAPH, INLINE, RUN, SPECIAL
from suture.rules.torch_names import missing_fake
from suture.rules.wrapped import CachedFunctionWarning, canonical, home
from tests.rules.naming import named


def function(x):
    return x + 1


def test_partial():
    verdict = rules.lookup(functools.partial(function, 1))
    assert (verdict.kind, verdict.name, verdict.target) == (SPECIAL, "partial", function)


def test_lru_cache_warns_once_that_the_cache_is_not_looked_at():
    cached = functools.lru_cache(lambda x: x)
    with pytest.warns(CachedFunctionWarning, match="traced without its cache"):
        verdict = rules.lookup(cached)
    assert (verdict.kind, verdict.target) == (INLINE, cached.__wrapped__)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rules.clear_cache()
        rules.lookup(cached)


def test_what_is_inside_decides():
    cached = functools.lru_cache(rules.disable(lambda: 1))
    with pytest.warns(CachedFunctionWarning):
        assert rules.lookup(cached).kind is RUN


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_scripted_and_traced_functions():
    scripted = torch.jit.script(function)
    assert rules.lookup(scripted).target is function
    traced = torch.jit.trace(function, (torch.ones(2),))
    assert rules.lookup(traced).kind is INLINE


def test_functions_that_torch_compiled():
    compiled = torch.compile(function, backend="eager")
    verdict = rules.lookup(compiled)
    assert (verdict.kind, verdict.target) == (INLINE, function)
    assert verdict.rule.startswith("torch.compile")


def test_methods():
    class Thing:
        def method(self):
            pass

        @classmethod
        def of_class(cls):
            pass

        @staticmethod
        def static():
            pass

    thing = Thing()
    assert canonical(thing.method) is Thing.__dict__["method"]
    assert canonical(thing.of_class) is Thing.__dict__["of_class"].__func__
    for each in (thing.method, thing.of_class, thing.static, Thing.__dict__["static"]):
        assert rules.lookup(each).kind is INLINE


def test_c_methods_are_their_descriptor():
    assert canonical("".join) is str.__dict__["join"]
    assert canonical(torch.ones(1).add) is torch.Tensor.add
    assert rules.lookup(torch.ones(1).add).kind is IN_GRAPH
    assert rules.lookup((1).__add__).kind is SPECIAL


def test_custom_operators():
    @torch.library.custom_op("suture_rules::twice", mutates_args=())
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    verdict = rules.lookup(twice)
    assert verdict.kind is IN_GRAPH
    assert verdict.target is twice._opoverload
    assert rules.lookup(torch.ops.suture_rules.twice).kind is IN_GRAPH
    assert rules.lookup(torch.ops.suture_rules.twice.default).kind is IN_GRAPH


def test_operators_by_define_and_impl():
    library = torch.library.Library("suture_rules_lib", "DEF")
    library.define("plus(Tensor x) -> Tensor")
    library.impl("plus", lambda x: x + 1, "CPU")
    plus = torch.ops.suture_rules_lib.plus
    assert rules.lookup(plus).kind is IN_GRAPH
    hint = missing_fake(plus)
    assert 'register_fake("suture_rules_lib::plus")' in hint
    assert "def _(x):" in hint
    torch.library.register_fake("suture_rules_lib::plus", lambda x: torch.empty_like(x))
    assert missing_fake(plus) == ""
    assert missing_fake(torch.ops.aten.add.Tensor) == ""


@pytest.mark.parametrize(
    ("obj", "module"),
    [
        (function, __name__),
        (torch.nn.Linear, "torch.nn.modules.linear"),
        (str.join, "builtins"),
        (len, "builtins"),
        (torch.nn.Linear(1, 1), "torch.nn.modules.linear"),
    ],
    ids=named,
)
def test_home(obj, module):
    assert home(obj) == module
