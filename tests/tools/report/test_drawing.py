"""Graphs are drawn so that inputs can be told apart."""

from __future__ import annotations

from suture.events import Node
from suture.tools.report.drawing import graph


def test_weights_of_layers_are_shown_with_their_layer():
    names = [f"l_layers_{i}_dict_parameters_weight" for i in range(2)]
    drawn = str(graph([Node(name, "input", (), "float32[8, 8] cpu") for name in names], "a graph"))
    assert ">layers_0_weight<" in drawn and ">layers_1_weight<" in drawn
    assert all(f"<title>{name}: " in drawn for name in names)
