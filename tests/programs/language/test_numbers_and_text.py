"""Numbers made of objects, text of objects, names that suture itself uses: as Python has them."""

from __future__ import annotations

import collections
import json
import re

import pytest
import torch

import suture
from tests.harness import check


class Named(int):
    def __str__(self):
        return "named"


class Counted(int):
    """An int whose methods say something else than its value."""

    def __int__(self):
        return 77

    def __bool__(self):
        return False

    def __index__(self):
        return 5

    def __eq__(self, other):
        raise RuntimeError("nobody compares it")

    __hash__ = int.__hash__


class Index:
    def __repr__(self):
        return "an index"

    def __index__(self):
        return 6


class Float:
    def __repr__(self):
        return "a float"

    def __float__(self):
        return 2.5


class Umlaut:
    def __repr__(self):
        return "ü"


class NoText:
    def __str__(self):
        return 3

    def __repr__(self):
        return 4

    def __format__(self, spec):
        return 5


class Plain:
    pass


class Text(str):
    pass


VALUES = [
    Named(3), Counted(4), Index(), Float(), Umlaut(), NoText(), Text("aé"), 3 + 4j, b"12", "7",
]  # fmt: skip
USES = [
    str, repr, ascii, format, int, float, complex, bool,
    lambda v: format(v, ">5"), lambda v: f"{v!a:>7}", lambda v: "%s|%r" % (v, v),
]  # fmt: skip


def attempt(x, use, value):
    try:
        return use(value), x + 1
    except Exception as error:
        return type(error), str(error), x + 2


@pytest.mark.parametrize("value", VALUES, ids=lambda v: type(v).__name__)
@pytest.mark.parametrize("use", range(len(USES)))
def test_numbers_and_text_of_objects(value, use):
    check(attempt, torch.ones(2), USES[use], value, graphs=None, breaks=None, recompiles=None)


def made_inside(x):
    out = []
    for make in (lambda: Named(3), lambda: Counted(4), lambda: Text("b"), Plain):
        for use in (bool, lambda v: format(v, ">3"), lambda v: ascii(v)[:3]):
            out.append(attempt(x, use, make()))
    return out


def test_numbers_and_text_of_objects_made_in_the_region():
    check(made_inside, torch.ones(2), graphs=None, breaks=None, recompiles=None)


def special_floats(x, real, imag):
    z = complex(real, imag)
    return z.real, z.imag, complex.__eq__(z, real), complex(imag)


def test_complex_of_numbers_that_change():
    fn = suture.compile(special_floats, backend="eager")
    for real in (1.0, 2.0, 0.0, -0.0, 3.0):
        for imag in (4.0, -0.0, 0.0):
            ours = fn(torch.ones(1), real, imag)
            assert repr(ours) == repr(special_floats(None, real, imag))


def zero_divisions(a, b):
    out = []
    for divide in (lambda: a // b, lambda: a % b, lambda: a / b, lambda: divmod(a, b)):
        try:
            out.append(divide())
        except Exception as error:
            out.append((type(error), str(error)))
    return out


def test_dividing_numbers_that_change_by_zero():
    fn = suture.compile(zero_divisions, backend="eager")
    pairs = [(1, 0), (2, 0), (3, 0), (1.5, 0), (2.5, 0), (3.5, 0.0), (1, 0.0), (4, 0j), (5j, 2)]
    for pair in pairs:
        assert fn(*pair) == zero_divisions(*pair)


def local_called_result(x):
    result = [x]

    def inner(y):
        locals()
        return y + 1

    result.append(inner(x))
    return result


def test_a_local_called_result_survives_a_frame_that_is_interpreted():
    check(local_called_result, torch.ones(2), graphs=None, breaks=None)


Pair = collections.namedtuple("Pair", "x y")


class OnlyDeletes:
    def __delete__(self, obj):
        obj.log.append("gone")


class Both:
    def __set__(self, obj, value):
        obj.log.append(value)

    def __delete__(self, obj):
        obj.log.append("deleted")


class Holder:
    one = OnlyDeletes()
    both = Both()

    def __init__(self):
        self.log = []

    @property
    def fixed(self):
        return 1


def attempts(x, h, p):
    out = []

    def put(obj, name):
        setattr(obj, name, x)

    for act, obj, name in (
        (put, p, "x"),
        (delattr, p, "x"),
        (put, h, "fixed"),
        (delattr, h, "fixed"),
        (put, h, "one"),
        (delattr, h, "one"),
        (put, h, "both"),
        (delattr, h, "both"),
    ):
        try:
            act(obj, name)
        except AttributeError as error:
            out.append(str(error))
    return out, h.log


def test_data_descriptors_take_what_is_set_and_deleted():
    def program(x):
        return attempts(x, Holder(), Pair(1, 2))

    check(program, torch.ones(2), graphs=None, breaks=None, recompiles=None)


def test_a_namedtuple_belongs_to_the_module_that_asked_for_it():
    def program(x):
        made = collections.namedtuple("Made", "a b")
        return made.__module__, x + 1

    check(program, torch.ones(2), graphs=None, breaks=None, recompiles=None)


def test_reversed_range_and_very_long_ranges():
    def program(x):
        a = reversed(range(0, 10**30, 3))
        b = iter(range(10**25))
        return next(a), next(a), next(b), type(a), [*reversed(range(4))], x + 1

    check(program, torch.ones(2), graphs=1)


def test_ints_too_long_to_print_are_constants():
    def program(x, n):
        m = n * 3
        return m % 7, x + 1, m

    import sys

    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        check(program, torch.ones(2), 10**700 + 1, graphs=1)
    finally:
        sys.set_int_max_str_digits(before)


def test_numbers_that_change_grow_beyond_sixty_four_bits():
    def fn(x):
        made = []
        for i in range(1, 80):
            suture.graph_break()
            n = 1 << i
            made.append((n, 2**i > n - 1, i * 2**60, n * n, (-i) ** 21))
        return x + 1, made

    check(fn, torch.ones(2), graphs=None, breaks=None, recompiles=None, interpreted=None)


def test_truth_values_of_numbers_that_change_count_as_numbers():
    def fn(x, n, y):
        same = (n > 3) == (n < 10), (n > 3) != True, (n > 3) < 5, n == True  # noqa: E712
        counted = (n > 3) + n, sum(n > k for k in range(5)), n + True, -(n > 3), (n > 3) * y
        logic = (n > 3) & 1, (n > 3) | (n < 3), True ^ (n > 2), [1, 2][n > 3]
        return x + n, same, counted, logic

    compiled = suture.compile(fn, backend="eager", dynamic=True)
    for n, y in ((5, 1.5), (6, 2.5), (2, 3.5), (1, 4.25)):
        assert repr(compiled(torch.ones(2), n, y)) == repr(fn(torch.ones(2), n, y))


def test_a_number_that_changes_has_the_attributes_of_numbers():
    def fn(x, n, y):
        inner = hasattr(n, "__dict__"), hasattr(y, "__slots__"), n.__class__, y.__class__
        return x + n, inner, n.numerator, y.real, y.imag, (n > 3).real, n.__doc__ == int.__doc__

    compiled = suture.compile(fn, backend="eager", dynamic=True)
    for n, y in ((5, 1.5), (6, 2.5), (2, 3.5)):
        assert repr(compiled(torch.ones(2), n, y)) == repr(fn(torch.ones(2), n, y))


def test_errors_of_the_library_keep_what_they_say_beside_their_arguments():
    def fn(x):
        said = []
        for pattern in ("(", "a**", "[z-a]"):
            try:
                re.compile(pattern)
            except re.error as error:
                said.append((error.msg, error.pos, error.pattern, error.args))
        try:
            json.loads("{1}")
        except json.JSONDecodeError as error:
            said.append((error.msg, error.pos, error.lineno, str(error)))
        return x + 1, said

    check(fn, torch.ones(2), graphs=None, breaks=None)


def test_patterns_compare_by_what_they_match():
    def fn(x):
        groups = re.compile("(?P<a>b)").groupindex
        same = re.compile("ab") == re.compile("ab"), re.compile("ab") == re.compile("ac")
        return x + 1, same, groups == {"a": 1}, {"a": 1} == groups, groups != {"a": 1}, groups == 3

    check(fn, torch.ones(2), graphs=None, breaks=None)


def test_the_text_of_a_tensor_is_from_before_it_was_written():
    def shown(x):
        return f"{x}"

    def fn(x):
        texts = [str(x[0]), shown(x), f"{x.sum():.1f}", "%s" % x]
        x.add_(1)
        return texts, x + 1

    check(fn, torch.ones(2), graphs=None, breaks=None)


@pytest.mark.parametrize("sign", ["+", "-", "*", "/", "//", "%", "**", "@", "&", "^", "<<", ">>"])
@pytest.mark.parametrize("left", ["(1, 2)", "[1]", "{1: 2}", "{1}", "len", "x.view(1, 2).max(0)"])
def test_operators_in_place_say_so_when_they_are_refused(sign, left):
    lines = [
        "def fn(x):",
        f"    value = {left}",
        "    try:",
        f"        value {sign}= None",
        "    except TypeError as error:",
        "        return x + 1, str(error)",
    ]
    made: dict[str, object] = {}
    exec("\n".join(lines), made)
    check(made["fn"], torch.ones(2), graphs=None, breaks=None)
