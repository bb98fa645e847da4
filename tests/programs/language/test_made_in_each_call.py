"""What a function makes in each call is made in each call, also where the call is answered while
tracing: iterators, lists and dicts of the library, and what calls back."""

from __future__ import annotations

import enum
import math
import operator
import re
import string
import struct
import typing

import pytest
import torch

import suture
from tests.harness import Graphs, check

WORD = re.compile(r"(?P<first>\w)\w*")
PAIRS = struct.Struct("<h")
BYTES = struct.pack("<3h", 1, 2, 3)


def tokens(x):
    return [m.group() for m in WORD.finditer("to be or")], x + 1


def tokens_of_the_module(x):
    return [m.span() for m in re.finditer(r"\w+", "to be or")], x + 1


def tokens_with_tensors(x):
    out = x
    for m in WORD.finditer("to be or"):
        out = out + len(m.group())
    return out


def tokens_taken_by_hand(x):
    it = WORD.finditer("to be or")
    return next(it).group(), x + 1, [m.group() for m in it]


def tokens_that_leave(x):
    it = WORD.finditer("to be or")
    next(it)
    return it, x + 1


def unpacked(x):
    return [v for (v,) in struct.iter_unpack("<h", BYTES)], x + 1


def unpacked_by_an_object(x):
    return [v for (v,) in PAIRS.iter_unpack(BYTES)], x + 1


def scanned(x):
    return [m.group() for m in iter(WORD.scanner("to").match, None)], x + 1


def letters_that_leave(x):
    it = iter("abc")
    next(it)
    return it, x + 1


def letters_by_name(x):
    return list("abc".__iter__()), list((1, 2).__iter__()), list(b"ab".__iter__()), x + 1


def parsed(x):
    return list(string.Formatter().parse("a{b}c")), x + 1


ITERATORS = [
    tokens, tokens_of_the_module, tokens_with_tensors, tokens_taken_by_hand, tokens_that_leave,
    unpacked, unpacked_by_an_object, scanned, letters_that_leave, letters_by_name, parsed,
]  # fmt: skip


def _run(fn, *args, calls=4):
    return check(
        fn, *args, graphs=None, breaks=None, recompiles=None, interpreted=None, calls=calls
    )


@pytest.mark.parametrize("fn", ITERATORS)
def test_an_iterator_gives_its_items_in_each_call(fn):
    compiled = _run(fn, torch.ones(2))
    assert len(compiled) <= 2


@pytest.mark.parametrize("fn", [tokens_that_leave, letters_that_leave])
def test_an_iterator_that_leaves_is_a_new_one_of_its_own_type(fn):
    import suture

    compiled = suture.compile(fn, backend="eager")
    first, second = compiled(torch.ones(2))[0], compiled(torch.ones(2))[0]
    assert first is not second
    assert type(first) is type(second) is type(fn(torch.ones(2))[0])
    assert len(list(first)) == len(list(second)) == 2


def test_a_tokenizer_is_one_graph():
    check(tokens_with_tensors, torch.ones(2), graphs=1, calls=3)


def _grown(made):
    made.append("more")
    return made


def found(x):
    return _grown(WORD.findall("to be")), _grown(re.findall("o", "foo")), x + 1


def split(x):
    return _grown(WORD.split("to be")), _grown(re.split(" ", "to be")), _grown("a b".split()), x + 1


def named_groups(x):
    groups = WORD.match("to").groupdict()
    groups["count"] = len(groups)
    return groups, x + 1


def groups_of_the_pattern(x):
    table = dict(WORD.groupindex)
    table["count"] = len(table)
    return table, x + 1


def translation(x):
    table = str.maketrans("a", "b")
    table["count"] = len(table)
    return table, x + 1


def annotated(a: int, b: str) -> None: ...


def hints(x):
    table = typing.get_type_hints(annotated)
    table["count"] = len(table)
    return table, x + 1


@pytest.mark.parametrize(
    "fn", [found, split, named_groups, groups_of_the_pattern, translation, hints]
)
def test_a_list_or_dict_of_a_folded_call_is_a_new_one_each_time(fn):
    _run(fn, torch.ones(2))


def test_the_function_of_a_substitution_runs_in_each_call():
    def program(x, log):
        def upper(m):
            log.append(m.group())
            print("seen", m.group())
            return m.group().upper()

        return WORD.sub(upper, "to be"), re.sub(r"\w", upper, "ab"), WORD.subn(upper, "x"), x + 1

    _run(program, torch.ones(2), [])


SEEN: list[str] = []


def shout(m):
    SEEN.append(m.group())
    return m.group().upper()


def test_a_global_function_of_a_substitution_runs_in_each_call():
    def program(x):
        SEEN.clear()
        return WORD.sub(shout, "to be"), re.sub(r"\w", shout, "ab"), list(SEEN), x + 1

    _run(program, torch.ones(2))


class Loud(int):
    def __index__(self):
        print("index")
        return 3

    def __str__(self):
        print("str")
        return "loud"

    def __format__(self, spec):
        print("format", spec)
        return "loud"

    def __floor__(self):
        print("floor")
        return 7

    def __hash__(self):
        print("hash")
        return 3

    def __eq__(self, other):
        print("eq")
        return True


class Level(enum.Enum):
    LOW = 1
    HIGH = 2

    def __str__(self):
        print("level")
        return "level"

    def __lt__(self, other):
        print("lt")
        return self.value < other.value

    @classmethod
    def _missing_(cls, value):
        print("missing", value)
        return cls.LOW


LOUD = Loud(5)


def text_of_it(x):
    return f"{LOUD}", f"{LOUD!s}", "{}".format(LOUD), "%s" % LOUD, format(LOUD, ">3"), x + 1  # noqa: UP031,UP032


def number_of_it(x):
    return hex(LOUD), math.floor(LOUD), operator.index(LOUD), struct.pack("<h", LOUD), x + 1


def member_of_it(x):
    return LOUD in (1, 2), (1, 2, 3, 4)[LOUD], {LOUD: 1}[3], "ab" * LOUD, x + 1


def text_of_an_enum(x):
    return f"{Level.LOW}", "{}".format(Level.LOW), "%s" % Level.HIGH, str(Level.LOW), x + 1  # noqa: UP031,UP032


def order_of_an_enum(x):
    return (
        Level.LOW < Level.HIGH,
        sorted([Level.HIGH, Level.LOW]),
        max(Level.LOW, Level.HIGH),
        x + 1,
    )


def missing_member(x):
    return Level(1), Level(9), x + 1


@pytest.mark.parametrize(
    "fn",
    [text_of_it, number_of_it, member_of_it, text_of_an_enum, order_of_an_enum, missing_member],
)
def test_methods_of_the_program_that_c_asks_run_in_each_call(fn):
    _run(fn, torch.ones(2))


def test_a_class_made_by_type_is_no_reason_to_compile_at_each_call():
    def fn(x):
        made = type("Made", (), {"factor": 3})
        return x * made.factor

    suture.reset()
    graphs = Graphs()
    compiled = suture.compile(fn, backend=graphs)
    for _ in range(6):
        assert compiled(torch.ones(2)).tolist() == [3.0, 3.0]
    assert len(graphs) == 2
    assert suture.stats().variants <= 4
