"""Variants: the lines that run at each call."""

from __future__ import annotations

import torch

import suture
from tests.compiler.regions import variant, variants

X = torch.ones(3)
JUMP = "return v_jump(point, "


def test_a_graph_and_its_result():
    assert variant(lambda x: x.sin(), X) == ["sin, = graph(x)  # 1 operation", "return sin"]


def test_without_operations_there_is_no_graph():
    assert variant(lambda x, y: (y, 2), X, 3) == ["v = (y, 2,)", "return v"]


def test_a_constant_is_written_into_the_variant():
    assert variant(lambda x: (x.sin(), "text", 1.5, None), X)[1:] == [
        "v = (sin, 'text', 1.5, None,)",
        "return v",
    ]


def test_one_object_is_made_once():
    def fn(x):
        made = [x.sin()]
        return made, made

    assert variant(fn, X)[1:] == [
        "v = []",
        "list.__setitem__(v, slice(None), [sin])",
        "v_2 = (v, v,)",
        "return v_2",
    ]


def test_a_nested_result_is_made_from_the_inside():
    assert variant(lambda x: {"a": [x.sin()], "b": (x.cos(), 1)}, X)[1:] == [
        "v = {}",
        "v_2 = []",
        "list.__setitem__(v_2, slice(None), [sin])",
        "v['a'] = v_2",
        "v_3 = (cos, 1,)",
        "v['b'] = v_3",
        "return v",
    ]


def test_a_list_that_holds_itself():
    def fn(x):
        made = [x.sin()]
        made.append(made)
        return made

    assert variant(fn, X)[1:] == [
        "v = []",
        "list.__setitem__(v, slice(None), [sin, v])",
        "return v",
    ]


def test_an_input_of_the_graph_is_read_by_its_path():
    lines = variant(lambda x, d: x + d["k"][0], X, {"k": [X + 1]})
    assert lines[-2:] == ["add, = graph(x, d['k'][0])  # 1 operation", "return add"]


def test_what_several_inputs_are_reached_through_is_read_once_and_let_go():
    lines = variant(lambda x, d: d["k"][0] + d["k"][1] * x, X, {"k": [X + 1, X + 2]})
    assert lines[-4:] == [
        "base = d['k']",
        "add, = graph(base[0], base[1], x)  # 2 operations",
        "del base",
        "return add",
    ]


def test_tensors_of_modules_are_no_arguments():
    linear = torch.nn.Linear(3, 3)
    assert variant(lambda x: linear(x), X) == [
        "linear, = graph(x)  # 1 operation on these and 2 tensors of modules",
        "return linear",
    ]


def test_a_break_runs_one_operation_and_jumps():
    def fn(x):
        y = x.sin()
        suture.graph_break()
        return y + 1

    first, second = variants(fn, X)
    assert first == [
        "sin, = graph(x)  # 1 operation",
        "graph_break = suture['graph_break']",
        "result = at(v_run, graph_break)  # GB0025 line, run by Python",
        "return leave(unbound, (), fn, exc)",
        JUMP + "fn, sin, result)",
    ]
    assert second == ["add, = graph(y)  # 1 operation", "return add"]


def test_a_branch_on_data_jumps_to_one_of_two_points():
    def fn(x):
        y = x.sin()
        if y.sum():
            return y.cos()
        return y.neg()

    first, _ = variants(fn, X)
    assert first[0] == "sum_1, sin, = graph(x)  # 2 operations"
    assert first[-3:] == ["if not result:", JUMP + "fn, sin)", JUMP + "fn, sin)"]


def test_only_live_locals_go_on_behind_a_break():
    def fn(x):
        dead = x.sin()
        live = dead.cos()
        suture.graph_break()
        return live.neg()

    first, second = variants(fn, X)
    assert first[-1] == JUMP + "fn, cos, result)"
    assert second == ["neg, = graph(live)  # 1 operation", "return neg"]


def stops(x):
    suture.graph_break()
    return x.neg()


def test_the_frames_of_a_chain_are_innermost_first():
    first, second = variants(lambda x: stops(x.sin()).cos(), X)
    assert first[-1] == JUMP + "stops, sin, result, fn)"
    assert second == ["cos, = graph(x)  # 2 operations", "return cos"]


def test_an_iterator_is_made_where_it_stands():
    def fn(x):
        for _ in range(3):
            x = x.sin()
            suture.graph_break()
        return x

    assert "v = iter(range(1, 3))" in variants(fn, X)[0]


def test_a_handler_of_the_operation_is_a_point():
    def fn(x):
        y = x.sin()
        try:
            suture.graph_break()
        except ValueError:
            return y.cos()
        return y.neg()

    first, _ = variants(fn, X)
    run = next(i for i, line in enumerate(first) if "run by Python" in line)
    assert first[run + 1].startswith(JUMP + "fn, sin")
    assert not any(line.startswith("return leave(") for line in first)


def test_a_closure_that_leaves_is_made_with_its_cell():
    def fn(x):
        y = x.sin()

        def later():
            return y

        return later

    assert variant(fn, X)[1:] == [
        "v = Cell()",
        "v_2 = Function(code, v_globals, 'later', None, (v, ))",
        "v.cell_contents = sin",
        "return v_2",
    ]


def test_arithmetic_of_floats_is_hoisted():
    assert variant(lambda x, f: x * (f * 2 + 1), X, 5.5, dynamic=True) == [
        "mul = f * 2",
        "add = mul + 1",
        "mul_1, = graph(x, convert(add))  # 3 operations",
        "return mul_1",
    ]


def test_arithmetic_of_sizes_is_left_to_the_graph():
    assert variant(lambda x: (x.sin(), x.shape[0] * 2), X, dynamic=True) == [
        "sin, mul, = graph(x)  # 2 operations",
        "v = (sin, mul,)",
        "return v",
    ]
