"""A break in the log and in the error: line, reason, hints, page, and what was done."""

from __future__ import annotations

import logging
import traceback

import pytest
import torch

import suture
from suture import events, messages


def branch(x):
    y = x.sin()
    if y.sum() > 0:
        return y + 1
    return y


def outer(x):
    return inner(x) + 1


def inner(x):
    print("inner", x)
    return x * 2


@pytest.fixture(autouse=True)
def fresh():
    suture.reset()
    messages.reset()
    yield
    suture.set_logs()


def told(caplog, topic="breaks"):
    return [record.getMessage() for record in caplog.records if record.name == f"suture.{topic}"]


def test_nothing_is_said_by_default(caplog, capsys):
    suture.compile(branch, backend="eager")(torch.ones(3))
    assert [r for r in caplog.records if r.name.startswith("suture")] == []
    assert capsys.readouterr() == ("", "")


def test_the_log_has_everything(caplog):
    suture.set_logs("breaks")
    suture.compile(branch, backend="eager")(torch.ones(3))
    (text,) = told(caplog)
    lines = text.splitlines()
    assert lines[0] == "GB0170 Data-dependent branching: branch on the value of y.sum() > 0"
    at = next(i for i, line in enumerate(lines) if "if y.sum() > 0:" in line)
    assert "test_breaks.py:" in lines[at - 1]
    assert lines[at + 1].index("^") == lines[at].index("y.sum()")
    assert lines[at + 1].count("^") == len("y.sum() > 0")
    for wanted in (
        "why ",
        "try ",
        "torch.where",
        "did ",
        "continued",
        "GB0170.md",
        "suture break GB0170",
    ):
        assert wanted in text


def test_the_stack_of_inlined_calls_is_shown(caplog, capsys):
    suture.set_logs("breaks")
    suture.compile(outer, backend="eager")(torch.ones(3))
    text = told(caplog)[0]
    assert text.index("in inner") < text.index("called from") < text.index("in outer")
    assert "inner(x)" in text


def test_a_break_that_repeats_is_told_once_and_then_counted(caplog):
    suture.set_logs("breaks")
    for n in range(12):
        suture.reset()
        suture.compile(branch, backend="eager")(torch.ones(3 + n))
    first, count = told(caplog)
    assert "why " in first
    assert count.startswith("GB0170 at ")
    assert count.endswith(": 10 times so far")


def test_fullgraph_raises_the_same_text():
    with pytest.raises(suture.exc.Unsupported) as caught:
        suture.compile(branch, fullgraph=True, backend="eager")(torch.ones(3))
    text = str(caught.value)
    assert text.startswith("GB0170 Data-dependent branching")
    assert "if y.sum() > 0:" in text
    assert "fullgraph=True" in text
    assert caught.value.number == "GB0170"
    assert caught.value.real_stack[-1].line == "if y.sum() > 0:"


def test_source_that_is_not_there_is_said_to_be_missing(caplog):
    space = {}
    exec("def made(x):\n    print(x)\n    return x + 1\n", space)
    suture.set_logs("breaks")
    suture.compile(space["made"], backend="eager")(torch.ones(2))
    assert "its source is not available" in told(caplog)[0]


def test_requested_breaks_are_told_only_to_who_asks_for_more(caplog):
    def asked(x):
        suture.graph_break()
        return x + 1

    suture.set_logs("breaks")
    suture.compile(asked, backend="eager")(torch.ones(2))
    assert told(caplog) == []
    suture.set_logs("+breaks")
    suture.reset()
    suture.compile(asked, backend="eager")(torch.ones(2))
    assert told(caplog)[0].startswith("GB0025")


def test_a_frame_left_to_the_interpreter_is_a_warning_once(caplog):
    def many(x, n):
        return x + 1 if n == "a" else x + 2

    compiled = suture.compile(many, backend="eager", recompile_limit=1)
    for name in "abcabc":
        compiled(torch.ones(2), name)
    (record,) = [r for r in caplog.records if r.name == "suture.recompiles"]
    assert record.levelno == logging.WARNING
    assert "many" in record.getMessage()


def test_with_fullgraph_an_error_of_the_program_is_eagers():
    def product(a, b):
        return a @ b

    args = (torch.ones(2, 3), torch.ones(2, 3))
    with pytest.raises(RuntimeError) as eager:
        product(*args)
    with pytest.raises(RuntimeError) as compiled:
        suture.compile(product, backend="eager", fullgraph=True)(*args)
    assert type(compiled.value) is type(eager.value)
    assert str(compiled.value) == str(eager.value)
    frames = [entry.name for entry in traceback.extract_tb(compiled.value.__traceback__)]
    assert frames[-1] == "product"
    assert not any("/suture/" in str(entry.path) for entry in compiled.traceback)


def messages_of(fn, *args):
    """The messages of the breaks of one call."""
    suture.reset()
    with events.recorded(events.Broke) as seen:
        suture.compile(fn, backend="eager")(*args)
    return [event.message for event in seen]


def test_what_a_with_block_opened_is_named_by_what_opened_it(tmp_path):
    path = str(tmp_path / "log")

    def logging(x):
        with open(path, "a") as f:
            f.write(str(x.shape))
        return x + 1

    assert '(open(path, "a")).write()' in messages_of(logging, torch.ones(2))


def test_a_function_with_a_cache_is_named_without_claiming_that_it_is_c():
    import functools

    @functools.lru_cache
    def table(n):
        return torch.arange(n)

    texts = messages_of(lambda x: x + table(2), torch.ones(2))
    assert any("the cache around" in one and "table" in one for one in texts)


def test_a_method_is_told_with_what_the_program_calls_it_on():
    def fn(x):
        y = x * 2
        y.retain_grad()
        return (y + 1).grad_fn is None

    suture.reset()
    suture.compile(fn, backend="eager")(torch.ones(2, requires_grad=True))
    told = [record.reason for record in suture.stats().breaks]
    assert told == ["y.retain_grad()", "(y + 1).grad_fn"]
