"""Bodies that are skipped for a condition that says in other words that there are no rows."""

import pytest
import torch

import suture
from tests.programs.dynamic.test_optional_bodies import ALL, SOME, WEIGHTS, calls_like_eager, rows

GENERATORS = [torch.Generator().manual_seed(n) for n in range(6)]
ROUTES = [(rows(n), c) for n, c in enumerate((ALL, SOME, SOME + 1, ALL.flip(0), SOME))]


def any_of_a_mask(x, chosen):
    out = torch.zeros_like(x)
    for e in range(4):
        mask = chosen == e
        if not mask.any():
            continue
        idx = torch.where(mask)[0]
        out[idx] += (x[idx] @ WEIGHTS[e]) * x[idx, 1][:, None]
    return out


def rows_by_a_mask(x, chosen):
    out = torch.zeros_like(x)
    for e in range(4):
        mask = chosen == e
        if mask.any():
            out[mask] += (x[mask] @ WEIGHTS[e]) * x[mask, 1].unsqueeze(-1)
    return out


def sum_of_a_mask(x, chosen):
    out = torch.zeros_like(x)
    for e in range(4):
        mask = chosen == e
        if mask.sum() > 0:
            idx = mask.nonzero().squeeze(-1)
            out.index_add_(0, idx, torch.nn.functional.gelu(x[idx] @ WEIGHTS[e]))
    return out


def numbers_of_rows(x, chosen):
    out = torch.zeros_like(x)
    counts = torch.nn.functional.one_hot(chosen, 4).sum(0).tolist()
    for e in range(4):
        if counts[e] == 0:
            continue
        idx = torch.where(chosen == e)[0]
        out[idx] += x[idx] @ WEIGHTS[e]
    return out


def rows_that_are_hit(x, chosen):
    out = torch.zeros_like(x)
    mask = torch.nn.functional.one_hot(chosen, 4).t()
    for e in torch.greater(mask.sum(-1), 0).nonzero():
        idx = torch.where(mask[e].squeeze(0))[0]
        out.index_add_(0, idx, x[idx] @ WEIGHTS[e[0]])
    return out


def rows_that_are_hit_as_numbers(x, chosen):
    out = torch.zeros_like(x)
    mask = torch.nn.functional.one_hot(chosen, 4).t()
    for e in (mask.sum(-1) > 0).nonzero():
        e = e[0]
        if e == 4:
            continue
        idx = torch.where(mask[e])[0]
        out.index_add_(0, idx, x[idx] @ WEIGHTS[e])
    return out


@pytest.mark.parametrize(
    "fn",
    [
        any_of_a_mask,
        rows_by_a_mask,
        sum_of_a_mask,
        numbers_of_rows,
        rows_that_are_hit,
        rows_that_are_hit_as_numbers,
    ],
)
def test_one_graph_however_rows_are_routed(fn):
    calls_like_eager(fn, *ROUTES, graphs=1)


@pytest.mark.parametrize("fn", [any_of_a_mask, rows_that_are_hit_as_numbers])
def test_inductor_takes_it(fn):
    suture.reset()
    compiled = suture.compile(fn, dynamic=False)
    for args in ROUTES:
        torch.testing.assert_close(compiled(*args), fn(*args))
    assert suture.stats().variants == 1


def a_switch_beside_the_rows(x, chosen):
    out = torch.zeros_like(x)
    for e in range(2):
        idx = torch.where(chosen == e)[0]
        if chosen[0] == 0:
            out.index_add_(0, idx, x[idx])
    return out


def other_rows_than_asked_for(x, chosen):
    out = torch.zeros_like(x)
    for e in (torch.bincount(chosen, minlength=5)[1:5] > 1).nonzero():
        idx = torch.where(chosen == e[0])[0]
        out.index_add_(0, idx, x[idx])
    return out


def a_mask_that_changes(x, chosen):
    out = torch.zeros_like(x)
    for e in range(4):
        mask = chosen == e
        if mask.any():
            taken = x[mask]
            mask.zero_()
            mask[0] = True
            if taken.shape[0] == 1:
                out[mask] += taken
    return out


def leaves_at_a_row(x, chosen):
    out = torch.zeros_like(x)
    for e in (torch.nn.functional.one_hot(chosen, 4).sum(0) > 0).nonzero():
        idx = torch.where(chosen == e[0])[0]
        out.index_add_(0, idx, x[idx])
        if e[0] == 2:
            break
    return out


def the_last_row_is_used(x, chosen):
    out, e = torch.zeros_like(x), None
    for e in (torch.nn.functional.one_hot(chosen, 4).sum(0) > 0).nonzero():
        idx = torch.where(chosen == e[0])[0]
        out.index_add_(0, idx, x[idx])
    return out, e


def counts_turns(x, chosen):
    out, turns = torch.zeros_like(x), 0
    for e in (torch.nn.functional.one_hot(chosen, 4).sum(0) > 0).nonzero():
        idx = torch.where(chosen == e[0])[0]
        out.index_add_(0, idx, x[idx])
        turns += 1
    return out, turns


def raises_behind(x, chosen):
    out = torch.zeros_like(x)
    for e in range(2):
        idx = torch.where(chosen == e)[0]
        if chosen[0] == 0:
            out.index_add_(0, idx, x[idx] * 0 - 1)
    return torch.linalg.cholesky(torch.eye(3) + out.sum() * torch.eye(3))


@pytest.mark.parametrize(
    "fn",
    [
        a_switch_beside_the_rows,
        other_rows_than_asked_for,
        a_mask_that_changes,
        leaves_at_a_row,
        the_last_row_is_used,
        counts_turns,
        raises_behind,
    ],
)
def test_what_is_skipped_for_another_reason_is_skipped(fn):
    calls_like_eager(fn, *ROUTES, *ROUTES, graphs=None)


def test_a_loop_that_takes_rows_out_until_none_are_left():
    def fn(boxes, scores):
        left, out, count = scores.argsort(), torch.zeros_like(scores, dtype=torch.long), 0
        while left.size(0) > 0:
            last = left[-1]
            out[count] = last
            count += 1
            left = left[:-1]
            left = left[(boxes[left] - boxes[last]).abs().sum(-1) > 1.5]
        return out[:count]

    sets = [(torch.rand(6, 4, generator=g), torch.rand(6, generator=g)) for g in GENERATORS]
    calls_like_eager(fn, *sets, graphs=None)
    assert not any(record.number == "GB2090" for record in suture.stats().interpreted)


def test_all_of_a_tensor_is_written_behind_a_check():
    def fn(x, chosen):
        out, kept = torch.zeros_like(x), torch.zeros_like(chosen)
        for e in range(2):
            mask = chosen == e
            if mask.any():
                idx = torch.where(mask)[0]
                out.index_add_(0, idx, x[idx])
        kept[...] = chosen
        return out, kept

    calls_like_eager(fn, *ROUTES, graphs=1)


def test_a_few_of_many_rows_are_not_gone_through_all():
    weights = torch.ones(40, 3, 3)

    def fn(x, chosen):
        out = torch.zeros_like(x)
        mask = torch.nn.functional.one_hot(chosen, 40).t()
        for e in (mask.sum(-1) > 0).nonzero():
            idx = torch.where(mask[e[0]])[0]
            out.index_add_(0, idx, x[idx] @ weights[e[0]])
        return out

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    assert torch.equal(compiled(rows(), ALL), fn(rows(), ALL))
    assert suture.stats().breaks
    suture.reset()
    many = torch.arange(80) % 30
    compiled, x = suture.compile(fn, backend="eager"), torch.randn(80, 3)
    assert torch.equal(compiled(x, many), fn(x, many))
    assert not suture.stats().breaks


def test_a_comparison_around_a_body_that_does_something_is_one_branch_like_others():
    """Compared and decided in one instruction, as from Python 3.13 on, or in two."""

    def fn(x):
        for k in (1.0, 2.0, 3.0):
            x = x * k
            if x.sum() > 1e9:
                x = x + 1
        return x

    calls_like_eager(fn, (rows(),), (rows() + 1e9,), (rows(1),), graphs=None)
    stats = suture.stats()
    assert stats.variants
    assert {record.number for record in stats.breaks} == {"GB0170"}
