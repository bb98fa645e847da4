"""Whether two tensors of one memory have an element in common."""

from __future__ import annotations

import random

import torch

from suture.compiler.graph.places import meet, places_of

MEMORY = torch.arange(400)


def some_tensor(numbers):
    dims = numbers.randint(0, 3)
    sizes = [numbers.randint(0 if numbers.random() < 0.1 else 1, 4) for _ in range(dims)]
    strides = [numbers.choice([0, 1, 2, 3, 4, 6, 8, 12]) for _ in range(dims)]
    return MEMORY.as_strided(sizes, strides, numbers.randint(0, 30))


def test_it_is_found_out_exactly():
    numbers = random.Random(0)
    for _ in range(2000):
        left, right = some_tensor(numbers), some_tensor(numbers)
        common = set(left.flatten().tolist()) & set(right.flatten().tolist())
        assert meet(places_of(left), places_of(right)) is bool(common)


def test_tensors_of_other_sizes_of_elements():
    halves = MEMORY.view(torch.int32)
    assert meet(places_of(MEMORY[1:2]), places_of(halves[3:4]))
    assert not meet(places_of(MEMORY[1:2]), places_of(halves[4:5]))
