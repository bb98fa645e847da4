"""Branches on data that went the same way in the calls so far: expected to go so again, and right
when they do not."""

from __future__ import annotations

import random

import pytest
import torch

import suture
from suture import config
from tests.harness import Graphs, Outcome, _clone, compare

AFTER = 3
UP, DOWN = torch.tensor([1.0, 2.0]), torch.tensor([-1.0, -2.0])


@pytest.fixture(autouse=True)
def soon():
    with config.patch(speculate_after=AFTER):
        yield


def calls(fn, *given, backend=None, **options):
    """Eager and compiled, call by call; the number of graphs after each call. Each `given` is what
    one call gets, a tuple or one argument."""
    suture.reset()
    graphs = Graphs()
    compiled = suture.compile(fn, backend=backend or graphs, **options)
    counts = []
    for seed, one in enumerate(given):
        args = one if isinstance(one, tuple) else (one,)
        eager = Outcome(fn, _clone(args, {}), {}, seed)
        ours = Outcome(compiled, _clone(args, {}), {}, seed)
        compare(eager, ours)
        counts.append(len(graphs))
    return counts


def branches(x):
    y = x * 2
    if y.sum() > 0:
        y = y + 1
    else:
        y = y - 1
    return y * 3


def test_a_steady_branch_becomes_part_of_the_graph():
    assert calls(branches, *[UP] * 8) == [2] * (AFTER + 1) + [3] * (7 - AFTER)
    assert [record.number for record in suture.stats().breaks] == ["GB0170"]


@pytest.mark.parametrize("turn", [1, 2, 3, 9])
def test_a_branch_that_turns_once_is_right_and_stays_expected(turn):
    given = [UP] * 14
    given[turn] = DOWN
    counts = calls(branches, *given)
    assert counts[-1] == 4  # both sides, and the one that is expected
    compiled_again = [b - a for a, b in zip(counts, counts[1:])]
    assert sum(compiled_again[10:]) == 0


def test_a_branch_that_turns_often_stays_a_break():
    torch.manual_seed(0)
    given = [UP if i < 5 or i % 3 else DOWN for i in range(40)]
    counts = calls(branches, *given)
    assert counts[-1] <= 4
    assert counts[20] == counts[-1]


def test_a_branch_that_turns_for_good_is_expected_to_stay_there():
    counts = calls(branches, *[UP] * 6, *[DOWN] * 30)
    assert counts[-1] == counts[-3] <= 6


def test_nothing_is_expected_if_the_option_says_never():
    with config.patch(speculate_after=0):
        assert calls(branches, *[UP] * 8) == [2] * 8


def test_all_conditions_of_a_call_are_one_result():
    def fn(x):
        for i in range(4):
            if (x * i).isnan().any():
                x = x.nan_to_num()
            x = x + i
        return x

    counts = calls(fn, *[UP] * 8, UP * float("nan"), UP)
    assert counts[7] == counts[6] == counts[5]


def test_a_loop_that_takes_as_many_turns_as_before():
    def fn(x):
        turns = 0
        while not (x > 10).all():
            x = x * 2
            turns += 1
        return x, turns

    counts = calls(fn, *[UP] * 8, UP * 4, UP, UP / 8, UP)
    assert counts[6] == counts[7] == counts[AFTER] + 1


def test_turns_that_are_skipped():
    def fn(x, experts):
        out = torch.zeros_like(x)
        for number in range(4):
            rows = torch.where(experts == number)[0]
            if rows.numel() == 0:
                continue
            out.index_add_(0, rows, x[rows] * (number + 1))
        return out

    x = torch.arange(12.0).reshape(4, 3)
    full, some = torch.tensor([0, 1, 2, 3]), torch.tensor([0, 0, 2, 2])
    counts = calls(fn, *[(x, some)] * 8, (x, full), (x, some), (x, full * 0))
    assert counts[7] == counts[6] == counts[AFTER + 1]


def test_what_was_written_before_and_after_is_taken_back():
    def fn(x, counter, log):
        counter.add_(1)
        log.append(1)
        if x.sum() > 0:
            counter.mul_(2)
            log.append(2)
            x.add_(1)
        else:
            log.append(3)
        log.append(4)
        return x * counter

    good, bad = (UP, torch.zeros(()), [0]), (DOWN, torch.zeros(()), [0])
    calls(fn, *[good] * 7, bad, good, bad, good)


def test_random_numbers_are_drawn_once():
    def fn(x):
        noise = torch.rand(2)
        shift = random.random()
        if (x + noise).sum() > 1:
            noise = noise + torch.rand(2)
        return x + noise * shift + torch.rand(2)

    calls(fn, *[UP * 3] * 7, DOWN * 3, UP * 3)


def test_derivatives_are_those_of_the_way_that_was_gone():
    def fn(x, w):
        y = x * w
        if y.sum() > 0:
            y = y * w
        return y.sum()

    w = torch.tensor([0.5, 2.0], requires_grad=True)
    for backend in (None, "aot_eager"):
        calls(fn, *[(UP, w)] * 7, (DOWN, w), (UP, w), backend=backend)


def test_autograd_does_not_see_writes_that_were_taken_back():
    def fn(x, kept):
        if x.sum() > 0:
            kept.add_(1)
        return x * 2

    compiled = suture.compile(fn, backend="eager")
    for x in [*[UP] * 7, DOWN]:
        leaf, kept = torch.ones(2, requires_grad=True), torch.ones(2)
        loss = (leaf * kept).sum()  # saves it
        if x is DOWN:
            compiled(x, kept)
            loss.backward()
        else:
            compiled(x, kept)
    torch.testing.assert_close(leaf.grad, torch.ones(2))


def test_a_condition_that_is_written_later_is_looked_at_in_time():
    def fn(x, flag):
        if flag:
            x = x + 1
        flag.fill_(True)
        return x

    on, off = torch.tensor(True), torch.tensor(False)
    calls(fn, *[(UP, on)] * 8, (UP, off), (UP, on), (UP, off))


def test_an_error_on_the_way_that_is_not_gone_is_not_raised():
    def fn(x):
        if x.numel() and x.sum() > 0:
            return torch.linalg.cholesky(torch.diag(x))
        return x

    calls(fn, *[UP] * 8, DOWN, UP)


def test_an_error_of_the_program_is_raised():
    def fn(x):
        if x.sum() < 100:
            return torch.linalg.cholesky(torch.diag(x))
        return x

    calls(fn, *[UP] * 8, DOWN, UP)


def test_a_print_ends_what_is_expected_before_it():
    def fn(x):
        print("start")
        if x.sum() > 0:
            x = x + 1
        print("end")
        return x * 2

    calls(fn, *[UP] * 8, DOWN, UP)


def test_an_index_that_the_branch_may_protect_stays_behind_a_break():
    def fn(table, i):
        if (i >= 3).any():
            i = i.clamp(max=2)
        return table[i] * 2

    table, good, bad = torch.arange(3.0), torch.tensor([0, 2]), torch.tensor([0, 7])
    counts = calls(fn, *[(table, good)] * 9, (table, bad))
    assert counts[8] <= 3  # one more try, which ended at the same branch


def test_a_division_that_the_branch_may_protect_stays_behind_a_break():
    def fn(x, y):
        if (y == 0).any():
            y = y.clamp(min=1)
        return x // y

    x, good, bad = torch.tensor([4, 6]), torch.tensor([2, 3]), torch.tensor([0, 3])
    calls(fn, *[(x, good)] * 9, (x, bad))


def test_operators_of_the_program_do_not_run_for_nothing():
    ran = []

    @torch.library.custom_op("suture_test::told", mutates_args=())
    def told(x: torch.Tensor) -> torch.Tensor:
        ran.append(1)
        return x + 1

    @told.register_fake
    def _(x):
        return torch.empty_like(x)

    def fn(x):
        x = told(x)
        if x.sum() > 0:
            x = x * 2
        return x

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    for count, x in enumerate([*[UP] * 8, DOWN * 9, UP], 1):
        compiled(x)
        assert len(ran) == count


def test_large_writes_end_what_is_expected():
    def fn(x, big):
        big.add_(1)
        if x.sum() > 0:
            x = x * 2
        return x + big[0]

    big = torch.zeros(1 << 19)
    calls(fn, *[(UP, big)] * 7, (DOWN, big))


def test_other_shapes_are_expected_to_do_the_same():
    counts = calls(branches, *[UP] * 6, *[torch.ones(5)] * 2, -torch.ones(5), torch.ones(7))
    assert counts[7] == counts[6]


def test_hooks_on_saved_tensors_see_nothing_twice():
    packed = []

    def fn(x):
        y = x.sin()
        if y.sum() > 0:
            y = y.cos()
        return y.exp()

    def run(call, x):
        packed.clear()
        with torch.autograd.graph.saved_tensors_hooks(lambda t: packed.append(1) or t, lambda t: t):
            call(x.clone().requires_grad_())
        return len(packed)

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    for _ in range(8):
        compiled(UP.clone().requires_grad_())
    for x in (UP, DOWN, UP):
        assert run(compiled, x) == run(fn, x)


def test_a_checkpoint_around_it_is_right():
    from torch.utils.checkpoint import checkpoint

    def fn(x):
        y = x.sin()
        if y.sum() > 0:
            y = y.cos()
        return y.exp()

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    for x in [*[UP] * 8, DOWN, UP]:
        grads = []
        for call in (fn, compiled):
            leaf = x.clone().requires_grad_()
            checkpoint(call, leaf, use_reentrant=False).sum().backward()
            grads.append(leaf.grad)
        torch.testing.assert_close(*grads)


def test_a_break_is_no_recompilation_to_fail_on():
    compiled = suture.compile(branches, backend="eager")
    for _ in range(AFTER + 1):
        compiled(UP)
    with suture.set_stance("fail_on_recompile"):
        for _ in range(4):
            torch.testing.assert_close(compiled(UP), branches(UP))
    with config.patch(error_on_recompile=True):
        torch.testing.assert_close(compiled(UP), branches(UP))
    assert not suture.stats().recompilations


def test_a_full_graph_may_not_break_first():
    compiled = suture.compile(branches, backend="eager", fullgraph=True)
    with pytest.raises(suture.errors.SutureError, match="GB0170"):
        compiled(UP)


def test_a_branch_in_a_called_function_and_in_a_module():
    class Early(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList(torch.nn.Linear(2, 2) for _ in range(3))

        def forward(self, x):
            for layer in self.layers:
                x = layer(x).tanh()
                if self.enough(x):
                    return x
            return x * 2

        def enough(self, x):
            if x.abs().max() > 5:
                return True
            return False

    torch.manual_seed(0)
    module = Early()
    counts = calls(module, *[UP] * 8)
    assert counts[7] == counts[5] == counts[AFTER] + 1


def test_inductor_gives_the_same():
    calls(branches, *[UP] * 6, DOWN, UP, backend="inductor")


def test_a_loop_whose_end_no_branch_on_data_tells_is_not_unrolled_without_end():
    """The last turn starts with one row, of which it is known that none is left after it."""

    def fn(order):
        turns = 0
        while order.numel() > 0:
            rest = order[1:]
            order = rest[torch.where(rest != order[0])[0]]
            turns += 1
        return order, turns

    given = [torch.arange(4), torch.arange(5), torch.tensor([1, 1, 2, 3]), torch.arange(6)]
    counts = calls(fn, *given, *given, *given)
    assert counts[-1] == counts[-2]
