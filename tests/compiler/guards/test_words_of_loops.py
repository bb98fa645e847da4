"""Places in loops, in words that a person can act on."""

from __future__ import annotations

import torch

import suture
from suture import events
from suture.compiler.guards.names import spoken
from suture.runtime.sources import key_text


def test_items_that_are_left_are_said_in_words():
    text = "left_of(inner_of(L['stack_0'])) == 2: was 2, is 1"
    told = spoken(text, {"stack_0": "iter(enumerate(self.layers))"})
    assert told == "items left in enumerate(self.layers) == 2: was 2, is 1"
    assert spoken("left_of(L['it']) == 1", {}) == "items left in it == 1"
    assert spoken("coming_of(L['it']) == 1", {}) == "items to come in it == 1"
    assert spoken("L['x'].size(0) == 1", {}) == "x.size(0) == 1"


def test_a_place_in_a_loop_has_a_line():
    """The jump at the end of a loop has none of its own."""

    def looping(x, layers):
        which = x.argmax(-1)
        for i, layer in enumerate(layers):
            rows = (which == i).nonzero().squeeze(-1)
            if rows.numel() > 0:
                x[rows] = layer(x[rows])
        return x

    suture.reset()
    compiled = suture.compile(looping, backend="eager")
    layers = torch.nn.ModuleList(torch.nn.Linear(4, 4) for _ in range(4))
    with torch.no_grad(), events.recorded(events.Installed, events.Broke) as seen:
        for kept in ([0, 1], [1, 3], [2]):
            compiled(torch.eye(4)[kept], layers)
    lines = [event.where.line for event in seen]
    assert lines and all(lines)


def test_a_key_is_spelled_without_code_of_the_program():
    class Key:
        def __repr__(self):
            raise AssertionError

    key, other = Key(), Key()
    first = key_text(key)
    assert first == key_text(key) != key_text(other)
    assert first.startswith("<Key ")
    assert key_text(("a", 1, key)) == f"('a', 1, {first})"
    assert key_text(int) == "int" and key_text((None,)) == "(None,)"
