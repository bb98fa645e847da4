"""Numbers and sizes that come out of tensors: in the graph until Python has to decide on one."""

from __future__ import annotations

import math

import pytest
import torch

import suture
from tests.programs.dynamic.counting import compilations

rand = torch.randn
COUNTS = [(rand(10), torch.tensor(k)) for k in (3, 5, 7, 0, 1)]
MASKED = [(rand(10),) for _ in range(4)]


def statistics(x):
    mean, deviation = x.mean().item(), x.std().item()
    return (x - mean) / deviation


def assigned(x):
    x = x.clone()
    x[x > 0] = 0.0
    return x


CAPTURED = {
    "item": (lambda x, t: x * t.item(), COUNTS),
    "int": (lambda x, t: x * int(t), COUNTS),
    "float": (lambda x, t: x * float(t), COUNTS),
    "float item": (statistics, MASKED),
    "slice": (lambda x, t: x[: t.item()].sum(), COUNTS),
    "index": (lambda x, t: x[t.item()] + x[t], COUNTS),
    "size": (lambda x, t: torch.zeros(t.item()) + 1, COUNTS),
    "returned": (lambda x, t: (x * 2, t.item(), int(t) + 1), COUNTS),
    "extremes": (lambda x, t: x * min(t.item(), 4) + max(1, t.item()), COUNTS),
    "nonzero": (lambda x: (x > 0).nonzero() * 2, MASKED),
    "mask": (lambda x: x[x > 0] * 2, MASKED),
    "mask assignment": (assigned, MASKED),
    "masked_select": (lambda x: torch.masked_select(x, x > 0) * 2, MASKED),
    "where": (lambda x: torch.where(x > 0)[0] + 1, MASKED),
    "unique": (lambda x: (x * 2).int().unique() + 1, MASKED),
    "length of a mask": (lambda x: (len(x[x > 0]), x[x > 0].shape[0] * 2), MASKED),
    "tolist": (
        lambda x, t: x.split(t.tolist()),
        [(rand(6), torch.tensor(v)) for v in ([1, 2, 3], [2, 2, 2])],
    ),
    "repeats": (
        lambda x, t: x.repeat_interleave(t) * 2,
        [(rand(3), torch.tensor(v)) for v in ([1, 2, 3], [0, 2, 1])],
    ),
}  # fmt: skip


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", CAPTURED)
def test_values_from_tensors_are_captured(name, backend):
    fn, calls = CAPTURED[name]
    assert compilations(fn, *calls, backend=backend) == [1] * len(calls)
    assert not suture.stats().breaks


def test_a_decision_breaks_at_the_decision_and_names_both_lines():
    def fn(x, t):
        n = t.item()
        y = x * n
        if n > 4:
            y = y + 1
        return y * 3

    compilations(fn, *COUNTS)
    (record,) = suture.stats().breaks
    first = fn.__code__.co_firstlineno
    assert (record.number, record.line) == ("GB2010", first + 3)
    assert (
        f'n > 4 depends on data: item comes from File "{__file__}", line {first + 1}'
        in record.reason
    )
    assert not suture.stats().interpreted


@pytest.mark.parametrize(
    "fn",
    [
        lambda x, t: x * 2 if x[x > 0].shape[0] > 3 else x,
        lambda x, t: x * math.sqrt(t.item() + 1),
        lambda x, t: [x, x * 2, x * 3, x * 4, x * 5, x * 6, x * 7, x * 8][t.item()],
        lambda x, t: sum([x * i for i in range(t.item())], x),
        lambda x, t: {t.item(): x},
    ],
)
def test_other_decisions_break_and_go_on(fn):
    compilations(fn, *COUNTS)
    assert suture.stats().breaks
    assert not suture.stats().interpreted


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_what_is_checked_need_not_be_decided(backend):
    def fn(x, t):
        n = t.item()
        torch._check(n >= 2)
        torch._check(n <= x.shape[0])
        if n > 1:
            return x[:n] * 2
        return x

    calls = [(rand(10), torch.tensor(k)) for k in (3, 5, 2)]
    assert compilations(fn, *calls, backend=backend) == [1, 1, 1]
    with pytest.raises(RuntimeError):
        suture.compile(fn, backend=backend)(rand(10), torch.tensor(1))


def test_numbers_of_no_dimensional_inputs_are_not_taken_for_constants():
    def fn(x, t):
        return x * 2 if t.item() > 4 else x - 1

    calls = [
        (rand(3), torch.tensor(k, dtype=d))
        for d in (torch.int64, torch.float64, torch.int32)
        for k in (3, 7)
    ]
    compilations(fn, *calls)


def test_a_mask_of_a_size_that_changes():
    calls = [(rand(n, 4),) for n in (3, 5, 9)]
    assert compilations(lambda x: x[x[:, 0] > 0].sum(0), *calls) == [1, 2, 2]


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize(
    "fn",
    [
        lambda x: torch.zeros(3) if math.isnan(x.sum().item()) else torch.ones(3),
        lambda x: torch.zeros(3) if math.isinf(x.sum().item()) else torch.ones(3),
        lambda x: torch.zeros(3) if math.isfinite(x.sum().item()) else torch.ones(3),
        lambda x: (lambda s: torch.zeros(3) if s != s else torch.ones(3))(x.sum().item()),
        lambda x: (lambda s: torch.zeros(3) if s == s else torch.ones(3))(x.sum().item() * 2),
    ],
)
def test_whether_a_number_from_data_is_one_is_asked_of_the_number(fn, backend):
    calls = [(torch.full((3,), value),) for value in (1.0, math.nan, math.inf, -math.inf)]
    compilations(fn, *calls, backend=backend)
    assert {record.number for record in suture.stats().breaks} == {"GB2010"}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_a_number_from_data_that_must_equal_a_size_is_checked_in_each_call(backend):
    def fn(x, z):
        count = (z + 7).item()
        torch._check(count == x.shape[0] * 2)
        return x + count

    suture.reset()
    compiled = suture.compile(fn, backend=backend, fullgraph=True, dynamic=True)
    assert torch.equal(compiled(torch.ones(16), torch.tensor(25)), torch.full((16,), 33.0))
    with pytest.raises(RuntimeError):
        compiled(torch.ones(16), torch.tensor(26))
    assert torch.equal(compiled(torch.ones(8), torch.tensor(9)), torch.full((8,), 17.0))


LEVEL = 1


def counts_up(x):
    global LEVEL
    LEVEL += int(x.sum() > 2)
    return x + 1 if LEVEL > 2 else x - 1


def test_a_branch_on_a_global_number_and_one_from_data_together():
    def run(fn):
        global LEVEL
        LEVEL = 1
        return [(fn(torch.full((4,), value)).tolist(), LEVEL) for value in (0.0, 1.0, 0.0, 1.0)]

    suture.reset()
    with suture.config.patch(strict=True):
        assert run(suture.compile(counts_up, backend="eager")) == run(counts_up)


def test_a_branch_on_a_quotient_by_a_number_from_data():
    """Where that number is 0 the program raises: there is nothing to skip."""

    def fn(x):
        count = int(x.sum().item()) % 5
        if (quotient := 7 // count) > 2:
            x = x * 2
        return x + quotient

    def outcome(call, value):
        try:
            return call(torch.full((3,), value)).tolist()
        except ZeroDivisionError as error:
            return str(error)

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    with suture.config.patch(strict=True):
        for value in (1.0, 2.0, 3.0, 4.0, 5.0):
            assert outcome(compiled, value) == outcome(fn, value)
