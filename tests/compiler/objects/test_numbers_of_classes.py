"""Numbers that classes hold are numbers as others are: symbols, once they have changed."""

import torch

import suture
from tests.harness import Graphs

X = torch.ones(3)


class Settings:
    step = 0
    ratio = 0.5
    name = "a"


class Derived(Settings):
    pass


def graphs_for(fn, change):
    """How many graphs the calls make, between which `change` is called with 0, 1...; each gives
    what eager gives."""
    suture.reset()
    graphs = Graphs()
    compiled = suture.compile(fn, backend=graphs)
    for turn in range(8):
        change(turn)
        torch.testing.assert_close(compiled(X), fn(X))
    return len(graphs)


def test_one_that_changes():
    def change(turn):
        Settings.step, Settings.ratio = turn, turn / 4 + 0.1

    assert graphs_for(lambda x: x * Settings.step + Settings.ratio, change) <= 3


def test_one_that_is_read_through_an_object():
    class Scale:
        by = 1

    scale = Scale()

    def change(turn):
        Scale.by = turn + 2

    assert graphs_for(lambda x: x * scale.by, change) == 2


def test_a_class_in_front_of_it_and_an_object_that_gets_its_own():
    derived = Derived()
    own = [lambda t: setattr(Derived, "step", 7), lambda t: delattr(Derived, "step")]
    own += [lambda t: setattr(derived, "step", 9), lambda t: delattr(derived, "step")]
    own += [lambda t: setattr(Settings, "step", 3), lambda t: setattr(Settings, "step", 2.5)]
    own += [lambda t: setattr(Settings, "step", property(lambda self: 11)), lambda t: None]
    Settings.step = 1
    try:
        graphs_for(lambda x: x * derived.step, lambda turn: own[turn](turn))
    finally:
        Settings.step = 0


def test_a_metaclass_that_answers():
    class Meta(type):
        @property
        def step(cls):
            return cls._step

    class Of(metaclass=Meta):
        _step = 1

    def change(turn):
        Of._step = turn

    graphs_for(lambda x: x * Of.step, change)


def test_a_text_is_still_one_variant_each():
    def change(turn):
        Settings.name = "ab"[turn % 2]

    assert graphs_for(lambda x: x * len(Settings.name) + (Settings.name == "a"), change) == 2
