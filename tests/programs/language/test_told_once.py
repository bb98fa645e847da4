"""What Python tells a program, it tells once and from the program's own line."""

import operator
import re
import sys
import warnings

import torch

import suture
from tests.harness import check


def heard(fn, *args):
    """Result and warnings of a call: text, file and line of each."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = fn(*args)
    return result, [(str(w.message), w.filename, w.lineno) for w in seen]


def test_a_pattern_that_warns():
    def fn(x):
        pattern = re.compile("[a||b]")
        return x.sin(), pattern.pattern

    re.purge()
    eager = heard(fn, torch.ones(2))
    re.purge()
    ours = heard(suture.compile(fn, backend="eager"), torch.ones(2))
    assert eager[1] == ours[1]
    assert len(eager[1]) == 1


class Counting(type):
    asked: list[str] = []

    def __getattribute__(cls, name):
        Counting.asked.append(name)
        return type.__getattribute__(cls, name)


class FiledAsModule(metaclass=Counting):
    number = 3


def test_names_are_imported_from_an_object_once(monkeypatch):
    monkeypatch.setitem(sys.modules, "filed_as_module", FiledAsModule)

    def fn(x):
        from filed_as_module import number

        return x.sin() + number

    told = []
    for run in (fn, suture.compile(fn, backend="eager")):
        Counting.asked.clear()
        run(torch.ones(2))
        told.append(Counting.asked.count("number"))
    assert told[0] == told[1]


def test_a_shift_of_print_says_what_was_meant():
    def fn(x):
        try:
            print >> sys.stderr  # noqa: F633 - the mistake is what is tested
        except TypeError as error:
            return x.sin(), str(error)

    check(fn, torch.ones(2), graphs=None, breaks=None)


def test_a_reversed_iterator_over_a_list_that_got_shorter():
    def fn(x):
        items = list(range(10))
        backward = reversed(items)
        next(backward)
        hints = [operator.length_hint(backward)]
        items.append(11)
        hints.append(operator.length_hint(backward))
        items[1:] = []
        hints.append(operator.length_hint(backward))
        return x.sin(), hints, list(backward)

    check(fn, torch.ones(2))


def test_an_index_in_a_list_that_its_items_empty():
    def fn(x):
        items = []

        class Emptying:
            def __eq__(self, other):
                items.clear()
                return False

        items.extend([Emptying(), 1, 2])
        try:
            return x.sin(), items.index("a")
        except ValueError as error:
            return x.sin(), str(error)

    check(fn, torch.ones(2), graphs=None, breaks=None)
