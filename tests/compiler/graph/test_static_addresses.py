"""Tensors whose memory stays where it is: what a backend is told of them."""

from __future__ import annotations

import torch
import torch._dynamo

import suture
from tests.harness import Graphs


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.register_buffer("shift", torch.ones(4))
        self.plain = torch.ones(4)
        for tensor in (self.linear.weight, self.shift, self.plain):
            torch._dynamo.mark_static_address(tensor)

    def forward(self, x):
        return self.linear(x) + self.shift + self.plain


def marks_of(fn, *args):
    suture.reset()
    graphs = Graphs()
    suture.compile(fn, backend=graphs)(*args)
    (module,) = graphs.modules
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    return {n.name: "_dynamo_static_input_type" in n.meta.get("tensor_dict", {}) for n in inputs}


def test_tensors_of_a_module_are_marked():
    marks = marks_of(Model(), torch.ones(2, 4))
    assert sum(marks.values()) == 4  # the bias is a parameter, which stays by itself
    assert [name for name, marked in marks.items() if not marked] == ["l_args_0"]


def test_an_argument_is_marked():
    x, y = torch.ones(3), torch.ones(3)
    torch._dynamo.mark_static_address(y)
    assert marks_of(lambda x, y: x + y, x, y) == {"l_x": False, "l_y": True}
