"""Guard programs without torch: accessors, checks, relations, expressions, descriptions."""

from __future__ import annotations

import itertools
import operator
import types

import pytest
from core_under_test import core

GuardProgram = core.GuardProgram
UNBOUND = core.UNBOUND
OPS = core.EXPR_OPS


def one(check, *children):
    """A program of one slot with one check."""
    return GuardProgram((("slot", 0, (check,), children),))


def reach(accessor, arg, expected):
    """A program that reaches `expected` from slot 0."""
    return GuardProgram((("slot", 0, (), ((accessor, arg, (("is", expected, 7),), ()),)),))


class Thing:
    shared = object()

    def __init__(self, **values):
        self.__dict__.update(values)


class Slotted:
    __slots__ = ("a",)


def test_slots_are_read_by_position():
    guards = GuardProgram((("slot", 1, (("is", None, 3),), ()),))
    assert guards.check(1, None)
    assert guards.failing(1, 2) == 3
    assert not guards.check(1)
    assert guards.failing(1) == 3


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (("is", Thing), Thing, object()),
        (("type", int), 3, True),
        (("int",), 3, True),
        (("float",), 3.0, 3),
        (("bool",), True, 1),
        (("unbound",), UNBOUND, None),
        (("len", 2), [1, 2], [1]),
        (("len", 2), {1: 1, 2: 2}, {}),
        (("len", 1), {1}, set()),
        (("len", 1), "a", 3),
        (("keys", ("a", 1)), {"a": 0, 1: 0}, {1: 0, "a": 0}),
        (("keys", (1,)), {1: 0}, {True: 0}),
        (("no_key", "a"), {"b": 1}, {"a": 1}),
        (("no_attr", "a"), Thing(b=1), Thing(a=1)),
        (("truth", lambda value: value > 3), 4, 3),
        (("truth", lambda value: value > 3), 4, "text"),
    ],
)
def test_a_check_holds_and_fails(check, good, bad):
    check = (*check, None)[:2] + (5,)
    guards = one(check)
    for _ in range(3):
        assert guards.check(good)
        assert guards.failing(good) is None
        assert guards.explain(good) is None
        assert not guards.check(bad)
        assert guards.failing(bad) == 5
        number, text = guards.explain(bad)
        assert number == 5
        assert text


NAN = float("nan")
CONSTANTS = [
    0, 1, True, False, None, 1.0, -0.0, 0.0, NAN, 1 + 0j, complex(0.0, -0.0), complex(0.0, 0.0),
    10**30, "a", b"a", "", (), (1,), (True,), (1.0,), (1, (2, -0.0)), (1, (2, 0.0)),
    frozenset(), frozenset({1}), frozenset({True}), frozenset({(1, 2), "a"}), range(3), range(0),
    range(2, 2), slice(1, None, 2), slice(True, None, 2), ..., NotImplemented,
]  # fmt: skip


def clone(value):
    """An equal object that is another one where there can be another."""
    match value:
        case bool() | None:
            return value
        case int() | float() | complex():
            return type(value)(repr(value).strip("()")) if value == value else -(-value)
        case str() | bytes():
            return value[:1] + value[1:]
        case tuple():
            return tuple(map(clone, value))
        case frozenset():
            return frozenset(map(clone, value))
        case range() | slice():
            return type(value)(value.start, value.stop, value.step)
    return value


def test_equals_is_by_exact_type_and_value():
    for a, b in itertools.product(range(len(CONSTANTS)), repeat=2):
        guards = one(("equals", CONSTANTS[a], 0))
        assert guards.check(clone(CONSTANTS[b])) == (a == b), (CONSTANTS[a], CONSTANTS[b])


def test_equals_is_identity_for_other_objects():
    class Equal:
        def __eq__(self, other):
            return True

        __hash__ = None

    value = Equal()
    assert one(("equals", value)).check(value)
    assert not one(("equals", value)).check(Equal())
    assert not one(("equals", [])).check([])


def functions():
    cell = object()

    def function(a, b=Thing, *, c=Slotted):
        return cell

    return function, cell


def test_accessors_reach_what_they_name():
    function, cell = functions()
    thing, key = Thing(a=object()), ("k", 1)
    slotted = Slotted()
    slotted.a = thing
    cases = [
        ("attr", "a", thing, thing.a),
        ("attr", "a", slotted, thing),
        ("attr", "shared", thing, Thing.shared),
        ("attr", "path", __import__("os"), __import__("os").path),
        ("dict", None, thing, thing.__dict__),
        ("item", key, {key: thing}, thing),
        ("index", 1, [1, thing], thing),
        ("index", -1, (1, thing), thing),
        ("cell", None, types.CellType(thing), thing),
        ("type", None, thing, Thing),
        ("getitem", 0, [thing], thing),
        ("getitem", 0, {0: thing}, thing),
        ("key", 1, {1: 2, Thing: 3}, Thing),
        ("call", lambda value: value.a, thing, thing.a),
        ("closure", 0, function, function.__closure__[0]),
        ("default", 0, function, Thing),
        ("kwdefault", "c", function, Slotted),
        ("code", None, function, function.__code__),
        ("mro_attr", "shared", Thing, Thing.shared),
    ]
    for accessor, arg, base, expected in cases:
        guards = reach(accessor, arg, expected)
        assert guards.check(base), accessor
        assert guards.failing(base) is None
        assert not guards.check(object()), accessor
        assert guards.failing(object()) == 7
        assert guards.explain(object())[0] == 7
        pinned = GuardProgram(
            (("const", base, (), ((accessor, arg, (("is", expected, 7),), ()),)),)
        )
        for _ in range(3):
            assert pinned.check(), accessor
    assert cell is function(1)


def test_what_is_missing_fails():
    for accessor, arg, base in [
        ("index", 2, [1]), ("index", -2, (1,)), ("item", 1, {}), ("key", 1, {1: 1}),
        ("cell", None, types.CellType()), ("closure", 0, len), ("default", 0, lambda: 0),
        ("kwdefault", "a", lambda: 0), ("attr", "nothing", 3), ("mro_attr", "nothing", int),
        ("dict", None, 3),
    ]:  # fmt: skip
        for root in (("slot", 0), ("const", base)):
            guards = GuardProgram(((*root, (), ((accessor, arg, (), (), None, 4),)),))
            assert not guards.check(base), accessor
            assert guards.failing(base) == 4


def test_ordered_dicts_are_seen_in_their_own_order():
    from collections import OrderedDict

    order = OrderedDict(a=1, b=2)
    for root in (("slot", 0), ("const", order)):
        guards = GuardProgram(
            ((*root, (("keys", ("a", "b"), 1),), (("key", 1, (("equals", "b", 2),), ()),)),)
        )
        assert guards.check(order)
        assert guards.check(order)
        order.move_to_end("a")
        assert not guards.check(order)
        order.move_to_end("b")
        assert guards.check(order)


def test_identities_between_nodes():
    guards = GuardProgram(
        tuple(("slot", i, (), (), i) for i in range(4)),
        same=((0, 1, 8),),
        distinct=(((0, 2, 3), 9),),
    )
    a, b, c, d = object(), object(), object(), object()
    assert guards.check(a, a, b, c)
    assert guards.check(a, a, d, c)
    assert guards.failing(a, b, c, d) == 8
    assert guards.failing(a, a, b, b) == 9
    assert guards.explain(a, a, a, b)[0] == 9
    assert not guards.check(a, a, b, a)
    assert guards.check(b, b, a, c)


def test_many_distinct_objects():
    n = 40
    guards = GuardProgram(
        tuple(("slot", i, (), (), i) for i in range(n)), distinct=((tuple(range(n)), 0),)
    )
    things = [object() for _ in range(n)]
    for i, j in itertools.combinations(range(n), 2):
        other = list(things)
        other[i] = other[j]
        assert guards.check(*things)
        assert not guards.check(*other)
    assert guards.check(*[object() for _ in range(n)])
    assert guards.check(*reversed(things))


BINARY = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "floordiv": operator.floordiv,
    "mod": operator.mod, "min": min, "max": max, "eq": operator.eq, "ne": operator.ne,
    "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "and": lambda a, b: bool(a and b), "or": lambda a, b: bool(a or b), "pow": operator.pow,
}  # fmt: skip


@pytest.mark.parametrize("name", BINARY)
def test_integer_operations_are_pythons(name):
    numbers = [-7, -3, -1, 0, 1, 2, 3, 7, 62, 2**31, 2**62, -(2**62), 2**63 - 1, -(2**63)]
    for a, b in itertools.product(numbers, repeat=2):
        if name == "pow" and abs(b) > 100:
            continue
        try:
            expected = BINARY[name](a, b)
        except ZeroDivisionError:
            expected = None
        if name == "pow" and b < 0:
            expected = None
        fits = expected is not None and -(2**63) <= expected < 2**63
        code = (OPS["symbol"], 0, OPS["symbol"], 1, OPS[name])
        compare = (OPS["const"], int(expected) if fits else 0, OPS["eq"])
        guards = GuardProgram(
            (("slot", 0, (), (), 10), ("slot", 1, (), (), 11)),
            exprs=((3, ((10, "int", None), (11, "int", None)), code + compare),),
        )
        assert guards.check(a, b) == fits, (a, b)
        assert fits or guards.failing(a, b) == 3


def test_unary_operations_and_operands_beyond_64_bits():
    nodes = (("slot", 0, (), (), 0),)
    symbols = ((0, "int", 0),)
    negated = GuardProgram(
        nodes,
        exprs=((0, symbols, (OPS["symbol"], 0, OPS["neg"], OPS["const"], -5, OPS["eq"])),),
    )
    assert negated.check(5)
    assert not negated.check(6)
    assert not negated.check(-(2**63))
    assert not negated.check(2**64)
    assert not negated.check(True)
    assert GuardProgram(nodes, exprs=((0, symbols, (1, 0, OPS["not"])),)).check(0)
    large = GuardProgram(nodes, exprs=((4, symbols, lambda n: n == 2**70),))
    assert large.check(2**70)
    assert large.explain(2) == (4, "does not hold for (2,)")


def test_python_expressions_get_floats_as_they_are():
    guards = GuardProgram(
        (("slot", 0, (), (), 0), ("slot", 1, (), (), 1)),
        exprs=((2, ((0, "float", None), (1, "int", None)), lambda x, n: x < n),),
    )
    assert guards.check(1.5, 2)
    assert guards.failing(2.5, 2) == 2
    assert not guards.check(1, 2)


def test_torch_state_calls_functions():
    state = {"deep": 1}
    guards = GuardProgram((), torch_state=((lambda: state["deep"], 1, 6), (globals, globals(), 7)))
    assert guards.check()
    state["deep"] = 1.0
    assert guards.explain() == (6, "<lambda>() was 1, is 1.0")
    del state["deep"]
    assert not guards.check()


def test_an_item_is_picked_by_an_index_of_the_state():
    inner = ("attr", "a", (("equals", 3, 9),), ())
    guards = GuardProgram(
        (
            ("slot", 0, (), (), 5),
            ("slot", 1, (("int",),), (), 6),
            ("pick", (5, 6), (("type", Thing, 8),), (inner,)),
        )
    )
    three, four = Thing(a=3), Thing(a=4)
    assert guards.check([three, four], 0)
    assert guards.check((four, three), 1)
    assert guards.check((four, three), -1)
    assert guards.failing([three, four], 1) == 9
    assert guards.failing([three, 4], 1) == 8
    for items, index in (([three], 1), ([three], 2**70), ({0: three}, 1), ([], 0)):
        assert guards.failing(items, index) == 8


def test_an_item_of_a_dict_is_picked_by_a_key_of_the_state():
    guards = GuardProgram(
        (
            ("slot", 0, (), (), 5),
            ("slot", 1, (), (), 6),
            ("pick", (5, 6), (("type", Thing, 8),), ()),
        )
    )
    three = Thing(a=3)
    for items, key in (({"a": three}, "a"), ({1: three}, 1), ({2**70: three}, 2**70)):
        assert guards.check(items, key)
    for items, key in (({"a": 4}, "a"), ({"a": three}, "b"), ([three], "a"), ({None: three}, None)):
        assert not guards.check(items, key)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([],), r"nodes\[0\]: nodes are a tuple"),
        (((("slot", 0, ()),),), r"nodes\[0\]: a node is"),
        (((("slat", 0, (), ()),),), r"nodes\[0\]: unknown accessor, not 'slat'"),
        (((("slot", "x", (), ()),),), r"nodes\[0\]: takes an int"),
        (((("slot", -1, (), ()),),), r"nodes\[0\]: takes an int from 0 on"),
        (((("attr", "a", (), ()),),), r"nodes\[0\]: slot and const are for roots"),
        (((("slot", 0, (), (("slot", 1, (), ()),)),),), r"nodes\[0\].children\[0\]: slot and"),
        (((("slot", 0, (), (("attr", 1, (), ()),)),),), r"children\[0\]: takes a str"),
        (((("slot", 0, (("is", 1, 0), ("iz", 1)), ()),),), r"nodes\[0\].checks\[1\]: unknown"),
        (((("slot", 0, (("type", 1),), ()),),), r"checks\[0\]: takes a type"),
        (((("slot", 0, (("len", -1),), ()),),), r"checks\[0\]: a length"),
        (((("slot", 0, (("tensor", 1),), ()),),), r"checks\[0\]: takes a TensorSpec"),
        (((("slot", 0, (("weak", {}),), ()),),), r"checks\[0\]: .*weakly"),
        (((("slot", 0, (("int", None, "a"),), ()),),), r"checks\[0\]: an id"),
        (((("slot", 0, (), (), "a"),),), r"nodes\[0\]: a label"),
        (((("slot", 0, (), (), 1), ("slot", 0, (), (), 1)),), r"nodes\[1\]: the label is used"),
        (((("pick", (1, 2), (), ()),),), r"nodes\[0\]: no node has this label"),
        (((("pick", (1,), (), ()),),), r"nodes\[0\]: takes \(label, label\)"),
        (((), ((1, 2),)), r"same\[0\]: no node has this label"),
        (((), (), (((4,),),)), r"distinct\[0\]: no node"),
        (((), (), (), ((0, (), ()),)), r"exprs\[0\]: the code does not leave one value"),
        (((), (), (), ((0, (), (99,)),)), r"exprs\[0\]: unknown operation"),
        (((), (), (), ((0, (), (2,)),)), r"exprs\[0\]: the code leaves its stack"),
        (((), (), (), ((0, (), (0,)),)), r"exprs\[0\]: the code ends"),
        (((), (), (), ((0, (), (1, 0)),)), r"exprs\[0\]: no integer symbol"),
        (((), (), (), ((0, ((1, "size", 0),), ()),)), r"exprs\[0\].symbols\[0\]: no node"),
        (((), (), (), ((0, ((1, "seize", 0),), ()),)), r"symbols\[0\]: unknown kind"),
        (((), (), (), (), ((1, 2),)), r"torch_state\[0\]: takes"),
    ],
)
def test_a_wrong_description_is_refused_with_its_place(arguments, message):
    with pytest.raises(ValueError, match=message):
        GuardProgram(*arguments)


def test_a_deep_description_is_refused_not_fatal():
    node = ("attr", "a", (), ())
    for _ in range(100_000):
        node = ("attr", "a", (), (node,))
    with pytest.raises(RecursionError):
        GuardProgram((("slot", 0, (), (node,)),))
    while node:
        node = node[3][0] if node[3] else None
