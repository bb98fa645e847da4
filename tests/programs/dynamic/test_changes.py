"""Programs and what changes between their calls, next to TorchDynamo in the same run.

After six calls with different values suture has compiled no more often than TorchDynamo, and
every call gave what eager gives.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch._dynamo
from torch._dynamo.utils import counters

import suture
from tests.harness import same

rand = torch.randn
SCALE = 1.0
COUNT = 1


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.gain = 1.0
        self.times = 1
        self.flag = True

    def forward(self, x):
        y = self.linear(x) * self.gain
        for _ in range(2):
            y = y + self.times
        return y.relu() if self.flag else y.sin()


def arithmetic(x):
    return (x * 2 + 1).relu()


def attention(x):
    q = x.reshape(x.shape[0], -1, 2)
    return torch.softmax(q @ q.transpose(1, 2) / q.shape[-1] ** 0.5, -1) @ q


def normalise(x):
    return (x - x.mean()) / (x.pow(2).mean() + 1e-5).sqrt() * x.shape[0]


def branch(x):
    if x.dim() > 1 and x.shape[0] > 3:
        return x * 2
    return x - 1


TENSOR_PROGRAMS = {"arithmetic": arithmetic, "normalise": normalise, "branch": branch}
TENSOR_CHANGES: dict[str, list[Any]] = {
    "batch": [rand(n, 4) for n in (4, 5, 6, 7, 9, 12)],
    "sequence": [rand(4, n, 2) for n in (4, 5, 6, 7, 9, 12)],
    "both": [rand(n, n + 1) for n in (4, 5, 6, 7, 9, 12)],
    "rank": [rand(*[4] * n) for n in (1, 2, 3, 4, 2, 1)],
    "dtype": [rand(4, 4).to(d) for d in (torch.float32, torch.float64, torch.bfloat16) * 2],
    "device": [torch.empty(4, 4, device=d) for d in ("meta", "cpu", "meta", "cpu", "meta", "cpu")],
    "requires_grad": [rand(4, 4, requires_grad=i % 2 == 0) for i in range(6)],
    "contiguity": [rand(4, 4), rand(4, 4).t(), rand(4, 8)[:, ::2]] * 2,
    "zero and one": [rand(n, 4) for n in (4, 1, 0, 5, 1, 0)],
}  # fmt: skip


def with_number(x, k):
    return x * k + k


def with_schedule(x, k):
    return x * (0.5 * (1 + math.cos(math.pi * k / 20))) + round(k / 2) + min(k, type(k)(3))


def with_count(x, k):
    return x.repeat(k, 1)[: k + 1] * k


def with_flag(x, k):
    return x * 2 if k else x + 1


def with_name(x, k):
    return x * len(k)


def with_option(x, k):
    return x * 2 if k is None else x + k


def with_list(x, k):
    for t in k:
        x = x + t
    return x


def with_dict(x, k):
    for name, t in k.items():
        x = x + t * len(name)
    return x


def with_settings(x, k):
    return x * k.scale + k.count


VALUE_CHANGES: dict[str, tuple[Any, list[Any]]] = {
    "int": (with_number, [2, 3, 4, 5, 7, 11]),
    "int as a size": (with_count, [2, 3, 4, 5, 7, 11]),
    "float": (with_number, [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]),
    "int and float": (with_number, [2, 2.5, 3, 3.5, 4, 4.5]),
    "bool": (with_flag, [True, False, True, False, True, False]),
    "str": (with_name, ["a", "bb", "ccc", "a", "bb", "ccc"]),
    "float in Python": (with_schedule, [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]),
    "int in Python": (with_schedule, [2, 3, 4, 5, 7, 11]),
    "None or not": (with_option, [None, 2.0, None, 3.0, None, 4.0]),
    "list length": (with_list, [[rand(4, 4)] * n for n in (1, 2, 3, 1, 2, 3)]),
    "dict keys": (with_dict, [{f"k{i}": rand(4, 4) for i in range(n)} for n in (1, 2, 3, 1, 2, 3)]),
    "dict values": (with_dict, [{"k": rand(4, 4)} for _ in range(6)]),
    "fresh settings": (with_settings, [SimpleNamespace(scale=2.0, count=1) for _ in range(6)]),
    "other settings": (with_settings, [SimpleNamespace(scale=n / 2, count=n) for n in range(1, 7)]),
}


class Turns:
    """Calls `fn` with one argument tuple per turn; `before(i)` sets what is no argument."""

    def __init__(self, fn: Any, args: list[tuple[Any, ...]], before: Any = lambda i: None) -> None:
        self.fn, self.args, self.before = fn, args, before

    def run(self, compiled: Any) -> list[Any]:
        out = []
        for i, args in enumerate(self.args):
            self.before(i)
            out.append(compiled(*args))
        return out


def check_turns(turns: Turns) -> None:
    eager = turns.run(turns.fn)
    torch._dynamo.reset()
    counters.clear()
    with torch._dynamo.config.patch(recompile_limit=64):
        turns.run(torch.compile(turns.fn, backend="eager"))
    theirs = counters["frames"]["total"]
    suture.reset()
    with suture.config.patch(strict=True):
        ours = turns.run(suture.compile(turns.fn, backend="eager"))
    for i, (a, b) in enumerate(zip(eager, ours)):
        if not a.is_meta:
            same(a.detach(), b.detach(), f"call {i}")
        assert a.requires_grad == b.requires_grad
    stats = suture.stats()
    assert not stats.interpreted
    assert stats.variants <= theirs, [r.reason for r in stats.recompilations]


@pytest.mark.parametrize("change", TENSOR_CHANGES)
@pytest.mark.parametrize("program", TENSOR_PROGRAMS)
def test_a_tensor_changes(program, change):
    check_turns(Turns(TENSOR_PROGRAMS[program], [(x,) for x in TENSOR_CHANGES[change]]))


@pytest.mark.parametrize("change", ["batch", "sequence"])
def test_attention_over_sizes(change):
    sizes = (4, 5, 6, 7, 9, 12)
    shapes = [(n, 6, 2) if change == "batch" else (3, n, 2) for n in sizes]
    check_turns(Turns(attention, [(rand(*s),) for s in shapes]))


@pytest.mark.parametrize("change", VALUE_CHANGES)
def test_a_value_changes(change):
    fn, values = VALUE_CHANGES[change]
    x = rand(4, 4)
    check_turns(Turns(fn, [(x, v) for v in values]))


@pytest.mark.parametrize(
    ("attribute", "values"),
    [
        ("gain", [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        ("times", [1, 2, 3, 4, 5, 6]),
        ("flag", [True, False] * 3),
        ("gain", [1.0, 2.0] * 3),
    ],
)
def test_a_module_attribute_changes(attribute, values):
    block = Block()

    def before(i):
        setattr(block, attribute, values[i])

    check_turns(Turns(lambda x: block(x), [(rand(3, 4),)] * 6, before))


@pytest.mark.parametrize("fresh", [False, True])
def test_another_module_of_the_class_comes_in(fresh):
    blocks = [Block() for _ in range(6)]
    calls = [(blocks[i if fresh else i % 2], rand(3, 4, requires_grad=True)) for i in range(6)]
    check_turns(Turns(lambda block, x: block(x), calls))


def test_layers_that_are_compiled_one_by_one():
    blocks = [Block() for _ in range(6)]
    x = rand(3, 4, requires_grad=True)
    counts = []
    for compile, reset, count in (
        (torch.compile, torch._dynamo.reset, lambda: counters["frames"]["total"]),
        (suture.compile, suture.reset, lambda: suture.stats().variants),
    ):
        reset()
        counters.clear()
        for block, compiled in [(block, compile(block, backend="eager")) for block in blocks]:
            same(block(x).detach(), compiled(x).detach(), "a layer")
        counts.append(count())
    theirs, ours = counts
    assert ours <= theirs


@pytest.mark.parametrize("batch", [False, True])
def test_a_module_switches_between_training_and_evaluation(batch):
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Dropout(0.0))
    sizes = (3, 4, 5, 6, 7, 8) if batch else (3,) * 6
    turns = Turns(
        lambda x: model(x), [(rand(n, 4),) for n in sizes], lambda i: model.train(i % 2 == 0)
    )
    check_turns(turns)


def use_globals(x):
    return x * SCALE + COUNT


@pytest.mark.parametrize("name", ["SCALE", "COUNT"])
def test_a_global_changes(name):
    def before(i):
        globals()[name] = i + 2 if name == "COUNT" else i + 2.5

    try:
        check_turns(Turns(use_globals, [(rand(3),)] * 6, before))
    finally:
        globals().update(SCALE=1.0, COUNT=1)


def test_a_closed_over_variable_changes():
    factor = 1.0

    def fn(x):
        return x * factor

    def before(i):
        nonlocal factor
        factor = i + 1.5

    check_turns(Turns(fn, [(rand(3),)] * 6, before))


def test_grad_mode_changes():
    x = rand(3, requires_grad=True)

    def fn(x):
        return x * 2

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    for i in range(6):
        with torch.set_grad_enabled(i % 2 == 0):
            assert compiled(x).requires_grad == (i % 2 == 0)
    assert suture.stats().variants == 2
