"""weakref.proxy: used like what it refers to."""

from __future__ import annotations

import weakref

import pytest
import torch
from torch import nn

import suture
from tests.harness import check


class Trainer:
    def __init__(self):
        self.scale = 2
        self.weight = torch.ones(3)

    def scaled(self, x):
        return x * self.scale + self.weight


class Empty(Trainer):
    def __len__(self):
        return 0


def used(x, trainer):
    facts = (
        isinstance(trainer, Trainer),
        isinstance(trainer, (int, Empty)),
        type(trainer) is Trainer,
        bool(trainer),
        trainer is None,
        hasattr(trainer, "scale"),
        hasattr(trainer, "other"),
    )
    trainer.seen = x * 2
    return trainer.scaled(x) + trainer.seen, facts


@pytest.mark.parametrize("kind", [Trainer, Empty])
def test_a_proxy_is_used_like_its_object(kind):
    kept = []

    def made():
        kept.append(kind())
        return torch.ones(3), weakref.proxy(kept[-1])

    want = used(*made())
    got = suture.compile(used, backend="eager", fullgraph=True)(*made())
    assert torch.equal(want[0], got[0]) and want[1] == got[1]
    assert torch.equal(kept[1].seen, torch.full((3,), 2.0))


def test_a_module_that_knows_its_trainer_by_a_proxy():
    class Model(nn.Module):
        def forward(self, x):
            return self.trainer.scaled(x), self.trainer

    model, trainer = Model(), Trainer()
    model.trainer = weakref.proxy(trainer)
    compiled = suture.compile(model, backend="eager", fullgraph=True)
    assert torch.equal(compiled(torch.ones(3))[0], torch.full((3,), 3.0))
    trainer.scale = 5
    out, given = compiled(torch.ones(3))
    assert torch.equal(out, torch.full((3,), 6.0)) and given is model.trainer


def test_a_proxy_of_what_is_gone_raises_as_python_does():
    trainer = Trainer()
    proxy = weakref.proxy(trainer)
    del trainer
    check(lambda x: x * proxy.scale, torch.ones(3), graphs=None, breaks=None, interpreted=None)
