"""The topics of SUTURE_LOGS: graphs, guards, code, recompiles, trace, rules."""

from __future__ import annotations

import pytest
import torch

import suture
from suture import messages, rules
from suture.messages import guards

SCALE = 2.0


def helper(x):
    return x * SCALE


def fn(x):
    y = helper(x)
    return y.sin()


@pytest.fixture(autouse=True)
def fresh():
    suture.reset()
    messages.reset()
    yield
    suture.set_logs()


def log_of(caplog, topics, call):
    suture.set_logs(topics)
    caplog.clear()
    call()
    return "\n".join(r.getMessage() for r in caplog.records if r.name.startswith("suture."))


def run(x=None):
    suture.compile(fn, backend="eager")(torch.ones(3) if x is None else x)


def test_graphs_are_python_with_lines_and_values(caplog):
    text = log_of(caplog, "graphs", run)
    assert "def graph(" in text
    assert "test_topics.py:" in text
    assert "return x * SCALE" in text
    assert 'mul: "f32[3]cpu" = l_x * 2.0' in text
    assert 'sin: "f32[3]cpu" = mul.sin()' in text


def test_guards_are_a_tree_with_lines_and_time(caplog):
    text = log_of(caplog, "guards", run)
    assert "checked in" in text
    assert "L['x']: Tensor float32[3] cpu" in text
    assert "SCALE'] == 2.0    # test_topics.py:" in text
    assert text.count("torch state:") == 1


def test_code_is_the_variant(caplog):
    text = log_of(caplog, "code", run)
    assert "def fn(fn, x):" in text
    assert "graph(" in text


def test_recompiles_name_the_guard(caplog):
    compiled = suture.compile(fn, backend="eager", dynamic=False)
    compiled(torch.ones(3))
    text = log_of(caplog, "recompiles", lambda: compiled(torch.ones(4)))
    assert "size" in text
    assert "3" in text
    assert "4" in text


def test_trace_shows_inlining_with_its_rule_and_the_stack(caplog):
    text = log_of(caplog, "trace", run)
    assert "trace fn" in text
    assert "inline helper at depth 1 (inline: no rule says otherwise" in text
    assert "RETURN_VALUE" in text
    assert "[L['x']" in text


def test_rules_say_who_decided(caplog):
    rules.clear_cache()
    text = log_of(caplog, "rules", run)
    assert "helper: inline" in text


def test_one_topic_is_not_another(caplog):
    log_of(caplog, "code", run)
    assert {r.name for r in caplog.records if r.name.startswith("suture.")} == {"suture.code"}


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("L['x']: Tensor", ["L['x']"]),
        ("type(L['self'].a[0]) is int", ["L['self']", ".a", "[0]"]),
        ("'key' not in L['d']", ["L['d']"]),
        ("len(L['xs']) == 2", ["L['xs']"]),
    ],
)
def test_the_path_a_guard_speaks_of(text, steps):
    assert guards.steps(text) == steps
