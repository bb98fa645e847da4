"""Parameters that are arguments, on machines whose kernels expect them at multiples of 16 bytes.

Only memory of a GPU has such kernels; here what is asked of a tensor is asked without its device.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

import suture
from suture.compiler.graph import addresses
from suture.runtime.callers.aligned import ALIGNMENT


class Marked:
    """A backend that keeps which inputs of each graph were marked as such that stay."""

    def __init__(self) -> None:
        self.graphs: list[list[bool]] = []

    def __call__(self, gm: torch.fx.GraphModule, inputs: Any) -> Any:
        found = [
            "_dynamo_static_input_type" in node.meta.get("tensor_dict", {})
            for node in gm.graph.find_nodes(op="placeholder")
        ]
        self.graphs.append(found)
        return gm.forward


@pytest.fixture
def everywhere(monkeypatch):
    """Memory of the CPU counts as that of a GPU."""
    monkeypatch.setattr(addresses, "is_aligned", lambda t: t.data_ptr() % ALIGNMENT == 0)
    monkeypatch.setattr(addresses, "begins_oddly", lambda t: t.data_ptr() % ALIGNMENT != 0)


def parameter(begins: int) -> torch.nn.Parameter:
    found = torch.nn.Parameter(torch.arange(12.0)[begins : begins + 8])
    assert (found.data_ptr() % ALIGNMENT == 0) == (begins % 4 == 0)
    return found


def test_one_that_begins_elsewhere_is_compiled_without_the_mark(everywhere):
    marked = Marked()
    compiled = suture.compile(lambda p, x: p * x, backend=marked)
    x = torch.ones(8)
    for begins in (0, 4, 1, 0, 3):
        torch.testing.assert_close(compiled(parameter(begins), x), parameter(begins) * x)
    assert marked.graphs == [[True, False], [False, False]]


def test_parameters_of_a_module_that_is_an_argument(everywhere):
    class Scale(torch.nn.Module):
        def __init__(self, begins):
            super().__init__()
            self.weight = parameter(begins)

    marked = Marked()
    compiled = suture.compile(lambda layer, x: layer.weight * x, backend=marked)
    x = torch.ones(8)
    for begins in (0, 0, 4, 1, 2, 0):
        layer = Scale(begins)
        torch.testing.assert_close(compiled(layer, x), layer.weight * x)
    assert [any(found) for found in marked.graphs] == [True, False]
