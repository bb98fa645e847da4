"""Programs that reports are made of."""

from __future__ import annotations

import torch

import suture

NOTES = []


@suture.disable
def note(value):
    NOTES.append(float(value))


def helper(y):
    note(y.mean())
    return y * 2


def broken(x):
    y = x.sin()
    if y.sum() > 0:
        y = y + 1
    z = helper(y)
    for i in range(3):
        z = z + i
        note(z.sum())
    return z.cos()


def whole(x):
    return torch.relu(x) + 1


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)

    def forward(self, x):
        y = self.linear(x)
        if y.sum() > 0:
            return y
        return -y
