"""What libraries look for on a function or a module that was compiled."""

from __future__ import annotations

import copy
import functools
import inspect
import pickle

import pytest
import torch

import suture
from tests.harness import Graphs


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(2, 2)

    def forward(self, x, scale=1.0):
        return self.fc(x) * scale if torch.compiler.is_compiling() else self.fc(x)


def test_forward_of_a_compiled_module_compiles():
    graphs, net = Graphs(), Net()
    made = torch.compile(net, backend=graphs)
    x = torch.ones(1, 2)
    torch.testing.assert_close(made.forward(x, scale=2.0), net.fc(x) * 2)
    assert len(graphs) == 1
    made.forward(x, scale=2.0)
    assert len(graphs) == 1
    torch.testing.assert_close(net.forward(x, scale=2.0), net.fc(x))
    assert inspect.signature(made.forward) == inspect.signature(net.forward)


def test_forward_that_is_replaced_is_the_modules():
    graphs, net = Graphs(), Net()
    made = torch.compile(net, backend=graphs)
    made.forward = lambda x: x + 1
    assert made.forward(torch.ones(1)).item() == 2 == net.forward(torch.ones(1)).item()
    assert made(torch.ones(1)).item() == 2
    del made.forward
    assert "forward" not in net.__dict__
    with pytest.raises(AttributeError):
        del made.forward


def test_orig_mod_gives_the_module_and_is_no_part_of_its_state():
    net = Net()
    made = torch.compile(net, backend="eager")
    assert made._orig_mod is net
    assert made._torchdynamo_orig_callable == net.forward
    assert list(made.state_dict()) == ["fc.weight", "fc.bias"]
    assert not hasattr(net, "_orig_mod")
    assert copy.deepcopy(made)._orig_mod is not net
    assert isinstance(pickle.loads(pickle.dumps(made)), Net)


def test_dynamo_ctx_compiles_as_the_module_was():
    graphs = Graphs()
    made = torch.compile(Net(), backend=graphs)
    assert made.dynamo_ctx(lambda x: x + 1)(torch.ones(1)).item() == 2
    assert len(graphs) == 1


def test_a_compiled_function_gives_its_original():
    def plain(x):
        return x + 1

    made = torch.compile(plain, backend="eager")
    assert made._torchdynamo_orig_callable is plain
    assert torch.compile(made, backend="eager")._torchdynamo_orig_callable is plain


def test_a_wrapper_of_a_compiled_function_is_not_taken_for_it():
    made = torch.compile(lambda x: x + 1, backend="eager")

    @functools.wraps(made)
    def wrapper(x):
        return made(x) * 10

    assert torch.compile(wrapper, backend="eager")(torch.ones(1)).item() == 20


def test_methods_that_are_compiled_or_disabled_again_keep_their_object():
    class Thing:
        def add(self, x):
            return x + self.n

    thing = Thing()
    thing.n = 3
    made = torch.compile(thing.add, backend="eager")
    again = torch.compile(made, backend="eager")
    assert again(torch.ones(1)).item() == 4
    assert torch.compiler.disable(again)(torch.ones(1)).item() == 4
    assert suture.disable(again)(torch.ones(1)).item() == 4


def nested():
    inner = torch.nn.Sequential(torch.nn.Linear(2, 2))
    return torch.nn.Sequential(torch.compile(inner, backend="eager"), torch.nn.Linear(2, 2))


def test_a_checkpoint_of_torch_compiles_modules_is_loaded():
    suture.uninstall()
    theirs = torch.compile(nested(), backend="eager")
    suture.install()
    saved = theirs.state_dict()
    names = list(saved)
    assert names[0] == "_orig_mod.0._orig_mod.0.weight"
    ours, inside = torch.compile(nested(), backend="eager"), nested()
    ours.load_state_dict(saved)
    inside.load_state_dict({name.removeprefix("_orig_mod."): saved[name] for name in names})
    for loaded in (ours, inside):
        for mine, other in zip(loaded.parameters(), theirs.parameters()):
            assert torch.equal(mine, other)
    assert list(saved) == names
    assert ours.load_state_dict({"_orig_mod.no": 1}, strict=False).unexpected_keys == ["no"]


def test_names_in_checkpoints_are_the_modules_own():
    from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict

    made, plain = torch.compile(nested(), backend="eager"), nested()
    optimizer = torch.optim.SGD(made.parameters(), momentum=0.9)
    made(torch.ones(2)).sum().backward()
    optimizer.step()
    model, state = get_state_dict(made, optimizer)
    assert list(model) == ["0.0.weight", "0.0.bias", "1.weight", "1.bias"] == list(state["state"])
    set_state_dict(
        plain,
        torch.optim.SGD(plain.parameters(), momentum=0.9),
        model_state_dict=model,
        optim_state_dict=state,
    )
    assert torch.equal(plain[0][0].weight, made[0][0].weight)
    plain.load_state_dict(made.state_dict())
