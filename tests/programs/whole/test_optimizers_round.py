"""A step of an optimizer rounds as in eager mode: with a backend that runs graphs as they are,
parameters are the same to the last bit."""

from __future__ import annotations

import pytest
import torch

import suture

OPTIMIZERS = {
    "Adam": (torch.optim.Adam, {}),
    "Adam, the largest": (torch.optim.Adam, {"amsgrad": True, "weight_decay": 0.1}),
    "Adam, a tensor as rate": (torch.optim.Adam, {"lr": torch.tensor(0.01)}),
    "AdamW": (torch.optim.AdamW, {}),
    "NAdam": (torch.optim.NAdam, {}),
    "RAdam": (torch.optim.RAdam, {}),
    "Adamax": (torch.optim.Adamax, {}),
    "Adagrad": (torch.optim.Adagrad, {"lr_decay": 0.1}),
    "Adadelta": (torch.optim.Adadelta, {}),
    "Adafactor": (torch.optim.Adafactor, {}),
    "RMSprop": (torch.optim.RMSprop, {"centered": True, "momentum": 0.9}),
    "Rprop": (torch.optim.Rprop, {}),
    "ASGD": (torch.optim.ASGD, {}),
    "SGD": (torch.optim.SGD, {"momentum": 0.9, "weight_decay": 0.1}),
}
SHAPES = ((3, 5), (7,), ())  # a number on its own would widen what it is next to


def steps(make, dtype, compiler):
    torch.manual_seed(0)
    parameters = [torch.nn.Parameter(torch.randn(s).to(dtype)) for s in SHAPES]
    optimizer = make(parameters)

    def step(gradients):
        for parameter, gradient in zip(parameters, gradients):
            parameter.grad = gradient.clone()
        optimizer.step()

    called = compiler(step)
    found = []
    for _ in range(5):
        called([torch.randn(s).to(dtype) for s in SHAPES])
        found.append([p.detach().clone() for p in parameters])
    return found


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("together", [False, True])
def test_parameters_are_the_same_to_the_last_bit(name, dtype, together):
    cls, options = OPTIMIZERS[name]
    if together and isinstance(options.get("lr"), torch.Tensor):
        pytest.skip("torch has no such optimizer")

    def make(parameters):
        return cls(parameters, foreach=together, **options)

    plain = steps(make, dtype, lambda step: step)
    ours = steps(make, dtype, lambda step: suture.compile(step, backend="eager"))
    for expected, found in zip(plain, ours, strict=True):
        for a, b in zip(expected, found, strict=True):
            assert torch.equal(a, b)


def test_a_number_of_an_optimizer_widens_no_result():
    parameter = torch.nn.Parameter(torch.tensor(0.5))
    optimizer = torch.optim.Adam([parameter], lr=0.1)

    def step():
        parameter.grad = torch.tensor(0.25)
        optimizer.step()
        return optimizer.state[parameter]["exp_avg"] * 2

    compiled = suture.compile(step, backend="eager")
    for _ in range(3):
        assert compiled().dtype is torch.float32
        assert parameter.dtype is torch.float32
