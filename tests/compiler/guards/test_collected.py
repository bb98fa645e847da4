"""Which guards a program gets: their kind and the path of what they look at, and no others."""

from __future__ import annotations

import types

import pytest
import torch

import suture
from tests.compiler.regions import region, regions

X = torch.ones(3)
SCALE = 2.0
GLOBALS = [("is", "L['fn'].__globals__")]
TENSOR = ("tensor", "L['x']")


class Point:
    def __init__(self):
        self.a = 1


def collected(fn, *args):
    """The guards of a region without the one on the function's globals, which all have, and those
    on what torch.Tensor has under the names of the operations."""
    found = of_arguments(region(fn, X, *args))
    assert found[:1] == GLOBALS
    return found[1:]


def of_arguments(region):
    return [guard for guard in region.guards if guard[1].partition(".")[0] != "Tensor"]


@pytest.mark.parametrize("number", [2, 2.5, True])
def test_a_number_is_specialised_by_its_value(number):
    assert collected(lambda x, n: x * n, number) == [TENSOR, ("equals", "L['n']")]


def test_what_nobody_looks_at_is_not_guarded():
    assert collected(lambda x, a, b: x.sin(), 1, {"k": [2]}) == [TENSOR]


def test_an_object_that_is_only_returned_is_not_guarded():
    assert collected(lambda x, a: (x.sin(), a), Point()) == [TENSOR]


def test_an_object_that_is_only_kept_is_guarded_by_its_type_alone():
    def fn(x, a):
        y = x.sin()
        kept = [a]
        return y, kept

    assert collected(fn, Point()) == [TENSOR, ("type", "L['a']")]


def test_text_is_compared():
    def fn(x, s):
        return x.sin() if s == "sin" else x

    assert collected(fn, "sin") == [("equals", "L['s']"), TENSOR]


def test_none_is_compared_as_a_number_is():
    def fn(x, o):
        return x.sin() if o is None else x + o

    assert collected(fn, None) == [("equals", "L['o']"), TENSOR]
    assert collected(fn, 2) == [("equals", "L['o']"), TENSOR]


def test_one_item_of_a_list():
    expected = [TENSOR, ("type", "L['l']"), ("len", "L['l']"), ("equals", "L['l'][1]")]
    assert collected(lambda x, l: x * l[1], [1, 2, 3]) == expected


def test_the_length_of_a_list_needs_none_of_its_items():
    found = region(lambda x, l: x * len(l), X, [1, 2])
    assert found.guarded("L['l']") == ["type", "len"]
    assert found.guarded("L['l'][0]") == []


def test_the_truth_of_a_list_is_its_length():
    def fn(x, l):
        return x.sin() if l else x.cos()

    assert collected(fn, []) == [("type", "L['l']"), ("len", "L['l']"), TENSOR]


def test_an_unpacked_tuple_is_guarded_as_a_whole():
    def fn(x, pair):
        a, b = pair
        return x * a

    expected = [("type", "L['pair']"), ("len", "L['pair']")]
    assert collected(fn, (2, X))[:2] == expected


def test_a_key_that_is_there_and_one_that_is_not():
    def fn(x, d):
        return x * d.get("k", 3)

    assert collected(fn, {"k": 2}) == [TENSOR, ("type", "L['d']"), ("equals", "L['d']['k']")]
    assert collected(fn, {"j": 2}) == [TENSOR, ("type", "L['d']"), ("no_key", "L['d']")]


def test_the_length_of_a_dict_is_its_keys():
    found = region(lambda x, d: x * len(d), X, {"j": 2})
    assert found.guarded("L['d']") == ["type", "keys"]
    assert found.guarded("L['d']['j']") == []


def test_a_set_is_compared_as_a_whole():
    def fn(x, s):
        return x.sin() if 1 in s else x

    assert collected(fn, {1, 2}) == [("type", "L['s']"), ("truth", "L['s']"), TENSOR]


def test_an_attribute_is_read_in_the_dict_of_the_object():
    assert collected(lambda x, p: x * p.a, Point()) == [
        TENSOR,
        ("type", "L['p']"),
        ("is", "Point.__getattribute__"),
        ("no_mro_attr", "Point"),
        ("equals", "L['p'].__dict__['a']"),
    ]


def test_an_attribute_that_is_not_there():
    found = region(lambda x, p: x.sin() if hasattr(p, "no") else x.cos(), X, Point())
    assert found.guarded("L['p']") == ["type"]
    assert found.guarded("L['p'].__dict__") == ["no_key"]
    assert found.paths("no_mro_attr") == ["Point", "Point"]  # the name, and __getattr__
    assert found.ops == ["cos"]


def test_a_path_through_containers_and_objects():
    found = region(lambda x, d: x * d["a"][0].a, X, {"a": [Point()]})
    assert found.guarded("L['d']") == ["type"]
    assert found.guarded("L['d']['a']") == ["type", "len"]
    assert found.guarded("L['d']['a'][0]") == ["type"]
    assert found.guarded("L['d']['a'][0].__dict__['a']") == ["equals"]


def test_a_global_number():
    found = region(lambda x: x * SCALE, X)
    assert found.paths("equals") == [f"{__name__}['SCALE']"]


def test_a_variable_of_a_closure():
    k = 2
    assert collected(lambda x: x * k) == [TENSOR, ("equals", "L['fn'].__closure__[0]")]


def test_two_names_of_one_tensor():
    assert of_arguments(region(lambda x, y: x + y, X, X))[1:] == [TENSOR, ("same", "L['y']")]


def test_two_lists_of_which_one_is_changed_are_not_one():
    def fn(x, a, b):
        a.append(1)
        b.append(2)
        return x.sin()

    assert region(fn, X, [], []).paths("distinct") == [""]


def test_a_function_that_is_an_argument_is_its_code_and_globals():
    found = region(lambda x, f: f(x), X, types.FunctionType((lambda y: y.sin()).__code__, {}))
    assert found.guarded("L['f']") == ["type", "truth"]
    assert found.guarded("L['f'].__code__") == ["is"]
    assert found.guarded("L['f'].__globals__") == ["is"]


def test_a_dtype_is_identical():
    assert collected(lambda x, d: x.to(d), torch.float64) == [TENSOR, ("is", "L['d']")]


def test_a_size_is_part_of_the_tensors_guard():
    assert collected(lambda x: x.sin() if x.shape[0] == 3 else x) == [TENSOR]


def test_a_guard_is_added_once():
    def fn(x, d):
        return x * d["k"] + d["k"] + d["k"]

    found = region(fn, X, {"k": 2})
    assert len(found.guards) == len(set(found.guards))


def test_a_module_is_held_weakly_and_its_parameters_are_watched():
    linear = torch.nn.Linear(3, 3)
    found = region(lambda x: linear(x), X)
    assert found.guarded("L['fn'].__closure__[0]") == ["weak", "type"]
    weight = "L['fn'].__closure__[0].__dict__['_parameters']['weight']"
    assert found.guarded(weight) == ["tensor", "is"]


def test_behind_a_break_only_what_is_live_is_guarded():
    def fn(x, n):
        y = x * n
        suture.graph_break()
        return y.sin()

    first, second = regions(fn, X, 2)
    assert first.guarded("L['n']") == ["equals"]
    assert of_arguments(second) == [*GLOBALS, ("tensor", "L['y']")]


def test_the_guard_that_fails_is_told():
    def fn(x, d):
        return x * d.get("k", 3)

    compiled = suture.compile(fn, backend="eager")
    for d in ({"j": 1}, {"k": 2}):
        compiled(X, d)
    (reason,) = suture.recompile_reasons(compiled)
    assert "'k' not in d" in reason
