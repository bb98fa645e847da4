"""Backward passes that torch's compiled autograd hands to torch.compile, which is suture."""

from __future__ import annotations

import pytest
import torch
from torch._dynamo import compiled_autograd

import suture

# torch's compiled autograd reads .grad of all it meets
pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute:UserWarning")


@pytest.fixture(autouse=True)
def installed():
    suture.install()
    yield
    suture.uninstall()


def whole(graph):
    return torch.compile(graph, backend="eager", fullgraph=True, dynamic=True)


def gradient_of(fn):
    x = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
    fn(x).backward()
    return x.grad


def loss(x):
    y = x * x
    y.register_hook(lambda grad: grad * 2)
    return (y.sin() * 3).sum()


def test_a_backward_pass_is_one_graph_with_eagers_gradients():
    want = gradient_of(loss)
    with compiled_autograd._enable(whole):
        for _ in range(2):
            torch.testing.assert_close(gradient_of(loss), want)
    assert suture.stats().graphs == 1


def test_hooks_that_a_compiled_forward_sets_are_traced():
    want = gradient_of(loss)
    forward = torch.compile(loss, backend="eager", fullgraph=True)
    with compiled_autograd._enable(whole):
        torch.testing.assert_close(gradient_of(forward), want)
    assert suture.stats().graphs == 2
