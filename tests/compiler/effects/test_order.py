"""Effects: what a region changed, in which order, and how its variant puts that back."""

from __future__ import annotations

import collections
import random
import warnings

import torch

import suture
from tests.compiler.regions import region, regions, variant, variants

X = torch.ones(3)
COUNT = 0
TOTAL = 0


class Point:
    def __init__(self, a=1, b=2):
        self.a = a
        self.b = b


def behind_graph(lines):
    """The lines behind the call of the graph, which must come first."""
    assert "graph(" in lines[0], lines
    return lines[1:]


def test_what_is_appended_is_appended_at_once():
    def fn(x, items):
        items.append(x.sin())
        items.append(1)
        return x

    assert region(fn, X, []).touched == ["L['items']"]
    assert behind_graph(variant(fn, X, [])) == ["list.extend(items, [sin, 1])", "return x"]


def test_appending_does_not_look_at_what_is_there():
    def fn(x, items):
        items.append(x.sin())
        return x

    assert region(fn, X, [1, 2]).guarded("L['items']") == ["type"]


def test_objects_are_written_in_the_order_of_their_first_change():
    def fn(x, a, b):
        b.append(x.sin())
        a.append(x.cos())
        b.append(2)
        return x

    assert region(fn, X, [], []).touched == ["L['b']", "L['a']"]
    lines = ["list.extend(b, [sin, 2])", "list.append(a, cos)", "return x"]
    assert behind_graph(variant(fn, X, [], [])) == lines


def test_an_item_is_set_by_writing_the_list():
    def fn(x, items):
        items[0] = x.sin()
        return x

    assert behind_graph(variant(fn, X, [1, 2])) == [
        "index = items[1]",
        "list.__setitem__(items, slice(None), [sin, index])",
        "return x",
    ]


def test_everything_is_read_before_anything_is_written():
    def fn(x, p):
        p.a, p.b = p.b, p.a
        return x.sin()

    lines = behind_graph(variant(fn, X, Point("a", "b")))
    assert lines == [
        "v_dict = p.__dict__",
        "b = v_dict['b']",
        "a = v_dict['a']",
        "set_attribute(p, 'a', b)",
        "set_attribute(p, 'b', a)",
        "return sin",
    ]


def test_keys_of_a_dict_keep_their_order():
    def fn(x, d):
        d["new"] = x.sin()
        d["a"] = 2
        del d["b"]
        return x

    assert behind_graph(variant(fn, X, {"a": 1, "b": 2})) == [
        "dict.__delitem__(d, 'b')",
        "dict.__setitem__(d, 'a', 2)",
        "dict.__setitem__(d, 'new', sin)",
        "return x",
    ]


def test_of_two_values_of_an_attribute_the_last_is_written():
    def fn(x, p):
        p.a = 1
        p.b = x.sin()
        p.a = x.cos()
        return x

    assert behind_graph(variant(fn, X, Point())) == [
        "set_attribute(p, 'a', cos)",
        "set_attribute(p, 'b', sin)",
        "return x",
    ]


def test_globals_are_stored_in_the_order_of_their_last_store():
    def fn(x):
        global COUNT, TOTAL
        COUNT = 1
        TOTAL = 2
        COUNT = 3
        return x.sin()

    assert region(fn, X).globals == ["TOTAL", "COUNT"]
    lines = ["v_globals['TOTAL'] = 2", "v_globals['COUNT'] = 3", "return sin"]
    assert behind_graph(variant(fn, X)) == lines


def test_objects_are_written_before_globals():
    def fn(x, items):
        global TOTAL
        TOTAL = x.cos()
        items.append(x.sin())
        return x

    lines = ["list.append(items, sin)", "v_globals['TOTAL'] = cos", "return x"]
    assert behind_graph(variant(fn, X, [])) == lines


def test_what_a_region_makes_and_keeps_is_not_written():
    def fn(x):
        kept = [x.sin()]
        kept.append(x.cos())
        return kept[0] + kept[1]

    assert behind_graph(variant(fn, X)) == ["return add"]


def test_what_a_region_makes_and_returns_is_made_complete():
    def fn(x):
        made = Point(x.sin())
        made.b = 3
        return made

    assert behind_graph(variant(fn, X)) == [
        "v = object.__new__(Point)",
        "set_attribute(v, 'a', sin)",
        "set_attribute(v, 'b', 3)",
        "return v",
    ]


def test_a_list_inside_a_dict_is_changed_where_it_is():
    def fn(x, d):
        d["l"].append(x.sin())
        return x

    assert region(fn, X, {"l": []}).touched == ["L['d']['l']"]
    lines = ["l = d['l']", "list.append(l, sin)", "return x"]
    assert behind_graph(variant(fn, X, {"l": []})) == lines


def test_a_missing_key_of_a_defaultdict_is_an_effect_on_it():
    def fn(x, d):
        d["k"].append(x.sin())
        return x

    found = region(fn, X, collections.defaultdict(list))
    assert found.touched == ["L['d']", "a list"]


def test_a_changed_deque_and_set():
    def fn(x, d, s):
        d.appendleft(x.sin())
        d.pop()
        s.add("k")
        s.discard("a")
        return x

    assert behind_graph(variant(fn, X, collections.deque([1]), {"a"})) == [
        "deque.__init__(d, [sin], None)",
        "set.update(s, ['k'])",
        "follow(steps, (), s)",  # in the program's order, which decides that of the set
        "return x",
    ]


def test_a_tensor_that_is_written_is_no_effect_but_an_operation():
    def fn(x):
        x.add_(1)
        x.mul_(2)

    found = region(fn, X.clone())
    assert found.ops == ["add_", "mul_"]
    assert found.touched == []
    assert variant(fn, X.clone()) == ["graph(x)  # 2 operations", "return None"]


def test_effects_before_a_break_are_there_when_python_runs():
    def fn(x, items):
        items.append(x.sin())
        suture.graph_break()
        items.append(x.cos())
        return x

    assert [r.touched for r in regions(fn, X, [])] == [["L['items']"], ["L['items']"]]
    first, second = variants(fn, X, [])
    run = next(i for i, line in enumerate(first) if "run by Python" in line)
    assert "list.append(items, sin)" in first[:run]
    assert behind_graph(second) == ["list.append(items, cos)", "return x"]


def test_a_warning_is_called_when_the_region_ends():
    def fn(x):
        warnings.warn("careful", stacklevel=1)
        return x.sin()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert region(fn, X).calls == ["warn"]


def test_a_draw_comes_before_the_graph_and_is_kept_behind_it():
    lines = variant(lambda x: x * random.random(), X)
    assert lines == [
        "generator = getstate()",
        "drawn = random()",
        "mul, = graph(x, convert(drawn))  # 2 operations",
        "setstate(generator)",
        "return mul",
    ]


def test_two_names_of_one_list_are_one_effect():
    def fn(x, a, b):
        a.append(1)
        return x * len(b)

    one = [1]
    found = region(fn, X, one, one)
    assert found.touched == ["L['a']"]
    assert found.guarded("L['b']") == ["same"]


def test_a_variable_of_a_closure_that_stays_inside_is_not_written():
    def fn(x):
        n = 0

        def count():
            nonlocal n
            n += 1

        count()
        count()
        return x * n

    assert behind_graph(variant(fn, X)) == ["return mul"]
