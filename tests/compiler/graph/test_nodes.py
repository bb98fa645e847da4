"""Graphs: which operations are in them, on what, and what comes in and goes out."""

from __future__ import annotations

import torch

from tests.harness import check

X = torch.ones(4)


def graph(fn, *args, **options):
    """The only graph of a program, as a backend gets it."""
    (module,) = check(fn, *args, **options).modules
    return module.graph


def names(nodes):
    return [node.name for node in nodes]


def inputs(found):
    return [node for node in found.nodes if node.op == "placeholder"]


def outputs(found):
    (node,) = [node for node in found.nodes if node.op == "output"]
    return names(node.args[0])


def test_an_operation_keeps_its_place():
    check(lambda x: (x.exp() + x.sin()) * x.cos(), X, ops=[["exp", "sin", "add", "cos", "mul"]])


def test_the_same_operation_twice_is_two_nodes():
    check(lambda x: x.sin() + x.sin(), X, ops=[["sin", "sin", "add"]])


def test_a_value_used_twice_is_one_node():
    def fn(x):
        y = x.sin()
        return y * y

    check(fn, X, ops=[["sin", "mul"]])


def test_an_output_stands_once():
    def fn(x):
        y = x.sin()
        return y, [y], {"y": y}

    assert outputs(graph(fn, X)) == ["sin"]


def test_an_input_that_is_returned_is_no_output():
    assert outputs(graph(lambda x: (x.sin(), x), X)) == ["sin"]


def test_outputs_are_in_the_order_of_their_use():
    assert outputs(graph(lambda x: (x.cos(), x.sin()), X)) == ["cos", "sin"]

    def fn(x):
        a = x.sin()
        b = x.cos()
        return b, a

    assert outputs(graph(fn, X)) == ["cos", "sin"]


def test_an_input_is_there_once_however_often_it_is_read():
    found = graph(lambda x, d: x + d["k"] + d["k"] + d["j"], X, {"k": X + 1, "j": X + 2})
    assert len(inputs(found)) == 3


def test_a_tensor_that_nobody_uses_is_no_input():
    found = graph(lambda x, a, b: x * b, X, X + 1, X + 2)
    assert len(inputs(found)) == 2


def test_two_names_of_one_tensor_are_one_input():
    (module,) = check(lambda x, y: x + y, make=lambda: [torch.ones(4)] * 2).modules
    assert len(inputs(module.graph)) == 1


def test_numbers_are_arguments_of_their_node():
    (mul,) = [n for n in graph(lambda x, n: x * n, X, 3).nodes if n.op == "call_function"]
    assert mul.args[1] == 3


def test_a_list_of_tensors_is_one_argument():
    found = graph(lambda x: torch.cat([x, x.sin()], dim=0), X)
    (cat,) = [n for n in found.nodes if n.name == "cat"]
    assert names(cat.args[0]) == [inputs(found)[0].name, "sin"]
    assert cat.kwargs == {"dim": 0}


def test_writes_stay_where_they_are():
    def fn(x):
        y = x.clone()
        y.add_(1)
        z = y.sum()
        y.mul_(2)
        return z

    check(fn, X, ops=[["clone", "add_", "sum", "mul_"]])


def test_an_item_is_set_by_a_node():
    def fn(x):
        y = x.clone()
        y[0] = 5
        return y

    check(fn, X, ops=[["clone", "setitem"]])


def test_a_tuple_of_results_is_taken_apart_in_the_graph():
    def fn(x):
        a, b = x.split(2)
        return a + b

    check(fn, X, ops=[["split", "getitem", "getitem", "add"]])


def test_modes_of_autograd_are_nodes_and_as_they_were_at_the_end():
    def fn(x):
        with torch.no_grad():
            y = x.sin()
        return y.cos()

    switch = "_set_grad_enabled"
    check(fn, X, ops=[[switch, "sin", switch, "cos", switch]])


def test_a_draw_is_a_node_even_if_nobody_uses_it():
    def fn(x):
        torch.rand(2)
        return x.sin()

    check(fn, X, ops=[["rand", "sin"]])


def test_a_static_size_is_no_node():
    check(lambda x: x.reshape(x.shape[0] // 2, -1) * len(x), X, ops=[["reshape", "mul"]])


def test_a_dynamic_size_is_a_node_of_its_tensor():
    check(lambda x: x * (x.shape[0] * 2), X, ops=[["size", "mul", "mul"]], dynamic=True)


def test_parameters_of_modules_are_inputs_in_the_order_of_use():
    layers = torch.nn.ModuleList([torch.nn.Linear(4, 4, bias=False) for _ in range(2)])

    def fn(x):
        return layers[1](x) + layers[0](x)

    (module,) = check(fn, X, ops=[["linear", "linear", "add"]]).modules
    found = [node for node in module.graph.nodes if node.name.startswith("linear")]
    assert found[0].args[1] is not found[1].args[1]


def test_the_shape_and_the_dtype_of_a_node_are_known():
    found = graph(lambda x: x.to(torch.float64).reshape(2, 2), X)
    (node,) = [n for n in found.nodes if n.name == "reshape"]
    fake = node.meta["example_value"]
    assert (tuple(fake.shape), fake.dtype) == ((2, 2), torch.float64)
