"""A break inside a call that can meet no tensor: Python runs the whole call, at one break."""

from __future__ import annotations

import math
import threading

import numpy
import torch

import suture
from tests.harness import Graphs, check


def plan(rows, count, taken=()):
    out = numpy.zeros((rows, count), dtype=numpy.int64)
    for row in range(rows):
        free = [i for i in numpy.random.permutation(numpy.arange(9)) if i not in taken]
        out[row] = free[:count]
    return out


def test_random_indices_of_numpy_are_drawn_at_one_break():
    def fn(x):
        y = x.sin()
        numpy.random.seed(1)
        picked = torch.tensor(plan(3, 2, taken=(4,)))
        return y[picked].sum()

    seen = check(fn, torch.randn(9), graphs=2, breaks=("GB0177",))
    names = [str(n.target) for gm in seen.modules for n in gm.graph.nodes]
    assert not any("array" in name for name in names), names


def test_the_draws_are_those_of_eager():
    def fn(x):
        return x + torch.tensor(plan(2, 3))

    compiled = suture.compile(fn, backend="eager")
    for seed in range(3):
        numpy.random.seed(seed)
        want = fn(torch.zeros(2, 3))
        numpy.random.seed(seed)
        assert torch.equal(compiled(torch.zeros(2, 3)), want)


class Sampler(torch.nn.Module):
    """A module that draws in methods which only read its numbers."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)
        self.count = 3

    def limit(self):
        return self.count + 5

    def draw(self):
        numpy.random.seed(0)
        first = numpy.random.choice(numpy.arange(self.limit()), self.count, replace=False)
        return first if first[0] > 0 else first[::-1].copy()

    def forward(self, x):
        return self.linear(x)[:, torch.tensor(self.draw())]


def test_a_method_that_reads_only_numbers_of_its_module_is_run_as_a_whole():
    check(Sampler(), torch.randn(2, 8), graphs=2, breaks=("GB0177",))


def best(sizes, wanted):
    """Chooses among sizes, by numbers that only the data know."""
    chosen, most = None, 0
    for height, width in sizes:
        scale = min(height / wanted[0], width / wanted[1])
        fits = int(wanted[0] * scale) * int(wanted[1] * scale)
        if fits > most:
            chosen, most = (height, width), fits
    return chosen


def test_a_choice_by_numbers_of_the_data_is_one_break():
    def fn(x, size):
        height, width = best([(4, 4), (2, 8), (8, 2)], size.tolist())
        return x.reshape(height, width) * 2

    check(fn, torch.randn(16), torch.tensor([3, 5]), graphs=None, breaks=("GB2010",))


def test_nothing_inside_such_a_call_is_compiled():
    def helper(n):
        return math.floor(numpy.random.choice(1) * 0 + n)

    def outer(n):
        return helper(n) + helper(n)

    def fn(x):
        return x.sin() * outer(2)

    graphs = Graphs()
    compiled = suture.compile(fn, backend=graphs)
    compiled(torch.ones(3))
    assert len(graphs) == 2
    assert "in test_nothing_inside_such_a_call_is_compiled.<locals>.outer" not in suture.code(
        compiled
    )
    assert "in test_nothing_inside_such_a_call_is_compiled.<locals>.helper" not in suture.code(
        compiled
    )


def test_the_break_is_told_where_it_came_up():
    def helper(n):
        return numpy.random.choice(n, n).shape[0]

    def fn(x):
        return x.sin() * helper(2)

    report = suture.explain(fn)(torch.ones(3))
    [found] = report.breaks
    assert found.where.function.endswith("helper")


def test_a_call_that_names_torch_is_still_captured():
    def helper(n):
        print(n)
        return torch.ones(n).sin()

    def fn(x):
        return x + helper(3)

    seen = check(fn, torch.randn(3), graphs=None, breaks=None)
    assert any(n.target is torch.ones for gm in seen.modules for n in gm.graph.nodes)


def test_a_call_that_holds_a_tensor_in_a_closure_is_still_captured():
    def fn(x):
        def helper(n):
            numpy.random.choice(n)
            return x.sin() + n

        return helper(2) * 2

    seen = check(fn, torch.randn(3), graphs=1, breaks=("GB0177",))
    assert seen.modules


def test_an_exception_out_of_such_a_call_is_handled_by_the_caller():
    def helper(n):
        numpy.random.choice(n)
        raise KeyError(n)

    def fn(x):
        y = x.sin()
        try:
            helper(2)
        except KeyError as error:
            y = y + error.args[0]
        return y

    check(fn, torch.randn(3), graphs=2, breaks=("GB0177",))


lock = threading.Lock()


def install(module, seen):
    """Hooks for all blocks, as libraries put them in at the first call."""
    with lock:
        for name, child in module.named_children():
            if isinstance(child, torch.nn.Linear):
                child.register_forward_hook(lambda module, args, out, name=name: seen.append(name))
            install_below(child, seen)
        module.installed = True


def install_below(module, seen):
    import collections

    for _, kind in collections.OrderedDict(a=torch.nn.Module).items():
        if not isinstance(module, kind):
            raise TypeError


class Watched(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 4)
        self.second = torch.nn.Linear(4, 4)
        self.seen = []
        self.installed = False

    def forward(self, x):
        y = x.sin()
        if not self.installed:
            install(self, self.seen)
        return self.second(self.first(y))


def test_hooks_put_in_under_a_lock_are_one_break():
    report = suture.explain(Watched())(torch.randn(2, 4))
    assert len(report.breaks) == 1
    model, other = Watched(), Watched()
    other.load_state_dict(model.state_dict())
    compiled, x = suture.compile(other, backend="eager"), torch.randn(2, 4)
    for _ in range(2):
        torch.testing.assert_close(compiled(x), model(x))
    assert other.seen == model.seen == ["first", "second"] * 2


def spans(length, count, mask=None):
    """Which places to mask, as speech models choose them."""
    jitter = numpy.random.choice(1)
    lengths = mask.sum(-1).tolist() if mask is not None else [length]

    def wanted(size):
        return max(1, min(int(count + jitter * 0), size))

    out = numpy.zeros((len(lengths), length), dtype=bool)
    for row, size in enumerate(lengths):
        out[row, numpy.random.choice(numpy.arange(size), wanted(size), replace=False)] = True
    return out


def test_the_rest_of_a_call_that_has_left_its_tensors_behind_is_run_as_a_whole():
    def fn(x, mask):
        y = x.sin()
        numpy.random.seed(3)
        y[torch.tensor(spans(6, 2, mask))] = 0
        return y * 2

    mask = torch.tensor([[1, 1, 1, 1, 1, 0], [1, 1, 1, 0, 0, 0]])
    seen = check(fn, torch.randn(2, 6), mask, graphs=None, breaks=None)
    assert len(seen.numbers) <= 2 and len(seen) <= 3


def test_a_loop_over_tensors_is_no_such_rest():
    def helper(tensors):
        out = 0
        for tensor in tensors:
            numpy.random.choice(1)
            out = out + tensor.sin()
        return out

    def fn(x, y):
        return helper([x, y]) * 2

    seen = check(fn, torch.randn(3), torch.randn(3), graphs=None, breaks=None, recompiles=None)
    assert sum(n.target in ("sin", torch.sin) for gm in seen.modules for n in gm.graph.nodes) >= 1


def test_an_exception_out_of_such_a_rest_is_handled_by_the_caller():
    def helper(x):
        size = x.sum().item()
        numpy.random.choice(1)
        if size > 1000:
            return 1
        raise KeyError(2)

    def fn(x):
        try:
            return x + helper(x)
        except KeyError as error:
            return x.sin() + error.args[0]

    check(fn, torch.randn(3), graphs=None, breaks=None)


def test_a_module_that_is_a_global_may_be_called():
    def helper(n):
        numpy.random.choice(n)
        return LINEAR(torch_ones)

    def fn(x):
        return x + helper(2)

    seen = check(fn, torch.randn(4), graphs=None, breaks=None)
    assert len(seen)


LINEAR = torch.nn.Linear(4, 4)
torch_ones = torch.ones(4)
