"""A guard program over a whole model: each change of the model is noticed, nothing else is."""

from __future__ import annotations

import copy
import gc
import weakref

import pytest
import torch
from torch import nn

from suture import _core

_core.configure_tensors((torch.Tensor, nn.Parameter), torch._C.TensorBase)

HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def describe(accessor, arg, module, *checks):
    """Nodes for all that calling a module reads: its class, flags, hooks, parameters, children."""
    own = module.__dict__

    def table(name, child):
        values = own[name]
        children = tuple(child(key, value) for key, value in values.items())
        return ("item", name, (("keys", tuple(values), 4),), children)

    def tensor(key, value):
        check = ("is", None, 1) if value is None else ("tensor", _core.TensorSpec(value), 5)
        return ("item", key, (check,), ())

    nodes = [("item", "training", (("is", module.training, 2),), ())]
    nodes += [("item", name, (("len", len(own[name]), 3),), ()) for name in HOOKS]
    nodes += [table("_parameters", tensor), table("_buffers", tensor)]
    nodes.append(table("_modules", lambda key, value: describe("item", key, value)))
    forward = ("mro_attr", "forward", (("is", type(module).forward, 6),), ())
    return (
        accessor,
        arg,
        (("type", type(module), 1), *checks),
        (("type", None, (), (forward,)), ("dict", None, (("no_key", "forward", 7),), tuple(nodes))),
    )


def guards_of(model):
    return _core.GuardProgram((describe("slot", 0, model, ("weak", model, 0)),))


class Scaled(nn.Linear):
    def forward(self, x):
        return super().forward(x) * 2


def make():
    return nn.Sequential(
        nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Sequential(nn.ReLU(), Scaled(4, 2, bias=False))
    )


def replace_forward(model):
    model[0].forward = lambda x: x


CHANGES = {
    "eval": lambda m: m.eval(),
    "eval of one": lambda m: m[2][0].eval(),
    "hook": lambda m: m[2][1].register_forward_hook(lambda *a: None),
    "pre hook": lambda m: m[0].register_forward_pre_hook(lambda *a: None),
    "replaced module": lambda m: m.__setitem__(0, nn.Linear(4, 5)),
    "replaced class": lambda m: setattr(m[2][1], "__class__", nn.Linear),
    "appended": lambda m: m.append(nn.ReLU()),
    "deleted": lambda m: m.__delitem__(1),
    "parameter": lambda m: setattr(m[0], "weight", nn.Parameter(torch.zeros(4, 5))),
    "no parameter": lambda m: setattr(m[0], "bias", None),
    "data": lambda m: setattr(m[2][1].weight, "data", torch.zeros(3, 4)),
    "dtype": lambda m: m.double(),
    "dtype of one": lambda m: m[2][1].half(),
    "frozen": lambda m: m[0].weight.requires_grad_(False),
    "buffer": lambda m: m[1].register_buffer("running_mean", torch.zeros(5)),
    "more buffers": lambda m: m[1].register_buffer("more", torch.zeros(5)),
    "forward on the instance": replace_forward,
    "new dict": lambda m: setattr(m[0], "__dict__", {**m[0].__dict__, "training": False}),
    "weights moved": lambda m: m.to("meta"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_model_is_noticed(change):
    model = make()
    guards = guards_of(model)
    assert guards.check(model)
    assert guards.check(model)
    CHANGES[change](model)
    assert not guards.check(model)
    assert not guards.check(model)
    assert guards.failing(model) is not None
    assert guards.explain(model)[1]


def test_a_changed_class_is_noticed():
    model = make()
    guards = guards_of(model)
    assert guards.check(model)
    before = Scaled.forward
    Scaled.forward = lambda self, x: x
    try:
        assert not guards.check(model)
    finally:
        Scaled.forward = before
    assert guards.check(model)


def test_training_changes_nothing_that_is_guarded():
    model = make()
    guards = guards_of(model)
    assert guards.check(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        model(torch.randn(8, 4)).sum().backward()
        optimizer.step()
        model.note = _
        assert guards.check(model)
    model.load_state_dict(copy.deepcopy(model.state_dict()))
    assert guards.check(model)
    model.eval()
    model.train()
    assert guards.check(model)
    model[0].weight = nn.Parameter(torch.zeros(4, 4))
    assert guards.check(model)
    model[0].weight = nn.Parameter(torch.zeros(4, 5))
    assert not guards.check(model)


def test_another_model_fails():
    model, other = make(), make()
    guards = guards_of(model)
    assert guards.check(model)
    assert not guards.check(other)
    assert guards.failing(other) == 0


def test_a_deleted_model_is_freed_and_its_guards_are_dead():
    model = make()
    model.register_forward_hook(lambda *a: None)
    model[0].owner = [model]
    guards = guards_of(model)
    assert guards.check(model)
    assert guards.watched > 20
    assert guards.tensors == 8
    gone = [weakref.ref(model), weakref.ref(model[0].weight)]
    del model
    gc.collect()
    assert [ref() for ref in gone] == [None, None]
    assert guards.dead
    assert guards.watched == 0
