import collections

import pytest
import torch

import suture
from tests.harness import Graphs, check


def make(**attributes):
    made = collections.OrderedDict(a=1, b=2)
    for name, value in attributes.items():
        setattr(made, name, value)
    return made


def test_an_attribute_of_one_that_is_made():
    def fn(x):
        made = collections.OrderedDict()
        made.version = 3
        made["x"] = x.sin()
        return made, made.version, hasattr(made, "other")

    check(fn, torch.ones(2), ops=[["sin"]])
    made, _, _ = suture.compile(fn, backend="eager")(torch.ones(2))
    assert made.version == 3


def test_an_attribute_from_outside_is_read():
    def fn(x, held):
        return x * getattr(held, "version", 7) + len(held)

    compiled = suture.compile(fn, backend="eager")
    for held in (make(), make(version=2), make(version=5), make()):
        x = torch.ones(2)
        assert torch.equal(compiled(x, held), fn(x, held))


def test_a_missing_attribute_is_an_error():
    def fn(x, held):
        try:
            return x * held.version
        except AttributeError as error:
            return str(error)

    check(fn, torch.ones(2), make(), graphs=0)


def test_an_attribute_that_hides_a_method():
    def fn(x, held):
        return x + held.get("a")

    compiled = suture.compile(fn, backend="eager")
    for held in (make(), make(get=lambda key: 9), make()):
        assert torch.equal(compiled(torch.zeros(1), held), fn(torch.zeros(1), held))


def test_an_attribute_from_outside_is_changed():
    def fn(x, held):
        held.version = x.shape[0]
        held.seen = x.sin()
        return held.version + x

    held = make(version=1)
    compiled = suture.compile(fn, backend="eager", fullgraph=True)
    assert torch.equal(compiled(torch.ones(3), held), torch.full((3,), 4.0))
    assert held.version == 3 and list(held.items()) == [("a", 1), ("b", 2)]
    assert torch.equal(held.seen, torch.ones(3).sin())


def test_copies_have_no_attributes():
    def fn(x, held):
        return x.sin(), hasattr(held.copy(), "version"), hasattr(held | {}, "version")

    check(fn, torch.ones(2), make(version=1), ops=[["sin"]])


@pytest.mark.parametrize("again", [False, True])
def test_state_dicts_are_made_and_loaded(again):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    other = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))

    def fn(x):
        state = {k: v * 2 for k, v in model.state_dict().items()}
        return model.state_dict()._metadata["1"], state, x.sin()

    check(fn, torch.ones(2), graphs=1)
    graphs = Graphs()
    compiled = suture.compile(lambda: other.load_state_dict(model.state_dict()), backend=graphs)
    for _ in range(1 + again):
        assert not compiled().missing_keys
    assert torch.equal(other[0].weight, model[0].weight)
