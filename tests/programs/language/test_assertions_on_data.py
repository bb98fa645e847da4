"""`assert` on the value of a tensor: checked in the graph, raised as eager raises it."""

from __future__ import annotations

import pytest
import torch

import suture
from tests.harness import check
from tests.programs.language.asserting import caught, only_asserts, positive


def test_assertion_that_holds_is_part_of_the_graph():
    check(positive, torch.ones(3), graphs=1)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_assertion_that_fails_is_raised_at_its_line(backend):
    compiled = suture.compile(positive, backend=backend, fullgraph=True)
    with pytest.raises(AssertionError, match="not positive: .-1.0, 1.0."):
        compiled(torch.tensor([-1.0, 1.0]))
    with pytest.raises(AssertionError, match="too much") as raised:
        compiled(torch.tensor([20.0, 1.0]))
    assert raised.traceback[-1].name == "positive"


def test_function_that_only_asserts_still_checks():
    compiled = suture.compile(only_asserts, backend="eager", fullgraph=True)
    assert compiled(torch.ones(2)) is None
    with pytest.raises(AssertionError):
        compiled(-torch.ones(2))


@pytest.mark.parametrize("sign", [1, -1])
def test_assertion_that_may_be_caught_is_checked_by_python(sign):
    check(caught, sign * torch.ones(2), breaks=["GB0034"], graphs=2)
