"""Layers of torch.nn: one graph each, in training and in evaluation, with equal gradients."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import suture
from tests.harness import check

SEQUENCE = torch.randn(2, 5, 8)
IMAGE = torch.randn(2, 3, 8, 8)
INDICES = torch.tensor([[1, 2], [0, 3]])


class Symmetric(nn.Module):
    def forward(self, weight):
        return weight.triu() + weight.triu(1).T


def parametrized():
    layer = nn.Linear(8, 8)
    nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    return layer


LAYERS = {
    "rnn": (lambda: nn.RNN(8, 6, batch_first=True), SEQUENCE),
    "gru": (lambda: nn.GRU(8, 6, batch_first=True), SEQUENCE),
    "lstm": (lambda: nn.LSTM(8, 6, 2, bidirectional=True, batch_first=True), SEQUENCE),
    "lstm cell": (lambda: nn.LSTMCell(8, 6), SEQUENCE[:, 0]),
    "encoder layer": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), SEQUENCE),
    "encoder": (
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2),
        SEQUENCE,
    ),
    "batch norm": (lambda: nn.BatchNorm2d(3), IMAGE),
    "group norm": (lambda: nn.GroupNorm(1, 3), IMAGE),
    "instance norm": (lambda: nn.InstanceNorm2d(3, track_running_stats=True), IMAGE),
    "convolutions": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 4, 3, padding="same", padding_mode="circular"),
            nn.BatchNorm2d(4),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(2),
            nn.ConvTranspose2d(4, 2, 2),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Dropout(),
            nn.Linear(2, 2),
        ),
        IMAGE,
    ),
    "activations": (
        lambda: nn.Sequential(
            nn.LayerNorm(8), nn.RMSNorm(8), nn.GELU(), nn.SiLU(), nn.PReLU(), nn.GLU()
        ),
        SEQUENCE,
    ),
    "embedding": (lambda: nn.Embedding(10, 4, padding_idx=0), INDICES),
    "embedding bag": (lambda: nn.EmbeddingBag(10, 4), INDICES),
    "weight norm": (lambda: nn.utils.parametrizations.weight_norm(nn.Linear(8, 4)), SEQUENCE),
    "spectral norm": (lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(8, 4)), SEQUENCE),
    "parametrized": (parametrized, SEQUENCE),
}


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("name", list(LAYERS))
def test_layer(name, train):
    make, given = LAYERS[name]
    check(make().train(train), given, graphs=1)


def test_attention():
    check(nn.MultiheadAttention(8, 2, batch_first=True), SEQUENCE, SEQUENCE, SEQUENCE, graphs=1)


def test_hooks_registered_before_the_call():
    model = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8))
    model[0].register_forward_pre_hook(lambda module, given: (given[0] + 1,))
    model[0].register_forward_hook(lambda module, given, result: result * 2)
    model[1].register_forward_hook(
        lambda module, given, named, result: result + 1, with_kwargs=True
    )
    check(model, SEQUENCE, graphs=1)


def test_full_backward_hook():
    model = nn.Linear(8, 8)
    model.register_full_backward_hook(lambda module, inputs, outputs: tuple(g * 2 for g in inputs))
    check(model, SEQUENCE.clone().requires_grad_(), graphs=None, breaks=None)


def test_hook_registered_after_the_first_call():
    model = nn.Linear(8, 8)
    compiled = suture.compile(model, backend="eager")
    before = compiled(SEQUENCE)
    handle = model.register_forward_hook(lambda module, given, result: result * 2)
    assert torch.equal(compiled(SEQUENCE), before * 2)
    handle.remove()
    assert torch.equal(compiled(SEQUENCE), before)


def test_tied_weights():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(8, 8)
            self.out = nn.Linear(8, 8, bias=False)
            self.out.weight = self.embed.weight

        def forward(self, x):
            return self.out(self.embed(x))

    check(Tied(), torch.tensor([1, 2]), graphs=1)


def test_module_made_inside_the_function_compiles_a_fixed_number_of_times():
    def fn(x):
        return nn.Linear(8, 8)(x)

    compiled = suture.compile(fn, backend="eager")
    for turn in range(5):
        torch.manual_seed(0)
        result = compiled(SEQUENCE)
        torch.manual_seed(0)
        assert torch.equal(result, fn(SEQUENCE))
        if turn == 1:
            variants = suture.stats().variants
    assert suture.stats().variants == variants


def test_a_loss_that_checks_the_values_of_its_arguments_is_one_graph():
    def fn(x, y, variance):
        return torch.nn.functional.gaussian_nll_loss(x.sin(), y, variance) * 2

    check(fn, torch.randn(3), torch.randn(3), torch.rand(3) + 1)


def test_lazy_modules_are_made_by_their_first_call_and_compiled_at_the_next():
    def net():
        torch.manual_seed(0)
        return nn.Sequential(nn.LazyLinear(4), nn.Dropout(0.5), nn.LazyLinear(2))

    x = torch.randn(3, 5)
    eager = net()
    expected = [eager(x) for _ in range(3)]
    graphs = []
    compiled = suture.compile(
        net(), fullgraph=True, backend=lambda gm, _: (graphs.append(gm), gm.forward)[1]
    )
    for i, wanted in enumerate(expected):
        assert torch.equal(compiled(x), wanted)
        assert len(graphs) == min(i, 1)
    assert type(compiled[0]) is nn.Linear


def test_lazy_module_is_made_in_python_whatever_its_own_code_does():
    class Scale(nn.modules.lazy.LazyModuleMixin, nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.UninitializedParameter()

        def initialize_parameters(self, x):
            suture.graph_break()
            self.weight.materialize(x.shape)
            nn.init.ones_(self.weight)

        def forward(self, x):
            return x * self.weight

    compiled = suture.compile(Scale(), fullgraph=True, backend="eager")
    for _ in range(2):
        assert torch.equal(compiled(SEQUENCE), SEQUENCE)


@pytest.mark.parametrize("fullgraph", [True, False])
def test_layers_with_hooks_that_are_compiled_one_by_one(fullgraph):
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(8, 8)
            self.inner.register_forward_hook(lambda *given: None, with_kwargs=True)

        def forward(self, x):
            return self.inner(x)

    graphs = []
    for block in [Block() for _ in range(4)]:
        compiled = suture.compile(
            block,
            fullgraph=fullgraph,
            backend=lambda gm, _: (graphs.append(gm), gm.forward)[1],
        )
        assert torch.equal(compiled(SEQUENCE), block(SEQUENCE))
    assert len(graphs) == 4
