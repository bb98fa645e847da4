"""Operations that raise when the graph runs, in blocks that handle it, beside writes to inputs."""

from __future__ import annotations

import contextlib

import pytest
import torch

import suture
from tests.harness import check


def handled_behind_a_write(x, table, truths):
    table.add_(1)
    try:
        return x + table[(x * 10).long()]
    except IndexError as error:
        return x, type(error).__name__


def written_in_the_block(x, table, truths):
    seen = []
    try:
        table.mul_(2)
        seen.append(table.sum())
        table[(x * 10).long()] += 1
    except IndexError:
        seen.append("raised")
    return table + 1, seen


def in_another_block(x, table, truths):
    seen = []
    try:
        seen.append(table.sum())
    except Exception:
        seen.append("not here")
    table.add_(1)
    try:
        seen.append(abs(truths))
    except RuntimeError:
        seen.append("here")
    return seen, table


def swallowed(x, table, truths):
    with contextlib.suppress(NotImplementedError):
        table.add_(1)
        table |= 1
        table.add_(5)
    return table * 2


def with_a_finally(x, table, truths):
    seen = []
    try:
        for _ in range(2):
            table.add_(1)
            try:
                seen.append(table[:2].index_add_(0, torch.tensor([0, 1]), torch.tensor([1, 2])))
            finally:
                seen.append(float(table.sum()))
    except RuntimeError as error:
        seen.append(type(error).__name__)
    return seen, table


def over_one_memory(x, table, truths):
    try:
        table.add_(1)
        table[1:] -= table[:-1]
    except RuntimeError:
        table.mul_(3)
    return table + 1


def written_through_data(x, table, truths):
    table.data[0] = 3
    total = table.sum()
    try:
        total = total + abs(truths).sum()
    except RuntimeError:
        total = total + 1
    return total


def with_random_numbers(x, table, truths):
    try:
        table.add_(torch.rand(3))
        return table[(x * 10).long()]
    except IndexError:
        return torch.rand(3)


@pytest.mark.parametrize(
    "fn",
    [
        handled_behind_a_write,
        written_in_the_block,
        in_another_block,
        swallowed,
        with_a_finally,
        over_one_memory,
        written_through_data,
        with_random_numbers,
    ],
    ids=lambda fn: fn.__name__,
)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_what_was_written_is_as_if_the_operation_had_raised_in_its_block(fn, backend):
    if fn is over_one_memory and backend != "eager":
        return  # AOTAutograd gives each part memory of its own, and nothing raises
    args = torch.tensor([1.0, 2.0]), torch.ones(3), torch.tensor([True, False])
    check(fn, *args, graphs=None, breaks=None, recompiles=None, backend=backend)


@pytest.mark.parametrize("caught", [False, True])
def test_only_what_the_program_handles_is_kept(caught):
    def plain(x):
        with torch.no_grad():
            x.add_(1)
        try:
            raise KeyError
        except KeyError:
            x.mul_(2)
        return x + 1

    def handled(x):
        try:
            x.add_(1)
        except RuntimeError:
            pass
        return x + 1

    compiled = suture.compile(handled if caught else plain, backend="eager")
    compiled(torch.ones(2))
    assert ("keep(" in str(suture.code(compiled))) is caught
