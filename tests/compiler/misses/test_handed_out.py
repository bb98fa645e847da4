"""What a function hands out without looking at it is not guarded."""

import torch

import suture
from tests.harness import Graphs, check

VALUES = (None, 1, 2, 2.5, True, "a", (1, 2), [3], torch.ones(2), torch.ones(3, dtype=torch.int64))


def graphs_for(fn, calls):
    """How many graphs the calls make; each gives what eager gives, the very objects."""
    suture.reset()
    graphs = Graphs()
    compiled = suture.compile(fn, backend=graphs)
    for args in calls:
        expected, found = fn(*args), compiled(*args)
        same(expected, found, args)
    return len(graphs)


def same(expected, found, args):
    if any(expected is a for a in args):
        assert found is expected
    elif isinstance(expected, torch.Tensor):
        torch.testing.assert_close(found, expected)
    elif type(expected) in (tuple, list):
        for one, other in zip(expected, found, strict=True):
            same(one, other, args)
    elif type(expected) is dict:
        for key in expected:
            same(expected[key], found[key], args)
    else:
        assert type(found) is type(expected) and found == expected


def test_an_optional_argument_that_is_returned():
    calls = [(torch.ones(4), value) for value in VALUES]
    assert graphs_for(lambda x, state=None: (x.sin(), state), calls) == 1


def test_one_in_containers():
    def fn(x, mask=None, cache=None):
        return {"out": x * 2, "mask": mask, "rest": [cache, (mask, x.cos())]}

    x = torch.ones(4)
    assert graphs_for(fn, [(x, a, b) for a in (None, x, 3) for b in (None, "b", [x])]) == 1


def test_one_that_was_looked_at_is_guarded():
    def fn(x, scale=None):
        y = x if scale is None else x * scale
        return y.sin(), scale

    calls = [(torch.ones(4), value) for value in (None, 2.0, 3.0, None, 4.0)]
    assert graphs_for(fn, calls) == 3


def test_the_same_object_as_another_argument():
    x = torch.ones(4)
    assert graphs_for(lambda x, y: (x.sin(), y), [(x, x), (x, None), (x, x.clone())]) == 1


def test_what_the_region_changes_is_handed_out_as_it_is_then():
    def fn(x, out, seen):
        out.add_(x)
        seen.append(1)
        return out, x.sin(), seen

    check(fn, torch.ones(2), torch.ones(2), [], graphs=None, recompiles=None, calls=1)

    def twice(x, items, same):
        items.append(x.sin())
        return same, x.cos()

    items = []
    compiled = suture.compile(twice, backend="eager")
    assert compiled(torch.ones(2), items, items)[0] is items
    assert len(items) == 1
    assert compiled(torch.ones(2), items, None)[0] is None


def test_a_tensor_that_the_region_writes_under_another_name():
    def fn(x, y):
        x.mul_(2)
        return y, x + 1

    for other in (lambda x: x, lambda x: x[:1], lambda x: None):
        x, z = torch.ones(3), torch.ones(3)
        compiled = suture.compile(fn, backend="eager")
        torch.testing.assert_close(compiled(x, other(x)), fn(z, other(z)))


def test_an_unbound_variable_is_still_an_error():
    def fn(x, flag):
        if flag:
            y = x
        x = x.sin()
        return x, y

    check(fn, torch.ones(2), True)
    check(fn, torch.ones(2), False, graphs=None, breaks=None, interpreted=None)
