"""Dicts whose keys are tensors: told apart by identity."""

from __future__ import annotations

import torch

import suture
from tests.harness import check

WEIGHTS = [torch.nn.Parameter(torch.full((2,), float(i))) for i in range(3)]


def test_what_is_found_under_a_parameter():
    places = {p: i for i, p in enumerate(WEIGHTS)}

    def fn(x):
        for p in WEIGHTS:
            x = x * p.detach() + places[p]
        for key, place in places.items():
            x = x + key.detach().sum() * place
        return x, x in places, places.get(WEIGHTS[1]), list(places)[0] is WEIGHTS[0], len(places)

    check(fn, torch.ones(2))


def test_an_equal_tensor_is_another_key():
    def fn(x, found):
        other = x.clone()
        found[other] = 2
        return x + found[x], found[other], other in found, len(found)

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    for _ in range(2):
        x = torch.ones(2)
        mine, theirs = {x: 1}, {x: 1}
        assert str(fn(x, mine)) == str(compiled(x, theirs))
        assert [*mine.values()] == [*theirs.values()] and next(iter(theirs)) is x
    assert not suture.stats().breaks


def test_what_a_key_leads_to_may_change():
    places = {p: i for i, p in enumerate(WEIGHTS)}

    def fn(x):
        return x + places[WEIGHTS[0]] * 10 + len(places)

    compiled = suture.compile(fn, backend="eager")
    for key, value in ((WEIGHTS[0], 0), (WEIGHTS[0], 5), (torch.ones(2), 7)):
        places[key] = value
        torch.testing.assert_close(compiled(torch.ones(2)), fn(torch.ones(2)))
