"""options={"guard_filter_fn": f}: which guards are checked is the program's choice."""

from __future__ import annotations

import pytest
import torch

from tests.harness import Graphs

FACTOR = 2


def scaled(x, n):
    return x * FACTOR + n


def compiled(fn, choose):
    graphs = Graphs()
    return torch.compile(fn, backend=graphs, options={"guard_filter_fn": choose}), graphs


def test_the_function_sees_every_guard_with_torchs_words():
    seen = []

    def choose(entries):
        seen.extend(entries)
        return [True] * len(entries)

    x = torch.ones(2)
    fn, _ = compiled(scaled, choose)
    fn(x, 3)
    by_name = {(e.name, e.guard_type): e for e in seen}
    tensor = by_name["L['x']", "TENSOR_MATCH"]
    assert tensor.has_value and tensor.value is x and not tensor.is_global
    number = next(e for e in seen if e.name == "L['n']" and e.guard_type == "EQUALS_MATCH")
    assert number.value == 3 and not number.is_global
    factor = [e for e in seen if "FACTOR" in e.name]
    assert factor and all(e.is_global and e.value == 2 for e in factor if e.has_value)
    assert {"GLOBAL_STATE"} <= {e.guard_type for e in seen}


def test_skip_guard_on_globals(monkeypatch):
    fn, graphs = compiled(scaled, torch.compiler.skip_guard_on_globals_unsafe)
    fn(torch.ones(1), 0)
    monkeypatch.setitem(globals(), "FACTOR", 5)
    assert fn(torch.ones(1), 0).item() == 2 and len(graphs) == 1
    fn(torch.ones(1), 1)
    assert len(graphs) == 2


def test_skip_all_guards():
    fn, graphs = compiled(scaled, torch.compiler.skip_all_guards_unsafe)
    fn(torch.ones(1), 0)
    assert fn(torch.ones(1), 7).item() == 2 and len(graphs) == 1


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(2, 2)
        self.scale = 1.0

    def forward(self, x):
        return self.fc(x) * self.scale


def test_keep_tensor_guards():
    net = Net()
    fn, graphs = compiled(net, torch.compiler.keep_tensor_guards_unsafe)
    x = torch.ones(1, 2)
    first = fn(x)
    net.scale = 5.0
    torch.testing.assert_close(fn(x), first)
    assert len(graphs) == 1
    fn(torch.ones(3, 2))
    assert len(graphs) == 2


@pytest.mark.parametrize(
    ("choose", "recompiles"),
    [
        (torch.compiler.skip_guard_on_all_nn_modules_unsafe, 0),
        (torch.compiler.skip_guard_on_inbuilt_nn_modules_unsafe, 1),
    ],
)
def test_skip_guards_on_modules(choose, recompiles):
    net = Net()
    fn, graphs = compiled(net, choose)
    fn(torch.ones(1, 2))
    net.scale = 5.0
    fn(torch.ones(1, 2))
    assert len(graphs) == 1 + recompiles


@pytest.mark.parametrize("answer", [[], [1], None])
def test_a_wrong_answer_is_an_error(answer):
    fn, _ = compiled(scaled, lambda entries: answer)
    with pytest.raises(torch._dynamo.exc.UserError, match="guard_filter_fn"):
        fn(torch.ones(1), 0)
