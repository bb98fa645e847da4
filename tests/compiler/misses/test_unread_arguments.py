"""Arguments that the functions they are passed to do not look at are not guarded."""

import torch

import suture
from tests.harness import Graphs, check

X = torch.ones(2, 4)


def graphs_for(fn, calls):
    """How many graphs the calls make, each of which gives what eager gives."""
    suture.reset()
    graphs = Graphs()
    compiled = suture.compile(fn, backend=graphs)
    for args, kwargs in calls:
        expected = fn(*args, **kwargs)
        torch.testing.assert_close(compiled(*args, **kwargs), expected)
    return len(graphs)


VALUES = (None, 1, 2, 2.5, "a", "b", True, False, X, [1], {"k": X})


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)

    def forward(self, x, mask=None, step=None, **others):
        return self.inner(x).relu()


class Layers(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(Layer() for _ in range(2))

    def forward(self, x, mask=None, step=None, **others):
        for layer in self.layers:
            x = layer(x, mask, step=step, **others)
        return x


def test_functions():
    def inner(x, mask, step):
        return x.sin()

    def fn(x, mask, step):
        return inner(x, mask, step=step) + (lambda y, m: y * 2)(x, mask)

    assert graphs_for(fn, [((X, a, b), {}) for a in VALUES for b in VALUES[:3]]) == 1


def test_layers():
    module = Layers()
    calls = [((X, a), {"step": b, "name": c}) for a in VALUES[::3] for b, c in ((1, "a"), (2, X))]
    assert graphs_for(lambda *args, **kwargs: module(*args, **kwargs), calls) == 1
    assert graphs_for(lambda x, mask, **kwargs: module(x, mask, **kwargs), calls) == 1


def test_what_is_read_at_the_end_of_the_way_is_guarded():
    def inner(x, scale, bias):
        return x if scale is None else x * scale

    def fn(x, scale, bias):
        return inner(x, scale, bias)

    calls = [((X, a, b), {}) for a in (None, 2.0, 3.0, None, 4.0) for b in VALUES]
    assert graphs_for(fn, calls) == 2


def test_one_number_that_is_read_in_two_functions():
    def inner(x, n):
        return x * n

    def fn(x, n):
        return inner(x, n) + inner(x.sin(), n) + n

    assert graphs_for(fn, [((X, n), {}) for n in range(2, 9)]) == 2


def test_an_object_that_is_passed_and_changed():
    def add(items, x):
        items.append(x)

    def fn(x, items, same):
        add(items, x)
        add(same, x.sin())
        return len(items)

    for same in (True, False):
        items = []
        compiled = suture.compile(fn, backend="eager")
        assert compiled(X, items, items if same else []) == (2 if same else 1)
        assert len(items) == (2 if same else 1)


def test_a_break_on_the_way():
    def inner(x, mask, name):
        y = x.sin()
        suture.graph_break()
        return y + 1, name

    def fn(x, mask, name):
        return inner(x, mask, name)

    graphs = Graphs()
    compiled = suture.compile(fn, backend=graphs)
    for value in VALUES:
        y, name = compiled(X, value, value)
        torch.testing.assert_close(y, X.sin() + 1)
        assert name is value
    assert len(graphs) == 2


def test_generators_and_closures_hold_them():
    def inner(x, mask, step):
        def read():
            return 0 if mask is None else 1

        return (x * i + read() for i in range(2))

    def fn(x, mask, step):
        return sum(inner(x, mask, step))

    assert graphs_for(fn, [((X, a, b), {}) for a in (None, "a") for b in VALUES]) == 2


def test_a_function_that_asks_for_its_variables():
    def inner(x, mask):
        return x + len(locals())

    check(lambda x, m: inner(x, m), X, None, graphs=None, breaks=None)


def test_torch_functions_get_values():
    def fn(x, p, training, mask):
        y = torch.nn.functional.dropout(x, p, training)
        return torch.nn.functional.scaled_dot_product_attention(y, y, y, attn_mask=mask)

    x = torch.ones(1, 3, 4)
    calls = [((x, 0.0, t, m), {}) for t in (False, True) for m in (None, torch.zeros(3, 3))]
    assert graphs_for(fn, calls) <= 4


def test_texts_of_which_only_the_type_is_asked():
    def fn(batch):
        return {k: v * 2 if isinstance(v, torch.Tensor) else v for k, v in batch.items()}

    suture.reset()
    graphs = Graphs()
    compiled = suture.compile(fn, backend=graphs)
    for name, flag in (("a", True), ("bc", False), ("", True)):
        found = compiled({"x": X, "name": name, "flag": flag, "raw": name.encode()})
        assert (found["name"], found["flag"], found["raw"]) == (name, flag, name.encode())
    assert len(graphs) == 1
    found = compiled({"x": X, "name": None, "flag": 1, "raw": b""})
    assert (found["name"], found["flag"]) == (None, 1)


def test_texts_that_are_read_are_guarded():
    def fn(x, a, b):
        same = a is b
        y = x * len(a) if a else x
        return y + {"k": 1, "l": 2}[b], same

    calls = [("k", "k"), ("ll", "k"), ("ll", "l"), ("", "l"), ("k", "k")]
    for a, b in calls:
        compiled = suture.compile(fn, backend="eager")
        for one, other in ((a, b), *calls):
            torch.testing.assert_close(compiled(X, one, other), fn(X, one, other))
