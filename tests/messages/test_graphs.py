"""A printed graph: the text itself."""

from __future__ import annotations

import operator
import re

import pytest
import torch

import suture
from suture import events
from suture.breaks import readable
from suture.messages import graphs


def fn(x, y):
    a = x[1:].sin() + 2
    b, c = a.split(2, dim=1)
    d = torch.nn.functional.gelu(b, approximate="tanh")
    return torch.cat([d, c, y], dim=0), d.to(torch.float64)


TEXT = """\
def graph(l_x: "f32[4, 4]cpu", l_y: "f32[1, 2]cpu"):
    # test_graphs.py:LINE in fn, code: a = x[1:].sin() + 2
    getitem: "f32[3, 4]cpu" = l_x[slice(1, None, None)];  l_x = None
    sin: "f32[3, 4]cpu" = getitem.sin();  getitem = None
    add: "f32[3, 4]cpu" = sin + 2;  sin = None
    # test_graphs.py:LINE in fn, code: b, c = a.split(2, dim=1)
    split = add.split(2, dim = 1);  add = None
    getitem_1: "f32[3, 2]cpu" = split[0]
    getitem_2: "f32[3, 2]cpu" = split[1];  split = None
    # test_graphs.py:LINE in fn, code: d = torch.nn.functional.gelu(b, approximate="tanh")
    gelu: "f32[3, 2]cpu" = torch._C._nn.gelu(getitem_1, approximate = 'tanh');  getitem_1 = None
    # test_graphs.py:LINE in fn, code: return torch.cat([d, c, y], dim=0), d.to(torch.float64)
    cat: "f32[7, 2]cpu" = torch.cat([gelu, getitem_2, l_y], dim = 0);  getitem_2 = l_y = None
    to: "f64[3, 2]cpu" = gelu.to(torch.float64);  gelu = None
    return (cat, to)"""


def captured(fn, *args, **options):
    suture.reset()
    with events.recorded(events.Captured) as seen:
        suture.compile(fn, backend="eager", **options)(*args)
    return [event.text for event in seen]


def test_a_graph_is_printed_as_torch_prints_it():
    (text,) = captured(fn, torch.ones(4, 4), torch.ones(1, 2))
    assert re.sub(r"# \S*?(test_graphs\.py):\d+", r"# \1:LINE", text) == TEXT


def test_symbols_are_shown_in_shapes():
    (text,) = captured(lambda x: x * x.size(0), torch.ones(4), dynamic=True)
    assert re.search(r'l_x: "f32\[s\d+\]cpu"', text)
    assert re.search(r'mul: "f32\[s\d+\]cpu" = l_x \* \w+', text)


def test_a_graph_without_inputs_is_printed():
    (text,) = captured(lambda: torch.ones(3) + 1)
    assert text.startswith("def graph():\n")
    assert "ones + 1" in text


def test_control_codes_in_a_source_line_are_inert():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    made = graph.call_function(operator.add, (x, 1))
    made.meta["stack_trace"] = '  File "a.py", line 3, in f\n    y = x + 1  # \x1b[31m'
    graph.output(made)
    text = graphs.text(graph)
    assert "\x1b" not in text
    assert "a.py:3 in f, code: y = x + 1  # \\x1b[31m" in text


def test_a_node_is_readable():
    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    assert readable(x, 50) == "x"


@pytest.mark.parametrize("name", ["forward", "body"])
def test_the_name_is_the_readers(name):
    graph = torch.fx.Graph()
    graph.output(graph.placeholder("x"))
    assert graphs.text(graph, name).startswith(f"def {name}(x):")
