"""Numbers that a module keeps in buffers are known while tracing, until they are written to."""

from __future__ import annotations

import copy

import pytest
import torch

import suture


class Scales(torch.nn.Module):
    """Two numbers that are written in a list, from data or from each other, and then read."""

    def __init__(self, write):
        super().__init__()
        self.write = write
        self.register_buffer("left", torch.tensor(2.0))
        self.register_buffer("right", torch.tensor(3.0))

    def forward(self, x):
        self.write([self.left, self.right], x)
        return x * self.left.item() if self.right.item() > 5 else x + self.left.item()


WRITES = {
    "from data": lambda ours, x: torch._foreach_mul_(ours, [x.sum(), x.mean()]),
    "one from data": lambda ours, x: torch._foreach_lerp_(ours, [x.sum(), ours[0]], 0.5),
    "from a number": lambda ours, x: torch._foreach_add_(ours, 1.0),
    "from themselves": lambda ours, x: torch._foreach_add_(ours, ours[::-1]),
    "copied": lambda ours, x: torch._foreach_copy_(ours, [x.max(), x.min()]),
    "by view": lambda ours, x: torch._foreach_add_([one.view(1) for one in ours], [x[:1], x[1:2]]),
}


@pytest.mark.parametrize("name", WRITES)
def test_a_number_that_was_written_in_a_list_is_not_the_old_one(name):
    net = Scales(WRITES[name])
    like = copy.deepcopy(net)
    compiled = suture.compile(net, backend="eager")
    for i in range(4):
        x = torch.arange(1.0, 4.0) + i
        assert torch.equal(compiled(x), like(x))
        assert (net.left, net.right) == (like.left, like.right)


def test_tensors_written_in_lists_are_put_back_where_a_branch_goes_another_way():
    def fn(tensors, x):
        torch._foreach_mul_(tensors, 0.5)
        torch._foreach_add_([tensors[0][:2]], [x])
        return x + 1 if x.sum() > 0 else x - 1

    compiled = suture.compile(fn, backend="eager")
    ours, plain = ([torch.ones(3), torch.full((2, 2), 2.0)] for _ in range(2))
    for sign in (1, 1, 1, 1, -1, 1, -1, -1):
        x = torch.tensor([1.0, 2.0]) * sign
        assert torch.equal(compiled(ours, x), fn(plain, x))
        assert all(torch.equal(a, b) for a, b in zip(ours, plain))
