"""suture.guards and the reasons for compiling again, in the words of the program."""

from __future__ import annotations

import logging

import pytest
import torch

import suture
from suture.messages.guard_report import GuardEntry

SCALE = 2.0


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([torch.nn.Linear(4, 4) for _ in range(3)])
        self.step = 0
        self.mode = "train"

    def forward(self, x, names):
        self.step += len(names)
        for layer in self.layers:
            x = layer(x)
        return x * SCALE if self.mode == "train" else x


def called(*calls, model=None, **options):
    suture.reset()
    model = suture.compile(model or Block(), backend="eager", **options)
    for args in calls:
        model(*args)
    return model


X = torch.ones(2, 4)


def test_what_can_differ_comes_first_and_the_rest_is_counted():
    text = suture.guards(called((X, ["a"]), dynamic=False))
    head, free, *rest = text.splitlines()
    assert head.startswith("Block.forward (") and "test_guard_report.py:" in head
    assert free == "  can differ between calls"
    shown = [line.strip().partition("    #")[0] for line in rest if line.startswith("    ")]
    assert "x: Tensor float32[2, 4] cpu, stride [4, 1]" in shown
    assert "self.step == 0" in shown
    assert "self.mode == 'train'" in shown
    assert "len(names) == 1" in shown
    assert f"{__name__}.SCALE == 2.0" in shown
    assert not any("Parameter" in line or "_hooks" in line or "type(" in line for line in shown)
    (pinned,) = [line for line in rest if line.startswith("  pinned: ")]
    assert "self " in pinned and "torch's state" in pinned
    assert len(text.splitlines()) < 25


def test_each_line_says_who_asked():
    text = suture.guards(called((X, ["a"]), dynamic=False))
    (line,) = [line for line in text.splitlines() if "self.step == 0" in line]
    number = Block.forward.__code__.co_firstlineno + 1
    assert line.endswith(f"# test_guard_report.py:{number}")


def test_match_shows_all_that_name_something():
    model = called((X, ["a"]), dynamic=False)
    text = suture.guards(model, match=r"self\.layers\[1\]\.weight")
    assert "self.layers[1].weight: Parameter float32[4, 4] cpu" in text
    assert "  self.layers[0]" not in text
    assert "pinned:" not in text
    assert suture.guards(model, match="no such thing") == "no guard matches 'no such thing'\n"
    everything = suture.guards(model, match="")
    assert len(everything.splitlines()) == len(everything.entries) + 1


def test_long_lines_are_cut():
    suture.reset()
    fn = suture.compile(lambda x, s: x + len(s), backend="eager")
    fn(torch.ones(2), "a" * 10_000)
    assert max(len(line) for line in suture.guards(fn, match="").splitlines()) < 220


def test_guards_are_objects_for_programs():
    entries = suture.guards(called((X, ["a"]), dynamic=False)).entries
    assert all(isinstance(one, GuardEntry) for one in entries)
    (step,) = [one for one in entries if one.name == "self.step" and one.kind == "equals"]
    assert not step.pinned
    assert step.file == __file__ and step.line > 0
    assert sum(one.pinned for one in entries) > len(entries) / 2


def test_nothing_compiled_is_said():
    fn = suture.compile(lambda x: x + 1, backend="eager")
    assert suture.guards(fn) == "nothing has been compiled yet: call it first\n"
    assert suture.guards(fn).entries == ()


def test_reasons_name_arguments_and_attributes_of_a_module():
    model = called((X, ["a"]), (X, ["a", "b"]), dynamic=False)
    model.mode = "eval"
    model(X, ["a", "b"])
    assert suture.recompile_reasons(model)[0].startswith("self.step == 0: was 0, is 1")


def test_reasons_name_what_stands_in_the_midst_of_an_expression():
    def inside(x, names):
        return len(names) * torch.relu(x) + helper(x)

    def helper(x):
        suture.graph_break()
        return x * 2

    suture.reset()
    fn = suture.compile(inside, backend="eager", dynamic=False)
    fn(torch.ones(2), "a")
    fn(torch.ones(3), "a")
    reasons = suture.recompile_reasons(fn)
    assert "x.size(0) == 2: was 2, is 3" in reasons
    assert not any("stack_" in one or "L[" in one for one in reasons), reasons


def test_a_place_that_compiles_again_and_again_is_one_row_with_its_history():
    def fn(x, name):
        return x + len(name)

    suture.reset()
    with suture.testing.recorded() as report:
        compiled = suture.compile(fn, backend="eager")
        for n in range(5):
            compiled(torch.ones(2), "x" * n)
    (row,) = report.recompilations
    assert row.count == report.recompiled == 4
    assert row.reasons == [
        f"name == {'x' * n!r}: was {'x' * n!r}, is {'x' * (n + 1)!r}" for n in range(4)
    ]
    assert "4 recompilations" in str(report)


def test_the_log_tells_a_guard_once_for_all_variants(caplog):
    suture.reset()
    compiled = suture.compile(lambda x, name: x + len(name), backend="eager")
    with caplog.at_level(logging.INFO, "suture.recompiles"):
        for n in range(5):
            compiled(torch.ones(2), "x" * n)
    last = [r.getMessage() for r in caplog.records if r.name == "suture.recompiles"][-1]
    assert last.splitlines()[1:] == ["  name == 'xxx': was 'xxx', is 'xxxx' (as do 3 older)"]


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("L['x'].size(0) == 4", "a.size(0) == 4"),
        ("L['self'].__dict__['_modules']['h'].__dict__['_modules']['0'] is it", "self.h[0] is it"),
        ("L['self'].__dict__['_parameters']['w']: Tensor", "self.w: Tensor"),
        ("'k' not in L['self'].__dict__", "'k' not in self.__dict__"),
        ("builtins['len'] is it", "len is it"),
        ("torch.nn['Linear'] is it", "torch.nn.Linear is it"),
        ("L['d']['torch'] == 1", "d['torch'] == 1"),
        ("L['d']['a b'].c == \"L['x']\"", "d['a b'].c == \"a\""),
    ],
)
def test_paths_become_names(text, spoken):
    from suture.compiler.guards import names

    assert names.spoken(text, {"x": "a"}) == spoken


def test_reasons_name_the_iterator_of_a_loop_and_what_a_call_waits_for():
    def turns(x, layers):
        for layer in layers:
            x = x * 2
            if layer == "stop":
                x = x + one(x, layer)
        return x

    def one(x, layer):
        suture.graph_break()
        return x * len(layer)

    suture.reset()
    fn = suture.compile(turns, backend="eager")
    fn(torch.ones(2), ["stop", "bb", "ccc"])
    fn(torch.ones(2), ["bb", "stop", "ccc"])
    fn(torch.ones(2, 2), ["bb", "ccc", "stop"])
    reasons = suture.recompile_reasons(fn)
    assert any("iter(layers)" in one for one in reasons), reasons
    assert not any("stack_" in one or "L[" in one for one in reasons), reasons


def test_what_a_clock_says_is_no_reason_to_compile_again():
    import time

    def fn(x):
        y = x + 1
        start = time.perf_counter()
        return y * 2, start

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    for _ in range(3):
        compiled(torch.ones(2))
    assert suture.recompile_reasons(compiled) == []


def guards_of(fn, *args):
    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    compiled(*args)
    return [one.text for one in suture.guards(compiled).entries]


def test_what_guards_read_is_said_in_words():
    import contextvars
    import itertools
    import types
    import weakref

    import numpy

    x = torch.ones(2)
    assert "the number in k == 3.0" in guards_of(lambda x, k: x * k, x, numpy.float64(3))
    counts = guards_of(lambda x, it: x * next(it), x, itertools.count(3))
    assert "the next number of it == 3" in counts
    rest = guards_of(lambda x, it: sum((x * k for k in it), x), x, iter(range(2, 5)))
    assert "the rest of it == range(2, 5)" in rest
    items = guards_of(lambda x, it: [x * k for k in it], x, iter([7, 8]))
    assert {"position in it == 0", "len(it) == 2", "it[1] == 8"} <= set(items)
    behind = guards_of(lambda x, m: x * m["a"], x, types.MappingProxyType({"a": 3}))
    assert "dict(m)['a'] == 3" in behind
    variable = contextvars.ContextVar("variable")
    variable.set(3)
    assert any(text.endswith(".get() == 3") for text in guards_of(lambda x: x * variable.get(), x))
    both = torch.ones(8)
    views = guards_of(lambda a, b: (a.add_(1), b * 2), both[:4], both[2:6])
    assert {"a.storage_offset() == 0", "b.storage_offset() == 2"} <= set(views)
    module = torch.nn.Linear(2, 2)
    referred = guards_of(lambda x, r: r()(x), x, weakref.ref(module))
    assert any(text.startswith("type(r()) is") for text in referred)
    assert not any("_of(" in text or "number_in" in text for text in referred + views + items)


def scaled(x, by=3):
    return x * by


def test_defaults_of_parameters_are_part_of_their_function():
    suture.reset()
    compiled = suture.compile(lambda x: scaled(x), backend="eager")
    compiled(torch.ones(2))
    report = suture.guards(compiled)
    assert [one.pinned for one in report.entries if "__defaults__" in one.text] == [True]
    assert "__defaults__" not in report
