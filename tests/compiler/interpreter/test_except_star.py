"""`except*`: groups that are made while tracing are split and joined there; real ones by Python."""

import sys
import traceback

import pytest
import torch

import suture
from tests.harness import check


def two():
    return ExceptionGroup("two", [ValueError(1), KeyError(2)])


def frames_of(exc):
    return [(entry.name, entry.lineno) for entry in traceback.extract_tb(exc.__traceback__)]


def test_each_clause_takes_its_part():
    def fn(x):
        y = x.sin()
        try:
            raise two()
        except* ValueError as group:
            y = y + len(group.exceptions)
        except* KeyError:
            y = y * 2
        return y.cos()

    check(fn, torch.ones(2), ops=[["sin", "add", "mul", "cos"]])


def test_a_clause_reached_by_nothing_costs_nothing():
    def fn(x):
        y = x.sin()
        try:
            y = y + 1
        except* ValueError:
            y = y + 3
        return y.cos()

    check(fn, torch.ones(2), ops=[["sin", "add", "cos"]])


def test_a_naked_exception_is_put_into_a_group():
    def fn(x):
        y, seen = x.sin(), None
        try:
            raise ValueError(3)
        except* ValueError as group:
            y = y + 1
            seen = (type(group), str(group), repr(group), group.__context__, group.args[1][0].args)
        return y.cos(), seen

    check(fn, torch.ones(2), ops=[["sin", "add", "cos"]])


def test_nested_groups_are_split_as_deep_as_they_go():
    def fn(x):
        y, seen = x.sin(), []
        inner = ExceptionGroup("in", [TypeError(1), ValueError(3)])
        try:
            raise ExceptionGroup("out", [ValueError(1), KeyError(2), inner])
        except* ValueError as group:
            y = y + 1
            seen.append(repr(group))
        except* (TypeError, KeyError) as group:
            y = y * 2
            seen.append(repr(group))
        return y.cos(), seen

    check(fn, torch.ones(2), ops=[["sin", "add", "mul", "cos"]])


def test_what_no_clause_takes_goes_on():
    def fn(x):
        y = x.sin()
        try:
            try:
                raise two()
            except* ValueError:
                y = y + 1
        except ExceptionGroup as left:
            y = y * 3
            return y, repr(left), left.__suppress_context__, frames_of(left)

    check(fn, torch.ones(2), graphs=None, breaks=None)


def test_it_leaves_the_function_with_the_same_traceback():
    def fn(x):
        y = x.sin()
        try:
            raise ExceptionGroup("out", [ValueError(1), ExceptionGroup("in", [KeyError(2)])])
        except* ValueError:
            y = y + 1
        return y

    told = []
    for run in (fn, suture.compile(fn, backend="eager")):
        with pytest.raises(ExceptionGroup) as found:
            run(torch.ones(2))
        told.append([repr(found.value), frames_of(found.value)[1:]])
    assert told[0] == told[1]


def test_raising_again_and_raising_anew_in_clauses():
    def fn(x):
        y = x.sin()
        try:
            raise two()
        except* ValueError:
            y = y + 1
            raise
        except* KeyError:
            raise OSError("other")

    def anew(x):
        try:
            raise two()
        except* ValueError as group:
            raise group
        except* KeyError:
            raise

    for program in (fn, anew):
        told = []
        for run in (program, suture.compile(program, backend="eager")):
            with pytest.raises(ExceptionGroup) as found:
                run(torch.ones(2))
            exc = found.value
            inner = [(repr(e), repr(e.__context__), frames_of(e)) for e in exc.exceptions]
            told.append((repr(exc), frames_of(exc)[1:], repr(exc.__context__), inner))
        assert told[0] == told[1]


def test_a_cause_and_notes_are_on_every_part():
    def fn(x):
        y, seen = x.sin(), []
        try:
            group = two()
            group.__notes__ = ["noted"]
            raise group from OSError(3)
        except* ValueError as part:
            y = y + 1
            part.__notes__.append("more")
            seen.append((repr(part.__cause__), part.__notes__, part.message))
        except* KeyError as part:
            seen.append((repr(part.__cause__), part.__notes__, part.__suppress_context__))
        return y.cos(), seen

    check(fn, torch.ones(2), ops=[["sin", "add", "cos"]])


def test_what_is_handled_is_the_part():
    def fn(x):
        y, seen = x.sin(), []
        try:
            raise two()
        except* ValueError:
            suture.graph_break()
            seen.append(repr(sys.exception()))
            y = y + 1
        except* KeyError:
            y = y * 2
        seen.append(sys.exception())
        return y.cos(), seen

    check(fn, torch.ones(2), graphs=None, breaks=None)


def test_capture_goes_on_behind_a_break_in_a_clause():
    def fn(x):
        y = x.sin()
        try:
            raise two()
        except* ValueError:
            y = y + 1
            suture.graph_break()
            y = y + 2
        except* KeyError:
            y = y * 2
        return y.cos()

    graphs = check(fn, torch.ones(2), graphs=4, breaks=("GB0025", "GB2055", "GB2055"))
    assert graphs.ops() == [["sin", "add"], ["add"], ["mul"], ["cos"]]


def test_a_break_in_every_clause_of_inlined_calls():
    def inner(y):
        try:
            suture.graph_break()
            raise two()
        except* ValueError:
            y = y + 1
            suture.graph_break()
        return y

    def fn(x):
        y, seen = x.sin(), []
        try:
            y = inner(y)
        except* KeyError as group:
            y = y * 3
            seen.append((repr(group), frames_of(group)))
        return y.cos(), seen

    check(fn, torch.ones(2), graphs=None, breaks=None)


class Own(ExceptionGroup):
    derived: list[int] = []

    def derive(self, excs):
        self.derived.append(len(excs))
        return Own(self.message, excs)


def test_groups_of_classes_of_the_program_are_split_by_their_own_methods():
    def fn(x):
        y, seen = x.sin(), []
        try:
            try:
                raise Own("a", [ValueError(1), KeyError(2), TypeError(3)])
            except* ValueError:
                y = y * 3
            except* KeyError:
                y = y - 3
                raise
        except* (KeyError, TypeError) as group:
            y = y * 5
            seen.append((type(group), repr(group)))
        counts = list(Own.derived)
        Own.derived.clear()
        return y.cos(), seen, counts

    check(fn, torch.ones(2), graphs=None, breaks=None)


def test_groups_from_outside_differ_from_call_to_call():
    def fn(x, group):
        y = x.sin()
        try:
            raise group
        except* ValueError as part:
            y = y + len(part.exceptions)
        except* KeyError:
            y = y * 2
        return y.cos()

    compiled = suture.compile(fn, backend="eager")
    x = torch.ones(2)
    for make in (two, lambda: ValueError(3), lambda: ExceptionGroup("", [KeyError(1)]), two):
        torch.testing.assert_close(compiled(x, make()), fn(x, make()))


def test_what_cannot_stand_behind_except_star():
    def fn(x, kind):
        y = x.sin()
        try:
            try:
                raise two()
            except* kind:
                y = y + 1
        except TypeError as error:
            return y * 2, str(error), repr(error.__context__)

    for kind in (ExceptionGroup, 3, (ValueError, int)):
        check(fn, torch.ones(2), kind, graphs=None, breaks=None)


def test_methods_of_groups():
    def fn(x):
        group = ExceptionGroup("g", [ValueError(1), ExceptionGroup("h", [KeyError(2)])])
        parts = group.split(KeyError)
        whole = group.subgroup(Exception)
        made = group.derive([OSError()])
        same = (whole is group, group.subgroup(OSError), group.exceptions is group.exceptions)
        return x.sin(), [repr(p) for p in (*parts, made)], same, group

    def compiled_and_plain(x):
        y, texts, same, group = fn(x)
        return y, texts, same, repr(group), group.args[1] is group.args[1]

    check(compiled_and_plain, torch.ones(2))


def test_a_list_that_changes_behind_the_making_of_a_group():
    def fn(x):
        members = [ValueError(1)]
        group = ExceptionGroup("g", members)
        members.append(KeyError(2))
        return x.sin(), len(group.exceptions), len(group.args[1]), group

    for run in (fn, suture.compile(fn, backend="eager")):
        _, made, held, group = run(torch.ones(2))
        assert (made, held, len(group.exceptions), len(group.args[1])) == (1, 2, 1, 2)


def test_generators_yield_in_clauses():
    def numbers(x):
        try:
            yield x + 1
            raise two()
        except* ValueError:
            yield x + 2
        except* KeyError:
            yield x + 3

    def fn(x):
        return [part.cos() for part in numbers(x.sin())]

    check(fn, torch.ones(2), graphs=None, breaks=None)
    check(numbers, torch.ones(2), graphs=None, breaks=None)


def test_parts_of_a_group_have_its_traceback():
    def fn(x):
        y = x.sin()
        try:
            raise ExceptionGroup("g", [ValueError(1), ExceptionGroup("h", [KeyError(2)])])
        except ExceptionGroup as group:
            parts = group.split(KeyError)
            same = [part.__traceback__ is group.__traceback__ for part in parts]
            again = parts[0].with_traceback(group.__traceback__)
            return y.cos(), same, again.__traceback__ is group.__traceback__

    check(fn, torch.ones(2), ops=[["sin", "cos"]])
