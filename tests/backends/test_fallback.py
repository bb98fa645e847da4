"""A backend that cannot take symbolic sizes gets the graph with constants."""

from __future__ import annotations

import torch

import suture


def fixed_only(gm, inputs):
    if any(isinstance(n.meta.get("example_value"), torch.Tensor)
           and any(isinstance(s, torch.SymInt) for s in n.meta["example_value"].shape)
           for n in gm.graph.nodes):  # fmt: skip
        raise RuntimeError("only constants here")
    return gm.forward


def test_sizes_become_constants_and_the_program_goes_on():
    compiled = suture.compile(lambda x: x * 2 + x.shape[0], backend=fixed_only)
    for n in (2, 3, 4, 5):
        x = torch.randn(n)
        assert torch.equal(compiled(x), x * 2 + n)


def test_asked_for_symbols_the_program_goes_on_and_is_told(caplog):
    compiled = suture.compile(lambda x: x * 2, backend=fixed_only, dynamic=True)
    for n in (2, 3):
        x = torch.randn(n)
        assert torch.equal(compiled(x), x * 2)
    assert "only constants here" in caplog.text and "become constants" in caplog.text


def test_overlapping_views_that_are_written_to():
    def fn(a, b):
        a.add_(1)
        return a * b

    compiled = suture.compile(fn, backend="aot_eager")
    for low, high in ((0, 3), (1, 4), (0, 2)):
        ours, plain = torch.ones(6), torch.ones(6)
        got = compiled(ours[low:high], ours[low + 1 : high + 1])
        want = fn(plain[low:high], plain[low + 1 : high + 1])
        assert torch.equal(got, want) and torch.equal(ours, plain)
