"""Functions and methods that the program has put in the place of torch's are the program's: they
are traced, whether they were put there before the compiler was loaded or later."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

import suture

BEFORE = """
import torch
from torch import nn
import torch.nn.functional as F

scale = 2
was_called, was_read, was_set = nn.Module.__call__, nn.Module.__getattr__, nn.Module.__setattr__

def call(self, *args, **kwargs):
    return was_called(self, *args, **kwargs) * scale

def read(self, name):
    found = was_read(self, name)
    return found * scale if name == "weight" else found

def set(self, name, value):
    was_set(self, name, value * scale if name == "times" else value)

def silu(x):
    return x * scale

nn.Module.__call__, nn.Module.__getattr__, nn.Module.__setattr__ = call, read, set
F.silu = silu
import suture

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
    def forward(self, x):
        self.times = 3.0
        return F.silu(self.inner(x)) * self.times

net = Net()
net.requires_grad_(False)
compiled = suture.compile(lambda x: net(x), backend="eager")
for scale in (2, 3):
    x = torch.ones(2, 3)
    torch.testing.assert_close(compiled(x), net(x))
assert not suture.stats().breaks, suture.stats().breaks
print(suture.stats().graphs)
"""


def test_what_was_replaced_before_the_compiler_was_loaded():
    done = subprocess.run([sys.executable, "-c", BEFORE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["2"]


@pytest.mark.parametrize("name", ["__call__", "_call_impl", "__getattr__"])
def test_what_is_replaced_later(monkeypatch, name):
    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU()).requires_grad_(False)
    x = torch.ones(2, 3)
    suture.reset()
    compiled = suture.compile(lambda x: net(x), backend="eager")
    torch.testing.assert_close(compiled(x), net(x))
    before = getattr(torch.nn.Module, name)

    def replaced(self, *args, **kwargs):
        found = before(self, *args, **kwargs)
        return found * 2 if isinstance(found, torch.Tensor) else found

    monkeypatch.setattr(torch.nn.Module, name, replaced)
    torch.testing.assert_close(compiled(x), net(x))
    assert suture.stats().graphs == 2
    assert not suture.stats().breaks
