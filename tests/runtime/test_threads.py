"""Programs whose threads compile, call, free and reset at once."""

import gc
import random
import threading

import pytest
import torch
from torch.fx import symbolic_trace

import suture
from suture.look import unit_of
from suture.runtime.family import Family
from suture.runtime.unit import drop


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        if x.sum() > 0:
            return self.linear(x)
        return self.linear(x) * 2


def steps(x, count):
    for i in range(count):
        x = x.sin() + i
        if x.sum() > 4:
            x = x - 1
        if i == 1:
            suture.graph_break()
    return x


@pytest.mark.usefixtures("often_switching")
def test_threads_that_compile_call_free_and_reset_at_once():
    """Functions of one code object, modules of one class, branches that are learned: whatever one
    thread adds or drops while the others go through it."""
    shared = suture.compile(steps, backend="eager")
    errors = []

    def turn(chance):
        factor = chance.randrange(1, 6)

        def own(x):
            return (x * factor).cos() + len(x)

        x = torch.arange(float(chance.randrange(3, 5))) + factor
        count = factor % 3 + 1
        assert torch.equal(shared(x, count), steps(x, count))
        assert torch.equal(suture.compile(own, backend="eager")(x), own(x))
        block, y = Block(), torch.full((2, 4), chance.choice([-1.0, 1.0]))
        assert torch.equal(suture.compile(block, backend="eager")(y), block(y))
        if chance.random() < 0.1:
            suture.reset()
            suture.stats()

    def job(seed):
        chance = random.Random(seed)
        try:
            for _ in range(25):
                turn(chance)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=job, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert errors == []


def test_a_module_that_is_compiled_while_fx_traces():
    """torch.fx replaces Module.__call__ while it traces, for all threads."""
    compiled, graphs = [], []

    def count(gm, inputs):
        graphs.append(gm)
        return gm.forward

    class Traced(torch.nn.Module):
        def forward(self, x):
            compiled.append(suture.compile(Block(), backend=count))
            return x + 1

    symbolic_trace(Traced())
    (block,) = compiled
    x = torch.ones(2, 4)
    assert torch.equal(block(x), block._orig_mod(x))
    assert graphs


def test_of_those_that_drop_a_variant_at_once_one_is_told_so():
    compiled = suture.compile(lambda x: x + 1, backend="eager")
    compiled(torch.ones(2))
    (point,) = [p for p in unit_of(compiled).points.values() if p.data.variants]
    (variant,) = point.data.variants
    assert [drop(point, variant), drop(point, variant)] == [True, False]
    assert torch.equal(compiled(torch.ones(2)), torch.full((2,), 2.0))


def test_a_unit_is_whole_when_others_find_it(monkeypatch):
    found = []
    join = Family.join

    def look(self, unit, module):
        found.append(dict(unit.points))
        join(self, unit, module)

    monkeypatch.setattr(Family, "join", look)
    suture.compile(lambda x: x, backend="eager")
    assert found == [{}]
