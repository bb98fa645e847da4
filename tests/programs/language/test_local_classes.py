"""Classes that a compiled function defines: another one in each call."""

import torch

import suture
from tests.harness import Graphs


def test_methods_of_a_class_that_each_call_defines_are_compiled_a_few_times():
    def fn(x):
        class Local:
            factor = 2

            def __init__(self, value):
                self.value = value

            def scaled(self):
                return self.value * self.factor

        return Local(x.sin()).scaled().cos()

    suture.reset()
    graphs = Graphs()
    compiled = suture.compile(fn, backend=graphs)
    for n in range(12):
        x = torch.ones(3) * n
        assert torch.equal(compiled(x), fn(x))
    stats = suture.stats()
    assert not stats.interpreted, stats.interpreted
    assert sum(record.count for record in stats.recompilations) <= 3
    assert len(graphs) <= 2


def test_objects_of_two_classes_of_one_factory_are_both_looked_into():
    def made(factor):
        class Scale:
            def __init__(self):
                self.by = factor

        return Scale()

    def fn(x, scale):
        return x * scale.by + 1

    suture.reset()
    graphs = Graphs()
    compiled = suture.compile(fn, backend=graphs)
    one, other = made(2.0), made(3.0)
    for _ in range(3):
        for scale in (one, other):
            assert torch.equal(compiled(torch.ones(2), scale), fn(torch.ones(2), scale))
    assert len(graphs) <= 3 and not suture.stats().breaks
