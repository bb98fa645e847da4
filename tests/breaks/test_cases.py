"""Titles in the user's words, and hints for the case at hand."""

from __future__ import annotations

import time

import pytest
import torch

import suture
from suture import events
from suture.breaks import Break, calls, catalog, tensors
from suture.breaks.cases import CASES
from suture.breaks.registry import Status
from suture.messages.texts import break_text


def clock(x):
    y = x + 1
    start = time.perf_counter()
    return y * 2, start


def reads(x):
    y = x + 1
    with open(__file__) as file:
        return y * len(file.read(3))


def loops(x):
    for row in x.nonzero():
        x = x + row.sum()
    return x


WEIGHT = torch.nn.Parameter(torch.ones(2))


def prints(x):
    y = x + 1
    print("value", y)
    return y


def decides(x):
    return x + 1 if x.sum().item() > 0 else x


def differentiates(x):
    y = WEIGHT * x
    y.retain_grad()
    loss = y.sum()
    loss.backward()
    return loss + 1, y


@pytest.mark.parametrize(
    ("fn", "number", "message", "hint"),
    [
        (clock, "GB0177", "perf_counter", "Measure around the compiled function"),
        (reads, "GB0177", "open", "Read or write the file before"),
        (loops, "GB2010", "x.nonzero() depends on data", "Keep a mask"),
        (prints, "GB0059", 'print("value", y) needs', "Print after the compiled function"),
        (decides, "GB2010", "x.sum().item() > 0 depends", "Compare tensors"),
        (differentiates, "GB0123", "loss.backward() runs", "Leave `backward()` and the"),
    ],
)
def test_the_first_hint_is_for_the_case_at_hand(fn, number, message, hint):
    suture.reset()
    with events.recorded(events.Broke) as seen:
        suture.compile(fn, backend="eager")(torch.ones(2))
    event = next(one for one in seen if one.number == number)
    assert message in event.message
    reason = Break(catalog.lookup(number), **dict(event.fields))
    assert reason.hints()[0].startswith(hint)
    assert set(reason.type.hints) & set(reason.hints()) or "{" in "".join(reason.type.hints)


def test_the_recompile_limit_is_told_by_its_title_with_a_hint_for_what_changes(caplog):
    suture.reset()
    compiled = suture.compile(lambda x, word: x * len(word), backend="eager", recompile_limit=2)
    for word in ("a", "bb", "ccc"):
        compiled(torch.ones(2), word)
    (text,) = [r.getMessage() for r in caplog.records if "GB0039" in r.getMessage()]
    assert "GB0039 Compiled too often: the recompile limit: " in text
    assert "hint: Pass what the function computes from the text" in text.splitlines()[1]


def test_other_cases_keep_the_hints_of_the_entry():
    reason = Break(calls.PYTHON_FUNCTION_RUN, module="a.library", qualname="f", reason="a rule")
    filled = tuple(hint.format(**reason.fields) for hint in reason.type.hints)
    assert reason.hints() == filled


def test_every_case_is_of_an_entry_that_breaks_and_has_that_field():
    for case in CASES:
        entry = catalog.lookup(case.number)
        assert entry.status is Status.BREAK
        assert case.field in entry.fields
        assert case.hints and all(hint.strip() for hint in case.hints)


def test_what_people_read_has_the_title_and_the_registry_keeps_the_name():
    reason = Break(tensors.PRINT_TENSOR, builtin="print", arguments="x")
    assert reason.type.type == "Failed to trace builtin operator"
    where = events.Where("f", __file__, 1)
    text = break_text(reason, (where,), "")
    assert text.startswith("GB0059 print, or another builtin, of a tensor's values: print(x) needs")


def test_titles_are_no_names_of_machinery():
    words = (
        "Unsupported",
        "Failed to",
        "Attempted",
        "Dynamo",
        "AOTDispatcher",
        "proxy",
        "bytecode",
    )
    for entry in catalog.entries():
        if entry.status is Status.BREAK:
            assert not any(word in entry.heading for word in words), entry.heading
    headings = [entry.heading for entry in catalog.entries()]
    assert len(set(headings)) == len(headings)
