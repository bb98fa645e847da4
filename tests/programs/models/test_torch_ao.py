"""torch.ao in eager mode: modules whose layers are fused, observed, trained with fake quantisation
and converted, before and after they are compiled. What they give is what they give uncompiled."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.ao import quantization as ao

import suture

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
    pytest.mark.skipif(
        "fbgemm" not in torch.backends.quantized.supported_engines, reason="no quantized kernels"
    ),
]
BACKENDS = pytest.mark.parametrize("backend", ["eager", "aot_eager"])


@pytest.fixture(autouse=True)
def engine():
    before = torch.backends.quantized.engine
    torch.backends.quantized.engine = "fbgemm"
    suture.reset()
    yield
    torch.backends.quantized.engine = before
    suture.reset()


class Net(nn.Module):
    """Quantised between its stubs."""

    def __init__(self):
        super().__init__()
        self.quant, self.dequant = ao.QuantStub(), ao.DeQuantStub()
        self.conv, self.norm, self.relu = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()
        self.out = nn.Linear(16, 5)

    def forward(self, x):
        x = self.relu(self.norm(self.conv(self.quant(x))))
        return self.dequant(self.out(torch.flatten(x, 1)))


FUSED = [["conv", "norm", "relu"]]


def images():
    made = torch.Generator().manual_seed(1)
    return [torch.randn(2, 3, 4, 4, generator=made) for _ in range(3)]


def compare(program, backend, when):
    """The program with a compiler that is asked for at the point `when`, and with none."""
    found = []
    for compiles in (False, True):
        torch.manual_seed(0)

        def at(point, module, compiles=compiles):
            return suture.compile(module, backend=backend) if compiles and point == when else None

        found.append(program(at))
    torch.testing.assert_close(found[1], found[0])
    assert not suture.stats().interpreted


def observed(at):
    """Fused, prepared, calibrated, converted."""
    model = Net().eval()
    call = at("plain", model) or model
    values = [call(x) for x in images()]
    ao.fuse_modules(model, FUSED, inplace=True)
    model.qconfig = ao.get_default_qconfig("fbgemm")
    ao.prepare(model, inplace=True)
    call = at("prepared", model) or call
    values += [call(x) for x in images()]
    ao.convert(model, inplace=True)
    call = at("converted", model) or call
    return values + [call(x) for x in images()]


@BACKENDS
@pytest.mark.parametrize("when", ["plain", "prepared", "converted"])
def test_layers_that_are_observed_and_converted(backend, when):
    compare(observed, backend, when)


def trained(at):
    """Trained with fake quantisation: the losses, the gradients and what is converted."""
    model = Net().train()
    call = at("plain", model) or model
    values = [call(x).detach() for x in images()]
    ao.fuse_modules_qat(model, FUSED, inplace=True)
    model.qconfig = ao.get_default_qat_qconfig("fbgemm")
    ao.prepare_qat(model, inplace=True)
    call = at("prepared", model) or call
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for x in images():
        loss = call(x).pow(2).mean()
        loss.backward()
        values += [loss.detach(), *(p.grad.clone() for p in model.parameters())]
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
    ao.convert(model, inplace=True)
    return values + [call(x) for x in images()]


@BACKENDS
@pytest.mark.parametrize("when", ["plain", "prepared"])
def test_layers_that_are_trained_with_fake_quantisation(backend, when):
    compare(trained, backend, when)


def replaced(at):
    """quantize_dynamic puts other layers in the place of linear ones."""
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)).eval()
    x = torch.arange(12.0).reshape(2, 6)
    call = at("plain", model) or model
    values = [call(x)]
    ao.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8, inplace=True)
    call = at("converted", model) or call
    return [*values, call(x), call(x + 1)]


@BACKENDS
@pytest.mark.parametrize("when", ["plain", "converted"])
def test_layers_that_are_quantized_dynamically(backend, when):
    compare(replaced, backend, when)
