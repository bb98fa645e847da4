"""Bodies that the program skips where there are no rows are part of the graph."""

import gc
import weakref

import pytest
import torch
import torch.nn.functional as F

import suture
from suture.compiler.misses import limits
from tests.harness import Graphs, check

WEIGHTS = torch.randn(4, 3, 3, generator=torch.Generator().manual_seed(1))
ALL = torch.tensor([0, 1, 2, 3, 0])
SOME = torch.tensor([2, 2, 2, 0, 2])


def rows(seed=0):
    return torch.randn(5, 3, generator=torch.Generator().manual_seed(seed))


def calls_like_eager(fn, *sets, graphs):
    """Call with each set of arguments, compare with eager, and require so many graphs."""
    suture.reset()
    recorder = Graphs()
    compiled = suture.compile(fn, backend=recorder, dynamic=False)
    for args in sets:
        copies = [a.clone() for a in args]
        expected = _outcome(fn, args)
        assert str(_outcome(compiled, copies)) == str(expected)
        assert str(copies) == str(list(args))
    if graphs is not None:
        assert len(recorder) == graphs


def _outcome(fn, args):
    try:
        return fn(*args)
    except Exception as error:
        return type(error), str(error)


def routed(x, chosen):
    out = torch.zeros_like(x)
    for e in range(4):
        idx = torch.where(chosen == e)[0]
        if idx.numel() == 0:
            continue
        out.index_add_(0, idx, torch.relu(x[idx] @ WEIGHTS[e]))
    return out


def test_a_function_has_a_limit_of_such_bodies(monkeypatch):
    """Where a backend takes long for each of them, the rest breaks."""
    monkeypatch.setattr(limits, "body_allowance", lambda unit: 2 - unit.optional_bodies)
    calls_like_eager(routed, (rows(), ALL), (rows(1), SOME), (rows(2), ALL), graphs=None)
    broken = [record.number for record in suture.stats().breaks]
    assert broken
    monkeypatch.undo()
    calls_like_eager(routed, (rows(), ALL), (rows(1), SOME), graphs=1)


def routed_by_shape(x, chosen):
    out = torch.zeros_like(x)
    for e in range(4):
        (idx,) = (chosen == e).nonzero(as_tuple=True)
        taken = x[idx]
        if taken.shape[0] > 0:
            out[idx] += taken @ WEIGHTS[e]
    return out


def routed_by_length(x, chosen):
    out = torch.zeros_like(x)
    for e in range(4):
        idx = (chosen == e).nonzero().reshape(-1)
        if len(idx):
            scaled = (x[idx] @ WEIGHTS[e]).mul_(2)
            out.index_copy_(0, idx, scaled)
    return out


def routed_anew(x, chosen):
    out = torch.zeros_like(x)
    for e in range(4):
        idx = torch.where(chosen == e)[0]
        if idx.numel() == 0:
            continue
        out = out.index_add(0, idx, torch.relu(x[idx] @ WEIGHTS[e]))
    return out


def routed_and_counted(x, chosen):
    out, count = x * 0, torch.zeros(5, dtype=torch.int64)
    for e in range(4):
        (idx,) = torch.where(chosen == e)
        if idx.shape[0] > 0:
            out = torch.index_put(out, (idx,), x[idx] @ WEIGHTS[e], accumulate=True)
            if e > 1:
                count = count.index_add(0, idx, torch.ones_like(idx))
    out.mul_(2)
    return out, count


def routed_by_counts(x, chosen):
    chosen = F.one_hot(chosen, 4).argmax(-1)
    counts, out = torch.bincount(chosen, minlength=4).tolist(), torch.zeros_like(x)
    for e in range(4):
        if counts[e] == 0:
            continue
        idx = torch.where(chosen == e)[0]
        out[idx] = x[idx] @ WEIGHTS[e]
    return out


@pytest.mark.parametrize(
    "fn",
    [
        routed,
        routed_by_shape,
        routed_by_length,
        routed_anew,
        routed_and_counted,
        routed_by_counts,
    ],
)
def test_routed_rows_are_one_graph_however_they_are_routed(fn):
    sets = [(rows(n), chosen) for n, chosen in enumerate((ALL, SOME, SOME + 1, ALL.flip(0)))]
    calls_like_eager(fn, *sets, graphs=1)


def test_a_whole_graph_may_be_asked_for():
    check(routed, rows(), SOME, fullgraph=True)


def test_a_second_question_inside_is_answered():
    def fn(x, chosen):
        out = torch.zeros_like(x)
        idx = torch.where(chosen == 1)[0]
        if idx.numel() > 0:
            y = x[idx]
            y = y.sin() if y.shape[0] else y.cos()
            out.index_add_(0, idx, y)
        return out

    calls_like_eager(fn, (rows(), ALL), (rows(), SOME), graphs=1)


def kept_in_a_list(x, chosen):
    found = []
    for e in range(4):
        idx = torch.where(chosen == e)[0]
        if idx.numel() == 0:
            continue
        found.append(x[idx].sum())
    return found


def counted(x, chosen):
    count = 0
    for e in range(4):
        idx = torch.where(chosen == e)[0]
        if idx.numel() == 0:
            continue
        count += 1
    return x * count


def a_number_of_the_rows(x, chosen):
    idx = torch.where(chosen == 1)[0]
    if idx.numel() > 0:
        x = x + x[idx].mean()
    return x


def raises_without_rows(x, chosen):
    out = torch.zeros_like(x)
    idx = torch.where(chosen == 1)[0]
    if idx.numel() > 0:
        out.index_add_(0, idx, x[idx] - x[idx].amax(0))
    return out


def written_everywhere(x, chosen):
    out = torch.zeros_like(x)
    idx = torch.where(chosen == 1)[0]
    if idx.numel() > 0:
        out.add_(1)
        out.index_add_(0, idx, x[idx])
    return out


def a_size_to_be_found_out(x, chosen):
    out = torch.zeros_like(x)
    idx = torch.where(chosen == 1)[0]
    if idx.numel() > 0:
        out.index_add_(0, idx, x[idx].view(idx.shape[0], -1))
    return out


def another_name_afterwards(x, chosen):
    name = "none"
    idx = torch.where(chosen == 1)[0]
    if idx.numel() > 0:
        name = "some"
    return x.sin(), name


def leaves_the_loop(x, chosen):
    out = torch.zeros_like(x)
    for e in range(4):
        idx = torch.where(chosen == e)[0]
        if idx.numel() == 0:
            continue
        out.index_add_(0, idx, x[idx])
        if e == 1:
            break
    return out


def more_than_two(x, chosen):
    out = torch.zeros_like(x)
    for e in range(4):
        idx = torch.where(chosen == e)[0]
        if idx.numel() <= 2:
            continue
        out.index_add_(0, idx, x[idx])
    return out


def drawn(x, chosen):
    torch.manual_seed(3)
    out = torch.zeros_like(x)
    idx = torch.where(chosen == 1)[0]
    if idx.numel() > 0:
        out.index_add_(0, idx, torch.rand(1) + x[idx])
    return out, torch.rand(1)


def told(x, chosen):
    out, seen = torch.zeros_like(x), {}
    for e in range(4):
        idx = torch.where(chosen == e)[0]
        if idx.numel() == 0:
            continue
        seen[e] = True
        out.index_add_(0, idx, x[idx])
    return out, seen


def an_index_of_others(x, chosen):
    out = torch.zeros_like(x)
    idx = torch.where(chosen == 1)[0]
    if idx.numel() > 0:
        out.index_add_(0, idx, x[idx] + x[chosen + 2].sum())
    return out


def a_later_element(x, chosen):
    out, later = torch.zeros_like(x), iter(range(1, 9))
    for e in range(4):
        idx = torch.where(chosen == e)[0]
        if idx.numel() == 0:
            continue
        out.index_add_(0, idx, x[idx] * next(later))
    return out


def divided(x, chosen):
    out = torch.zeros_like(x)
    idx = torch.where(chosen == 1)[0]
    if idx.numel() > 0:
        share = 12 // idx.numel()
        out.index_add_(0, idx, x[idx] * share)
    return out


LAST = None


def a_global_that_was_set_before(x, chosen):
    global LAST
    LAST = "none"
    out = torch.zeros_like(x)
    idx = torch.where(chosen == 1)[0]
    if idx.numel() > 0:
        LAST = "some"
        out.index_add_(0, idx, x[idx])
    return out, LAST


def another_shape(x, chosen):
    out = torch.zeros_like(x)
    idx = torch.where(chosen == 1)[0]
    if idx.numel() > 0:
        out.index_add_(0, idx, x[idx])
        idx.unsqueeze_(0)
    return out, idx.dim()


def the_first_row(x, chosen):
    out = torch.zeros_like(x)
    idx = torch.where(chosen == 1)[0]
    if idx.numel() > 0:
        out.index_add_(0, idx, x[idx] - x[idx][0])
    return out


def yielded(x, chosen):
    def found():
        for e in range(4):
            idx = torch.where(chosen == e)[0]
            if idx.numel() == 0:
                continue
            yield x[idx].sum()

    return list(found()), sum(1 for _ in found())


def a_turn_that_goes_on_early(x, chosen):
    out, seen = torch.zeros_like(x), []
    for e in range(4):
        idx = torch.where(chosen == e)[0]
        if e < 3 and idx.numel() > 0:
            out.index_add_(0, idx, x[idx])
            if e % 2:
                continue
        seen.append(e)
    return out, seen


def another_name_for_it(x, chosen):
    out = first = torch.zeros_like(x)
    idx = torch.where(chosen == 1)[0]
    if idx.numel() > 0:
        out = out.index_add(0, idx, x[idx])
    out.add_(1)
    return out, first, out is first


def kept_in_a_box(x, chosen):
    out, box = torch.zeros_like(x), []
    box.append(out)
    idx = torch.where(chosen == 1)[0]
    if idx.numel() > 0:
        out = out.index_add(0, idx, x[idx])
    out.add_(1)
    return out, box


def shown_by_a_view(x, chosen):
    out = torch.zeros_like(x)
    view = out[0]
    idx = torch.where(chosen == 1)[0]
    if idx.numel() > 0:
        out = out.index_add(0, idx, x[idx])
    out.add_(1)
    return out, view


def begun_with_an_argument(x, chosen):
    out = x
    idx = torch.where(chosen == 1)[0]
    if idx.numel() > 0:
        out = out.index_add(0, idx, x[idx])
    out.add_(1)
    return out


def laid_out_otherwise(x, chosen):
    out = torch.zeros(3).expand(5, 3)
    idx = torch.where(chosen == 1)[0]
    if idx.numel() > 0:
        out = out.index_add(0, idx, x[idx])
    return out, out.stride()


def of_another_tensor(x, chosen):
    out = torch.zeros_like(x)
    idx = torch.where(chosen == 1)[0]
    if idx.numel() > 0:
        out = x.index_add(0, idx, x[idx])
    return out


@pytest.mark.parametrize(
    "fn",
    [
        another_name_for_it,
        kept_in_a_box,
        shown_by_a_view,
        begun_with_an_argument,
        laid_out_otherwise,
        of_another_tensor,
        a_global_that_was_set_before,
        another_shape,
        the_first_row,
        yielded,
        a_turn_that_goes_on_early,
        kept_in_a_list,
        counted,
        a_number_of_the_rows,
        raises_without_rows,
        written_everywhere,
        a_size_to_be_found_out,
        another_name_afterwards,
        leaves_the_loop,
        more_than_two,
        drawn,
        told,
        an_index_of_others,
        a_later_element,
        divided,
    ],
)
def test_a_body_that_does_something_else_is_skipped(fn):
    sets = [(rows(n), c) for n, c in enumerate((ALL, SOME, ALL - ALL + 3, SOME, ALL))]
    calls_like_eager(fn, *sets, graphs=None)


def test_an_object_that_the_body_lets_go_of_ends_when_it_does_in_eager():
    ends = []

    class Held:
        def __del__(self):
            ends.append("end")

    def fn(x, chosen, box):
        out, held = torch.zeros_like(x), box.pop()
        idx = torch.where(chosen == 1)[0]
        if idx.numel() > 0:
            held = None  # noqa: F841
            out.index_add_(0, idx, x[idx])
        ends.append("behind")
        return out

    def seen(called, chosen):
        ends.clear()
        called(rows(), chosen, [Held()])
        return list(ends)

    compiled = suture.compile(fn, backend="eager")
    for chosen in (ALL, SOME, ALL, SOME):
        assert seen(compiled, chosen) == seen(fn, chosen)


def test_nothing_is_kept_of_the_first_call():
    class Given:
        pass

    def fn(x, chosen, given):
        out = torch.zeros_like(x)
        idx = torch.where(chosen == 1)[0]
        if idx.numel() > 0:
            out.index_add_(0, idx, x[idx])
        return out

    given = Given()
    end = weakref.ref(given)
    gc.disable()
    try:
        suture.compile(fn, backend="eager")(rows(), ALL, given)
        del given
        assert end() is None
    finally:
        gc.enable()


def test_what_had_no_rows_has_no_gradient():
    weights = [torch.ones(3, 3, requires_grad=True) for _ in range(4)]

    def fn(x, chosen):
        out = torch.zeros_like(x)
        for e in range(4):
            idx = torch.where(chosen == e)[0]
            if idx.numel() == 0:
                continue
            out.index_add_(0, idx, x[idx] @ weights[e])
        return out

    suture.compile(fn, backend="eager")(rows(), SOME).sum().backward()
    assert [w.grad is None for w in weights] == [False, True, False, True]


def test_a_tensor_of_the_caller_is_written_as_often_as_eager_writes_it():
    def fn(x, out, chosen):
        idx = torch.where(chosen == 1)[0]
        if idx.numel() > 0:
            out.index_add_(0, idx, x[idx])
        return x + 1

    compiled = suture.compile(fn, backend="eager")
    for chosen in (ALL, SOME):
        ours, eager = torch.zeros(5, 3), torch.zeros(5, 3)
        compiled(rows(), ours, chosen)
        fn(rows(), eager, chosen)
        assert ours._version == eager._version
        assert torch.equal(ours, eager)
