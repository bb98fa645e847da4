"""warnings.warn inside a compiled function: captured, told from the right line."""

from __future__ import annotations

import warnings

import pytest
import torch

import suture
from tests.harness import check


def called(x):
    warnings.warn("called", FutureWarning, stacklevel=2)
    return x * 2


def warning(x):
    warnings.warn(f"one of {x.shape[0]}")
    warnings.warn("two", DeprecationWarning, stacklevel=2)
    return called(x) + called(x)


def told(fn):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(2):
            fn(torch.ones(2))
    return [(str(w.message), w.category, w.filename, w.lineno) for w in seen]


@pytest.mark.filterwarnings("ignore")
def test_warnings_are_no_breaks():
    check(warning, torch.ones(3))


def test_warnings_come_from_the_lines_that_gave_them():
    assert told(warning) == told(suture.compile(warning, backend="eager"))


def test_a_warning_is_shown_once_where_the_filter_says_so():
    def shown(fn):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("default")
            globals().pop("__warningregistry__", None)
            for _ in range(3):
                fn(torch.ones(2))
        return [str(w.message) for w in seen]

    def once(x):
        warnings.warn("once")
        return x + 1

    assert shown(once) == shown(suture.compile(once, backend="eager")) == ["once"]


def test_a_warning_that_is_an_error_is_raised_where_it_is_given():
    seen = []

    def fn(x):
        seen.append(1)
        warnings.warn("bad")
        seen.append(2)
        return x + 1

    compiled = suture.compile(fn, backend="eager")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled(torch.ones(2))
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="bad"):
            compiled(torch.ones(2))
    assert seen == [1, 2, 1]


def test_warnings_that_the_program_records_are_there_when_it_looks():
    def fn(x):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            warnings.warn("kept")
            y = x.sin()
            count = len(seen)
        return y, count, len(seen)

    check(fn, torch.ones(2), graphs=None, breaks=None)


def test_a_filter_of_a_block_counts_for_what_is_given_in_it():
    def fn(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.warn("hidden")
            y = x.sin()
        warnings.warn("shown")
        return y

    texts = [[one[0] for one in told(run)] for run in (fn, suture.compile(fn, backend="eager"))]
    assert texts[0] == texts[1]


def test_recorded_warnings_are_counted_behind_the_block():
    def fn(x):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            warnings.warn("kept")
            y = x.sin()
        return y, len(seen)

    check(fn, torch.ones(2), graphs=None, breaks=None)


def _shown(fn):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        fn(torch.ones(2))
    return [(w.filename, w.lineno) for w in caught if "once" in str(w.message)]


def _old():
    warnings.warn("once for each line", DeprecationWarning, stacklevel=2)


def test_a_warning_is_shown_once_for_each_line_however_often_it_is_compiled():
    def fn(x):
        for size in range(4):
            suture.graph_break()
            _old()
            x = x + torch.ones(size + 1).sum()
        return x

    want = _shown(fn)
    assert want and _shown(suture.compile(fn, backend="eager")) == want


def test_warnings_that_a_block_ignores_are_part_of_one_graph():
    def fn(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.warn("ignored", stacklevel=1)
            y = x.sin()
            warnings.warn("ignored too", DeprecationWarning, stacklevel=2)
        return y + 1

    def one_kind(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            warnings.warn("ignored", stacklevel=1)
        return x + 1

    check(fn, torch.ones(2), ops=[["sin", "add"]])
    check(one_kind, torch.ones(2), ops=[["add"]])


def test_a_block_of_filters_around_operations():
    def fn(x):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=UserWarning)
            y = x.sin()
        with warnings.catch_warnings(action="ignore"):
            return y.cos()

    check(fn, torch.ones(2), ops=[["sin", "cos"]])


def test_filters_are_as_before_behind_a_break_in_a_block():
    before = list(warnings.filters)

    def fn(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            y = x.sin()
            suture.graph_break()
            warnings.warn("ignored", stacklevel=1)
            z = y.cos()
        return z + 1

    check(fn, torch.ones(2), breaks=None, graphs=2)
    assert warnings.filters == before


def test_another_kind_than_the_ignored_is_given():
    def fn(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.warn("shown", UserWarning, stacklevel=1)
        return x + 1

    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    for _ in range(2):
        with pytest.warns(UserWarning, match="shown"):
            compiled(torch.ones(2))


def test_the_filters_that_python_starts_with_have_plain_texts():
    def fn(x):
        warnings.warn("old", DeprecationWarning, stacklevel=1)
        return x + 1

    with warnings.catch_warnings():
        warnings.filters[:] = [
            ("ignore", None, DeprecationWarning, __name__, 0),
            ("error", None, Warning, None, 0),
        ]
        warnings._filters_mutated()
        check(fn, torch.ones(2))
        warnings.filters[0] = ("ignore", None, DeprecationWarning, "another", 0)
        warnings._filters_mutated()
        with pytest.raises(DeprecationWarning):
            suture.compile(fn, backend="eager")(torch.ones(2))


def test_a_record_that_nobody_can_read_is_part_of_the_graph():
    def fn(x):
        with warnings.catch_warnings(record=True):
            length = len(x)
        with warnings.catch_warnings(record=True):
            x = x + length
        return x.sin()

    check(fn, torch.ones(3), ops=[["add", "sin"]])


def test_warnings_that_are_recorded_for_nobody_are_not_shown():
    def fn(x, at):
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            x = x + 1
            if at:
                suture.graph_break()
            warnings.warn("inside", stacklevel=1)
        warnings.warn("behind", stacklevel=1)
        return x.sin()

    def told(call, at):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            call(torch.ones(3), at)
        return [str(one.message) for one in seen]

    compiled = suture.compile(fn, backend="eager")
    for at in (False, True, False, True):
        assert told(compiled, at) == told(fn, at) == ["behind"]
