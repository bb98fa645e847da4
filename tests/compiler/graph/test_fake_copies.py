"""Fake counterparts of weights that are made at once are those that torch would make."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import suture
from suture.compiler.graph.fake_copies import Alike, kind_of
from suture.compiler.graph.fake_inputs import fake_input
from suture.compiler.graph.known_numbers import watched_mode
from suture.torch_private import fake_memory, fake_tensors, structured_trace, tensor_parts
from suture.torch_private.tensor_parts import storage_key


def told(fake):
    return (
        type(fake), tuple(fake.shape), fake.stride(), fake.storage_offset(), fake.dtype,
        fake.device, fake.requires_grad, fake.is_leaf, fake.grad, fake._version, fake._is_view(),
        fake.is_inference(), fake.untyped_storage().nbytes(), isinstance(fake, nn.Parameter),
        tensor_parts.dispatch_keys(fake).raw_repr(),
        {name: value for name, value in vars(fake).items() if name != "fake_mode"},
    )  # fmt: skip


def weights():
    return [
        lambda: nn.Parameter(torch.randn(3, 4)),
        lambda: nn.Parameter(torch.randn(3, 4), requires_grad=False),
        lambda: nn.Parameter(torch.randn(3, 4).t().contiguous().t()),
        lambda: nn.Parameter(torch.randn(5, dtype=torch.bfloat16)),
        lambda: torch.randn(2, 3, 4).to(torch.float64),
        lambda: torch.randn(1, 3, 4, 4).to(memory_format=torch.channels_last),
    ]


@pytest.fixture(autouse=True)
def nobody_reads_the_trace(monkeypatch):
    """pytest's handlers of logs read torch's structured trace, in which each input is told."""
    monkeypatch.setattr(structured_trace, "is_written", lambda: False)


@pytest.fixture
def asked(monkeypatch):
    """What torch was asked to make a fake tensor of."""
    seen = []
    plain = fake_tensors.FakeTensorMode.from_tensor

    def from_tensor(self, tensor, **options):
        seen.append(tensor)
        return plain(self, tensor, **options)

    monkeypatch.setattr(fake_tensors.FakeTensorMode, "from_tensor", from_tensor)
    return seen


def made(mode, alike, tensor):
    return fake_input(mode, tensor, "w", None, {}, alike)


@pytest.mark.parametrize("make", weights())
def test_the_second_is_what_torch_would_make(make, asked):
    mode, alike = watched_mode(), Alike()
    first, second = make(), make()
    made(mode, alike, first)
    found = made(mode, alike, second)
    assert len(asked) == 1
    assert told(found) == told(watched_mode().from_tensor(second, static_shapes=True))
    assert mode.from_tensor(second, static_shapes=True) is found
    assert made(mode, alike, second) is found


def test_memory_that_is_shared_is_shared(asked):
    mode, alike = watched_mode(), Alike()
    base = nn.Parameter(torch.randn(3, 4))
    made(mode, alike, nn.Parameter(torch.randn(3, 4)))
    one = made(mode, alike, base)
    other = nn.Parameter(torch.empty(3, 4))
    other.data = base.data
    found = made(mode, alike, other)
    assert storage_key(found) == storage_key(one)
    assert found is not one


def test_a_view_that_torch_makes_later_is_in_the_memory_of_the_weight():
    mode, alike = watched_mode(), Alike()
    made(mode, alike, nn.Parameter(torch.randn(3, 4)))
    weight = nn.Parameter(torch.randn(3, 4))
    found = made(mode, alike, weight)
    part = mode.from_tensor(weight.detach()[1:], static_shapes=True)
    assert storage_key(part) == storage_key(found)


def more_to_it():
    buffer = nn.Buffer(torch.randn(3))
    wide = torch.randn(8)[:4].detach()
    freed = nn.Parameter(torch.randn(3))
    freed.untyped_storage().resize_(0)
    return [torch.arange(3), buffer, wide, freed, torch.randn(4)[2:], torch.empty(0, 3)]


@pytest.mark.parametrize("tensor", more_to_it(), ids=lambda t: str(tuple(t.shape)))
def test_torch_makes_those_with_more_to_them(tensor):
    assert kind_of(tensor) is None


def test_kinds_differ():
    kinds = [kind_of(make()) for make in weights()]
    assert None not in kinds and len(set(kinds)) == len(kinds)


def test_torch_makes_all_where_its_trace_is_read(monkeypatch):
    monkeypatch.setattr(structured_trace, "is_written", lambda: True)
    assert kind_of(nn.Parameter(torch.randn(3, 4))) is None


def test_another_torch_makes_all_itself(monkeypatch, asked):
    monkeypatch.setattr(fake_memory, "can_remember", lambda mode: False)
    mode, alike = watched_mode(), Alike()
    for _ in range(3):
        made(mode, alike, nn.Parameter(torch.randn(3, 4)))
    assert len(asked) == 3


def test_a_constructor_that_sets_something_else_is_called(monkeypatch):
    monkeypatch.setattr(fake_tensors, "_SETS", {True: "another", False: "another"})
    mode = watched_mode()
    found = mode.make(torch.empty(2, device="meta"), torch.device("cpu"))
    monkeypatch.undo()
    other = watched_mode()
    assert told(found) == told(other.make(torch.empty(2, device="meta"), torch.device("cpu")))


def test_weights_in_one_memory_are_written_and_read():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ParameterList([torch.ones(3, 4) * i for i in range(3)])
            self.again = nn.Parameter(torch.empty(3, 4))
            self.again.data = self.parts[1].data

        def forward(self, x):
            with torch.no_grad():
                self.parts[1].add_(1)
            for part in self.parts:
                x = x * part
            return x + self.again

    eager, compiled = Net(), Net()
    run = suture.compile(compiled, backend="eager")
    for _ in range(3):
        x = torch.randn(3, 4)
        assert torch.equal(run(x), eager(x))
    assert torch.equal(compiled.again, eager.again)
