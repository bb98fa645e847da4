"""What classes and instances answer: fields of types, comparison, truth, hidden attributes."""

from __future__ import annotations

import collections
import copy
import dataclasses
import itertools
import sys
import threading
import warnings

import pytest
import torch

import suture
from tests.harness import check


class Holder:
    kind = 4

    def __init__(self, x):
        self.x = x


class Equal(Holder):
    def __eq__(self, other):
        return self.x == other.x


def test_fields_of_a_class_are_read():
    def fn(x):
        here = "kind" in Holder.__dict__ and "other" not in vars(Holder)
        name = f"{type(x).__name__} {Holder.__base__.__name__} {Holder.__flags__ & 1}"
        return x + here, name, [c.__name__ for c in type(x).__mro__]

    check(fn, torch.ones(2), graphs=1)


def test_name_added_to_a_class_is_seen():
    class Late:
        pass

    def fn(x):
        return x + ("other" in Late.__dict__)

    compiled = suture.compile(fn, backend="eager", fullgraph=True)
    assert compiled(torch.zeros(1)).item() == 0
    Late.other = 1
    assert compiled(torch.zeros(1)).item() == 1


def test_unequal_asks_the_class_for_equal():
    def fn(x):
        return x + 1, Equal(0) != Equal(0), Equal(0) != Equal(1), Holder(0) != Holder(0)

    check(fn, torch.ones(2), graphs=1)


def test_truth_that_is_no_bool_is_an_error():
    class Vague:
        def __bool__(self):
            return 1.5

    def fn(x, vague):
        return x + 1 if vague else x - 1

    with pytest.raises(TypeError) as eager:
        fn(torch.ones(1), Vague())
    assert "__bool__" in str(eager.value)
    with pytest.raises(TypeError) as ours:
        suture.compile(fn, backend="eager", fullgraph=True)(torch.ones(1), Vague())
    assert str(ours.value) == str(eager.value)


def test_attribute_behind_a_property_is_put_back():
    class Fixed:
        def __init__(self, n):
            self.__dict__["field"] = n

        field = property(lambda self: self.__dict__["field"])

    def fn(x, old):
        old.__dict__["field"] = 7
        made = Fixed(42)
        return x + made.field, made

    old = Fixed(1)
    _, made = suture.compile(fn, backend="eager", fullgraph=True)(torch.ones(1), old)
    assert (made.field, old.field) == (42, 7)


def test_named_tuple_is_made_in_the_function():
    def fn(x):
        Pair = collections.namedtuple("Pair", ["first", "second"], defaults=(3,))
        pair = Pair(x + 1)
        return pair._replace(first=x * 2).first + pair.second, pair._fields, pair._asdict()

    check(fn, torch.ones(2), graphs=1)


def test_recursion_limit_is_asked_at_each_call():
    def fn(x):
        return x * sys.getrecursionlimit()

    compiled = suture.compile(fn, backend="eager", fullgraph=True)
    before = sys.getrecursionlimit()
    assert compiled(torch.ones(1)).item() == before
    sys.setrecursionlimit(before + 1)
    try:
        assert compiled(torch.ones(1)).item() == before + 1
    finally:
        sys.setrecursionlimit(before)


def test_class_with_torch_function_is_like_a_tensor():
    class Like:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return torch.tensor(123)

    def fn(x, like):
        return x + 1, torch.overrides.is_tensor_like(like), torch.overrides.is_tensor_like(x)

    check(fn, torch.ones(2), Like(), graphs=1)
    check(fn, torch.ones(2), 4, graphs=1)


def test_failed_check_raises_the_error_it_names():
    def fn(x):
        torch._check_with(KeyError, x.shape[0] > 3, lambda: f"only {x.shape[0]}")
        torch._check_index(x.shape[0] > 4, lambda: "too few")
        return x + 1

    compiled = suture.compile(fn, backend="eager", fullgraph=True)
    assert compiled(torch.ones(5)).tolist() == [2.0] * 5
    for n in (3, 2):
        with pytest.raises(KeyError, match=f"only {n}"):
            compiled(torch.ones(n))
    with pytest.raises(IndexError, match="too few"):
        compiled(torch.ones(4))


def test_ordered_dict_keeps_the_order_it_was_brought_into():
    held = collections.OrderedDict(a=1, b=2, c=3)
    held.move_to_end("c", last=False)

    def fn(x):
        return x + 1, list(held), list(held.items())

    compiled = suture.compile(fn, backend="eager", fullgraph=True)
    assert compiled(torch.ones(1))[1] == ["c", "a", "b"]
    held.move_to_end("c")
    assert compiled(torch.ones(1))[1] == ["a", "b", "c"]


def test_hook_put_before_the_others_runs_first():
    module = torch.nn.Linear(2, 2, bias=False)
    module.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
    module.register_forward_pre_hook(lambda module, args: (args[0] * 2,), prepend=True)
    compiled = suture.compile(module, backend="eager", fullgraph=True)
    assert torch.equal(compiled(torch.ones(1, 2)), module(torch.ones(1, 2)))


def test_missing_key_is_asked_for_however_the_item_is_read():
    class Counts(dict):
        def __missing__(self, key):
            return 42

    def fn(x):
        counts = Counts(a=1)
        return x + counts["b"], counts.__getitem__("c"), dict.__getitem__(counts, "a")

    check(fn, torch.ones(2), graphs=1)


def test_object_is_an_index_of_what_is_known():
    class Two:
        def __index__(self):
            return 2

    def fn(x):
        return x + range(0, 10, 2)[Two()], "abc"[Two()], x.shape[Two()]

    check(fn, torch.ones(2, 3, 4), graphs=1)


def test_deque_has_no_slices():
    def fn(x):
        try:
            return collections.deque([1, 2])[0:1]
        except TypeError as error:
            return x + 1, str(error)

    check(fn, torch.ones(2), graphs=1)


def test_property_of_a_class_is_read_through_the_class():
    class Named:
        @classmethod
        @property
        def name(cls):
            return cls.__name__

    def fn(x):
        return x + 1, Named.name

    check(fn, torch.ones(2), graphs=1)


def test_nothing_is_handled_where_nobody_handles():
    def fn(x):
        try:
            raise ValueError("one")
        except ValueError as error:
            error.__traceback__ = None
            cleared = error.__traceback__ is None and sys.exc_info()[1] is error
        return x + 1, cleared, sys.exc_info()[0] is None

    compiled = suture.compile(fn, backend="eager", fullgraph=True)
    assert compiled(torch.ones(1))[1:] == (True, True)
    try:
        raise KeyError
    except KeyError:
        assert suture.compile(fn, backend="eager")(torch.ones(1))[1:] == (True, False)


def test_cause_that_is_no_exception_is_an_error():
    def fn(x):
        try:
            error = ValueError()
            error.__cause__ = 2
        except TypeError as error:
            return x + 1, str(error)

    check(fn, torch.ones(2), graphs=1)


def test_vars_of_an_object_without_a_dict_is_an_error():
    def fn(x):
        try:
            vars(42)
        except TypeError as error:
            return x + 1, str(error)

    check(fn, torch.ones(2), graphs=1)


def test_regular_expressions_on_known_text_are_folded():
    import re

    word = re.compile(r"(\w+)-(\d+)")

    def fn(x):
        found = word.match("layer-12") and re.search(r"\d+", "layer-12")
        return x + int(found.group()), word.sub(r"\2", "a-3"), word.match("none") is None

    check(fn, torch.ones(2), graphs=1)


def test_assertions_of_unittest_are_followed():
    import unittest

    case = unittest.TestCase()

    def fn(x):
        case.assertEqual([1, 2], [1, 2])
        case.assertIn(1, {1: 2})
        with case.assertRaises(ValueError) as raised:  # noqa: PT027
            raise ValueError("one")
        case.assertRaises(KeyError, lambda: {}["a"])  # noqa: PT027
        return x + 1, str(raised.exception)

    check(fn, torch.ones(2), graphs=1)


def test_setting_of_torch_is_asked_at_each_call():
    def fn(x):
        return x + torch.autograd._profiler_enabled()

    compiled = suture.compile(fn, backend="eager", fullgraph=True)
    assert compiled(torch.zeros(1)).item() == 0
    with torch.autograd.profiler.profile(use_cpu=True):
        assert compiled(torch.zeros(1)).item() == 1


def test_descriptor_that_only_sets_leaves_reading_to_the_instance():
    class Doubled:
        def __set__(self, obj, value):
            obj.__dict__["field"] += value * 2

    class Counter:
        field = Doubled()

        def __init__(self):
            self.__dict__["field"] = 1

    def fn(x):
        counter = Counter()
        counter.field = 10
        return x + counter.field

    check(fn, torch.ones(2), graphs=1)


def test_new_object_has_no_weak_references():
    def fn(x):
        return x + (Holder(1).__weakref__ is None)

    check(fn, torch.ones(2), graphs=1)


def test_what_a_thread_holds_is_set_by_python():
    local = threading.local()

    def fn(x):
        local.value = x + 1
        return x + 2

    suture.compile(fn, backend="eager")(torch.ones(1))
    assert local.value.item() == 2


def test_fields_are_read_through_their_descriptors():
    get_dict = type.__dict__["__dict__"].__get__

    def fn(x):
        return x + len(get_dict(Holder)), torch.Tensor.shape.__get__(x)

    check(fn, torch.ones(2), graphs=1)


def test_hash_of_frozen_dataclasses_inside_each_other():
    @dataclasses.dataclass(frozen=True)
    class Inner:
        x: float

    @dataclasses.dataclass(frozen=True)
    class Outer:
        inner: Inner
        n: int

    def fn(x):
        table = {Outer(Inner(2.5), 5): 2}
        return x + table[Outer(Inner(2.5), 5)], hash(Outer(Inner(1.0), 1))

    check(fn, torch.ones(2), graphs=1)


def test_text_of_a_derived_class_is_text():
    class Name(str):
        pass

    name = Name("abc")

    def fn(x):
        return x + len(name), list(name), name.upper(), "b" in name

    check(fn, torch.ones(2), graphs=1)


def test_frozen_sets_are_copied():
    held = frozenset([1, 2, 3])

    def fn(x):
        return x + len(copy.deepcopy(held)), copy.deepcopy({"a": held})

    check(fn, torch.ones(2), graphs=1)


def test_counter_from_outside_goes_on():
    counter = itertools.count(5, 2)

    def fn(x):
        return x * next(counter) + next(counter)

    compiled = suture.compile(fn, backend="eager", fullgraph=True)
    assert [compiled(torch.ones(1)).item() for _ in range(4)] == [12, 20, 28, 36]
    assert next(counter) == 21


def test_warnings_are_filtered_inside_a_graph():
    before = list(warnings.filters)

    def fn(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y = x.sin()
        return y + 1

    check(fn, torch.ones(2), graphs=1)
    assert warnings.filters == before


def test_filters_hold_while_python_runs_inside_the_block():
    def fn(x):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                warnings.warn("stop", UserWarning, stacklevel=1)
            except UserWarning as error:
                return x + 1, str(error)

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    assert compiled(torch.ones(1))[1] == "stop"


def test_named_results_of_torch_are_made():
    def fn(x):
        return torch.return_types.max((x, x + 1)), torch.return_types.qr((x, x)).Q

    check(fn, torch.ones(2), graphs=1)


def test_truth_of_a_tensor_leaves_a_whole_graph():
    def fn(x):
        return bool((x == 1).all()), (x > 0).any().item(), x + 1

    compiled = suture.compile(fn, backend="eager", fullgraph=True)
    for x in (torch.ones(2), torch.zeros(2)):
        assert compiled(x)[:2] == fn(x)[:2]


def test_what_a_thread_holds_is_read_in_the_thread_that_calls():
    local = threading.local()
    local.value = 5

    def fn(x):
        return x + local.value

    compiled = suture.compile(fn, backend="eager", fullgraph=True)
    assert compiled(torch.ones(1)).item() == 6
    local.value = 7
    assert compiled(torch.ones(1)).item() == 8


def test_module_with_a_table_of_a_class_of_its_own():
    class Asked(collections.OrderedDict):
        def __getitem__(self, key):
            return super().__getitem__(key)

    module = torch.nn.Linear(3, 3)
    module._parameters = Asked(module._parameters)
    compiled = suture.compile(module, backend="eager", fullgraph=True)
    assert torch.equal(compiled(torch.ones(3)), module(torch.ones(3)))


def test_objects_that_are_no_numbers_and_have_no_hash_say_so():
    class Unhashable:
        __hash__ = None

    class Number:
        @staticmethod
        def __float__():
            return 2.5

    held = Holder(1)

    def fn(x):
        answers = [
            float(Number()),
            hash(held) == hash(held),
            hash((1, Holder)) == hash((1, Holder)),
        ]
        acts = (
            lambda: float(Holder(1)),
            lambda: int(Holder(1)),
            lambda: -[1],
            lambda: abs("a"),
            lambda: hash([1]),
            lambda: hash(Unhashable()),
            lambda: iter(3, 4),
        )
        for act in acts:
            try:
                answers.append(act())
            except TypeError as error:
                answers.append(str(error))
        return x + 1, answers

    check(fn, torch.ones(2), graphs=1)
