"""Models of the usual kinds over batch, sequence and image sizes, forward and backward."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

import suture
from tests.programs.dynamic.counting import by_dynamo

MODELS = {
    "convolution, batch": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.BatchNorm2d(4), nn.ReLU(),
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2),
        ),
        [(n, 3, 8, 8) for n in (2, 4, 5)],
    ),
    "convolution, image": (
        lambda: nn.Sequential(nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.MaxPool2d(2), nn.ReLU()),
        [(2, 3, n, n + 2) for n in (8, 10, 12)],
    ),
    "encoder, sequence": (
        lambda: nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, enable_nested_tensor=False
        ).eval(),
        [(2, n, 8) for n in (4, 5, 6)],
    ),
    "perceptron, batch": (
        lambda: nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 2)),
        [(n, 4) for n in (3, 5, 6)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", MODELS)
def test_models_over_sizes(name, backend, dynamic):
    make, shapes = MODELS[name]
    torch.manual_seed(0)
    plain = make()
    ours = copy.deepcopy(plain)
    suture.reset()
    compiled = suture.compile(ours, backend=backend, dynamic=dynamic)
    for shape in shapes:
        x = torch.randn(*shape)
        want, got = plain(x), compiled(x)
        torch.testing.assert_close(got, want)
        want.sum().backward()
        got.sum().backward()
    for a, b in zip(plain.parameters(), ours.parameters()):
        torch.testing.assert_close(b.grad, a.grad, rtol=1e-4, atol=1e-4)
    assert not suture.stats().breaks
    ours = suture.stats().variants
    if ours != (1 if dynamic else 2):  # some releases of torch make more sizes constants
        calls = [(torch.randn(*shape),) for shape in shapes]
        theirs = by_dynamo(make(), *calls, backend=backend, dynamic=dynamic)
        assert ours <= theirs, suture.stats().recompilations
