"""Branches on tensors one side of which raises: captured, and right when they do raise."""

from __future__ import annotations

import pytest
import torch

import suture
from tests.harness import Graphs, Outcome, check, compare

POSITIVE = torch.tensor([1.0, 2.0])
NEGATIVE = -POSITIVE


def validated(x):
    if not (x > 0).all():
        raise ValueError(f"not positive: {x.shape}")
    return x.log()


def test_a_condition_whose_other_side_raises_is_part_of_the_graph():
    check(validated, POSITIVE)


def test_an_assertion_on_a_tensor_is_part_of_the_graph():
    def fn(x):
        assert (x > 0).all(), "must be positive"
        return x.log()

    check(fn, POSITIVE)


def test_each_turn_of_a_loop_checks():
    def fn(xs):
        total = 0
        for x in xs:
            if (x < 0).any():
                raise ValueError("negative")
            total = total + x
        return total

    check(fn, [POSITIVE, POSITIVE * 2, POSITIVE * 3])


def test_a_check_in_a_called_function_is_captured():
    def fn(x):
        return validated(x) + validated(x + 1)

    check(fn, POSITIVE)


def both(fn, *calls):
    """Eager and compiled, call by call, in one process."""
    suture.reset()
    graphs = Graphs()
    compiled = suture.compile(fn, backend=graphs)
    for given in calls:
        eager = Outcome(fn, (given.clone(),), {})
        ours = Outcome(compiled, (given.clone(),), {})
        compare(eager, ours)
    return graphs


def test_the_error_is_the_programs_own_when_the_condition_fails_later():
    both(validated, POSITIVE, NEGATIVE, POSITIVE, NEGATIVE)


def test_the_error_has_the_line_that_raised():
    compiled = suture.compile(validated, backend="eager")
    compiled(POSITIVE)
    with pytest.raises(ValueError, match="not positive") as caught:
        compiled(NEGATIVE)
    lines = [entry.name for entry in caught.traceback]
    assert lines[-1] == "validated"


def test_random_numbers_are_as_in_eager_when_a_condition_fails():
    def fn(x):
        noise = torch.randn(2)
        if (x + noise < -100).any():
            raise ValueError("low")
        if (x < 0).any():
            raise ValueError(f"negative after {noise.shape}")
        return x + noise + torch.rand(2)

    both(fn, POSITIVE, NEGATIVE, POSITIVE)


def test_what_the_program_changed_before_it_raised_is_changed():
    seen = []

    def fn(x):
        seen.append(1)
        if (x < 0).any():
            raise ValueError("negative")
        seen.append(2)
        return x + 1

    compiled = suture.compile(fn, backend="eager")
    compiled(POSITIVE)
    with pytest.raises(ValueError, match="negative"):
        compiled(NEGATIVE)
    assert seen == [1, 2, 1]


def test_an_exception_that_the_program_catches_is_caught():
    def fn(x):
        try:
            if (x < 0).any():
                raise ValueError("negative")
        except ValueError:
            return x.cos()
        return x.sin()

    both(fn, POSITIVE, NEGATIVE, POSITIVE)


def written_after_a_check(x):
    if (x < 0).any():
        raise ValueError("negative")
    x.add_(1)
    return x * 2


def test_what_a_graph_wrote_is_taken_back_when_a_condition_fails():
    check(written_after_a_check, POSITIVE)
    both(written_after_a_check, POSITIVE, NEGATIVE, POSITIVE)


def test_a_graph_that_writes_to_much_memory_breaks_at_the_condition():
    check(written_after_a_check, torch.ones(1 << 19), graphs=2, breaks=["GB0170"])


def test_what_lies_apart_in_memory_is_taken_back_too():
    def fn(x):
        return written_after_a_check(x[:, 0])

    check(fn, torch.ones(3, 2))

    def of_a_part(x):
        return written_after_a_check(x)

    graphs = Graphs()
    compiled = suture.compile(of_a_part, backend=graphs)
    compiled(torch.ones(3, 2)[:, 0])
    assert len(graphs) == 1
    whole = torch.full((3, 2), -1.0)
    with pytest.raises(ValueError, match="negative"):
        compiled(whole[:, 0])
    assert torch.equal(whole, torch.full((3, 2), -1.0))


class Normalised(torch.nn.Module):
    """Batches are normalised, checked, and looked up in a table."""

    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(2)
        self.table = torch.nn.Embedding(4, 2)

    def forward(self, x, at):
        x = self.norm(x)
        if not torch.isfinite(x).all():
            raise ValueError("not finite")
        assert at.max() < 4, "no such row"
        return x + self.table(at)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_running_statistics_are_as_in_eager_when_a_condition_fails(backend):
    suture.reset()
    torch.manual_seed(0)
    eager, other = Normalised(), Normalised()
    other.load_state_dict(eager.state_dict())
    compiled = suture.compile(other, backend=backend)
    good, row = torch.randn(3, 2), torch.tensor([0, 1, 2])
    calls = [(good, row), (good * torch.nan, row), (good, row), (good, row + 2), (good, row)]
    for x, at in calls:
        compare(Outcome(eager, (x, at), {}), Outcome(compiled, (x, at), {}))
        torch.testing.assert_close(other.state_dict(), eager.state_dict(), equal_nan=True)


def test_statistics_without_a_count_are_written_too():
    def fn(x):
        x = torch.nn.functional.batch_norm(x, mean, var, training=True)
        if (x > 100).any() or not torch.isfinite(x).all():
            raise ValueError("too large")
        return x

    mean, var = torch.zeros(2), torch.ones(2)
    compiled = suture.compile(fn, backend="eager")
    x = torch.randn(3, 2)
    compiled(x)
    before = mean.clone()
    with pytest.raises(ValueError, match="too large"):
        compiled(x + torch.inf)
    assert not torch.isfinite(mean).any()
    mean.copy_(before)
    compiled(x)
    torch.testing.assert_close(mean, before * 0.9 + x.mean(0) * 0.1)


def test_checks_are_asked_of_the_graph_at_once():
    def fn(x):
        if not (x > 0).all():
            raise TypeError("not positive")
        if (x > 10).any() or x.sum() > 100:
            raise ValueError("large")
        return x.log()

    graphs = Graphs()
    compiled = suture.compile(fn, backend=graphs)
    with torch.autograd.profiler.profile() as seen:
        compiled(POSITIVE)
        compiled(POSITIVE)
    assert len(graphs) == 1
    asked = [e for e in seen.function_events if e.name == "aten::is_nonzero"]
    assert not asked  # on a CPU the variant looks into memory
    both(fn, POSITIVE, POSITIVE * 8, NEGATIVE, POSITIVE * 200, POSITIVE)


def test_an_operation_that_fails_on_what_was_to_be_refused_raises_the_programs_error():
    def fn(x):
        if (x < 0).any():
            raise ValueError("negative")
        return torch.multinomial(x, 1)

    both(fn, POSITIVE, NEGATIVE)


def test_gradients_go_through_what_was_checked():
    check(validated, POSITIVE.clone().requires_grad_())


def test_a_branch_both_sides_of_which_go_on_is_a_break():
    def fn(x):
        if (x < 0).any():
            x = x + 1
        return x * 2

    check(fn, POSITIVE, graphs=2, breaks=["GB0170"])


def test_a_check_of_a_number_from_data_is_part_of_the_graph():
    def fn(mask, features):
        if mask.sum().item() != features.shape[0]:
            raise ValueError("tokens and features do not match")
        return features * mask.sum()

    check(fn, torch.tensor([1, 0, 1]), POSITIVE)
    check(fn, torch.ones(3).long(), POSITIVE, graphs=None, breaks=None, recompiles=None)


def test_a_check_of_a_size_is_decided_while_tracing():
    def fn(x, limit):
        if x.shape[0] > limit:
            raise ValueError("too long")
        return x + 1

    check(fn, POSITIVE, 4, dynamic=True)
    check(fn, POSITIVE, 1, dynamic=True, graphs=None)


def test_a_check_under_inference_mode_is_captured():
    def fn(x):
        return validated(x) + 1

    graphs = Graphs()
    compiled = suture.compile(fn, backend=graphs)
    with torch.inference_mode():
        x = POSITIVE * 2
        torch.testing.assert_close(compiled(x), fn(x))
    assert len(graphs) == 1
