"""What is in a dict under a key that changes from call to call is read there in each call."""

import pytest
import torch

import suture
from tests.harness import Graphs

X = torch.ones(3)


def graphs_for(fn, calls):
    """How many graphs the calls make, each of which gives or raises what eager does."""
    suture.reset()
    graphs = Graphs()
    compiled = suture.compile(fn, backend=graphs)
    for args in calls:
        try:
            expected = fn(*args)
        except KeyError as error:
            with pytest.raises(KeyError) as raised:
                compiled(*args)
            assert raised.value.args == error.args
        else:
            torch.testing.assert_close(compiled(*args), expected)
    return len(graphs)


def tensors(keys):
    return {key: torch.full((3,), float(i)) for i, key in enumerate(keys)}


def test_a_text():
    table = tensors("abcdefghij")
    assert graphs_for(lambda x, d, k: x * d[k] + d.get(k), [(X, table, k) for k in table]) == 2


def test_an_int():
    table = tensors(range(10))
    assert graphs_for(lambda x, d, i: x * d[i], [(X, table, k) for k in table]) == 2


@pytest.mark.parametrize(
    "write",
    [
        lambda i: f"layer_{i}",
        lambda i: f"{i:03d}.weight",
        lambda i: f"{i!r}",
        lambda i: "layer_" + str(i),
        lambda i: "layer_%d" % i,
        lambda i: "layer_{}.{}".format("a", i),
    ],
)
def test_a_text_with_a_number_in_it(write):
    table = tensors([write(i) for i in range(10)])
    assert graphs_for(lambda x, d, i: x * d[write(i)], [(X, table, i) for i in range(10)]) == 2


def test_a_number_of_the_module():
    class Layer(torch.nn.Module):
        def __init__(self, index):
            super().__init__()
            self.index = index

        def forward(self, x, cache):
            keys, values = cache[f"layer.{self.index}"]
            return x * keys + values["v"]

    cache = {f"layer.{i}": (X * i, {"v": X + i}) for i in range(8)}
    layers = [Layer(i) for i in range(8)]
    assert graphs_for(lambda m, x, c: m(x, c), [(m, X, cache) for m in layers]) <= 3


def test_a_number_under_the_key():
    table = {f"k{i}": 1.5 + i for i in range(8)}
    assert graphs_for(lambda x, d, k: x * d[k], [(X, table, k) for k in table]) <= 3


def test_keys_that_are_missing():
    table = tensors("abc")
    calls = [(X, table, k) for k in ("a", "b", "z", "c", "y", "a")]
    graphs_for(lambda x, d, k: x * d[k], calls)
    graphs_for(lambda x, d, k: x * d.get(k, 2.0), calls)
    graphs_for(lambda x, d, k: x * d[k] if k in d else x, calls)
    calls = [(X, tensors(range(3)), i) for i in (0, 1, 5, 2, 7)]
    graphs_for(lambda x, d, i: x * d[i] if i in d else x * d.get(i, 3), calls)


def test_entries_of_other_kinds():
    table = {"a": X, "b": X.double(), "c": 2, "d": None, "e": "text", "f": torch.ones(1)}

    def fn(x, d, k):
        found = d[k]
        if found is None or isinstance(found, str):
            return x
        return x * found

    graphs_for(fn, [(X, table, k) for k in "abcdefabcdef"])


def test_the_same_entry_under_two_keys():
    def fn(d, k):
        d["a"].append(1)
        d[k].append(2)
        return torch.ones(1) * len(d["a"]) * 10 + len(d[k])

    for first in "abc":
        for fresh in (lambda: {k: [] for k in "abc"}, lambda: dict.fromkeys("abc", [])):
            compiled = suture.compile(fn, backend="eager")
            for k in (first, "b", "c", "a", "b"):
                ours, theirs = fresh(), fresh()
                torch.testing.assert_close(compiled(ours, k), fn(theirs, k))
                assert ours == theirs


def test_tensors_that_are_written():
    def fn(d, k):
        d["a"].add_(1)
        d[k].mul_(3)
        return d["a"] + d[k]

    compiled = suture.compile(fn, backend="eager")
    for k in ("b", "c", "a", "b", "a"):
        ours, theirs = tensors("abc"), tensors("abc")
        torch.testing.assert_close(compiled(ours, k), fn(theirs, k))
        torch.testing.assert_close(ours, theirs)


def test_a_dict_that_the_function_changes():
    def before(x, d, k):
        d["b"] = x + 5
        return d[k] * 2

    def after(x, d, k):
        y = d[k] * 2
        d[k] = x
        return y + d["b"] + d[k] + len(d)

    for fn in (before, after):
        compiled = suture.compile(fn, backend="eager")
        for k in ("a", "c", "b", "a", "b"):
            ours, theirs = tensors("abc"), tensors("abc")
            torch.testing.assert_close(compiled(X, ours, k), fn(X, theirs, k))
            torch.testing.assert_close(ours, theirs)
            assert list(ours) == list(theirs)


def test_a_key_that_is_read_too():
    table = tensors("abcd")

    def fn(x, d, k):
        return x * d[k] if k != "c" else x

    graphs_for(fn, [(X, table, k) for k in "abcdabcd"])


def test_keys_of_derived_classes_and_other_types():
    class Name(str):
        def __hash__(self):
            return str.__hash__(self)

        def __eq__(self, other):
            return str.__eq__(self, other[::-1])

    table = {**tensors(["ab", "ba", "c"]), 1: X * 7, 2.0: X * 9}
    keys = ["ab", "ba", "c", Name("ab"), 1, True, 2, 1.0, "ab"]
    graphs_for(lambda x, d, k: x * d[k], [(X, table, k) for k in keys])


def test_dynamic_false_keeps_the_key_known():
    table = tensors("abcd")
    suture.reset()
    graphs = Graphs()
    compiled = suture.compile(lambda x, d, k: x * d[k], backend=graphs, dynamic=False)
    for k in "abcd":
        torch.testing.assert_close(compiled(X, table, k), X * table[k])
    assert len(graphs) == 4
