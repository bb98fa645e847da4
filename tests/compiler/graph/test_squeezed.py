"""`squeeze` of sizes that come from data: 1 is a size like others."""

import pytest
import torch

import suture

PROGRAMS = {
    "all": lambda x, mask: x[mask].squeeze(),
    "one": lambda x, mask: x[mask].squeeze(0),
    "several": lambda x, mask: x[mask].squeeze((0, -1)),
    "in_place": lambda x, mask: x[mask].squeeze_(),
    "places": lambda x, mask: mask.nonzero().squeeze(),
    "function": lambda x, mask: torch.squeeze(x[mask], dim=0),
}


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_size_of_one_is_left_out(name, backend):
    fn = PROGRAMS[name]
    compiled = suture.compile(fn, backend=backend)
    x = torch.randn(4, 1)
    for count in (2, 3, 1, 0, 1, 4):
        mask = torch.arange(4) < count
        expected = fn(x, mask)
        assert compiled(x, mask).shape == expected.shape
        assert torch.equal(compiled(x, mask), expected)


def test_a_size_that_is_known_needs_no_break():
    compiled = suture.compile(
        lambda mask: mask.nonzero().squeeze(-1) + 1, backend="eager", fullgraph=True
    )
    for count in (2, 1, 0):
        mask = torch.arange(4) < count
        assert torch.equal(compiled(mask), mask.nonzero().squeeze(-1) + 1)
