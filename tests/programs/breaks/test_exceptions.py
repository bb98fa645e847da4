# ruff: noqa: F821, F841  (programs as users write them)
"""Exceptions around breaks: handlers, context, cause, tracebacks, groups, as in eager.

PYTEST_DONT_REWRITE: asserts are programs here.
"""

from __future__ import annotations

import sys

import pytest
import torch

import suture
from tests.programs.breaks.comparing import check_program

LOG: list[object] = []
X = torch.tensor([1.0, 2.0])


@suture.disable
def fails(x):
    raise ValueError("from outside")


@suture.disable
def fails_from(x):
    try:
        raise KeyError("inner")
    except KeyError as error:
        raise ValueError("from outside") from error


@suture.disable
def look():
    """What sys.exc_info() shows to a function that Python runs."""
    error = sys.exc_info()[1]
    LOG.append(None if error is None else (type(error).__name__, str(error)))


def after_the_break(x):
    x = x * 2
    suture.graph_break()
    y = x + 1
    raise RuntimeError("late")


def in_an_inlined_call(x):
    def inner(x):
        x = x + 1
        fails(x)
        return x

    def middle(x):
        return inner(x * 2) + 1

    return middle(x) * 3


def by_the_trace_alone(x):
    def inner(x):
        y = x + 1
        raise KeyError("traced")

    x = x * 2
    return inner(x)


def by_the_graph(x):
    x = x + 1
    return x @ torch.ones(7)


def caught_of_the_graph(x):
    try:
        x = x + 1
        return x.reshape(7)
    except RuntimeError as error:
        LOG.append(type(error).__name__)
        suture.graph_break()
        return x * 2


def raise_from(x):
    try:
        fails(x)
    except ValueError as error:
        x = x + 1
        raise TypeError("wrapped") from error


def raise_from_none(x):
    try:
        fails(x)
    except ValueError:
        x = x + 1
        raise TypeError("wrapped") from None


def raise_in_handler(x):
    try:
        fails(x)
    except ValueError:
        x = x + 1
        raise TypeError("second")


def raise_traced_in_handler_of_traced(x):
    try:
        raise KeyError("first")
    except KeyError:
        suture.graph_break()
        x = x + 1
        raise TypeError("second")


def reraise(x):
    try:
        fails(x)
    except ValueError:
        x = x + 1
        suture.graph_break()
        raise


def reraise_traced(x):
    try:
        x = x * 2
        raise KeyError("traced")
    except KeyError:
        suture.graph_break()
        raise


def reraise_by_name(x):
    try:
        fails(x)
    except ValueError as error:
        saved = error
    suture.graph_break()
    raise saved


def cause_inside(x):
    return fails_from(x) + 1


def through_finally(x):
    try:
        x = x + 1
        fails(x)
    finally:
        LOG.append("finally")
        suture.graph_break()
        x = x * 2
        LOG.append("done")


def through_with(x):
    class_ = Swallow if LOG is None else Noting
    with class_():
        x = x + 1
        fails(x)
    return x


class Noting:
    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        LOG.append((kind, str(value), traceback is not None, value.__traceback__ is traceback))


class Swallow:
    def __enter__(self):
        return self

    def __exit__(self, kind, value, traceback):
        LOG.append(kind)
        suture.graph_break()
        return kind is ValueError


def swallowed(x):
    with Swallow():
        x = x + 1
        fails(x)
        x = x * 100
    return x * 2


def exc_info(x):
    look()
    try:
        fails(x)
    except ValueError:
        look()
        x = x + 1
        try:
            raise KeyError("inner")
        except KeyError:
            look()
            x = x * 2
        look()
    look()
    return x


def return_in_finally(x):
    try:
        x = x + 1
        fails(x)
    finally:
        suture.graph_break()
        return x * 2


def unmatched_handler(x):
    try:
        try:
            fails(x)
        except KeyError:
            x = x * 100
    except ValueError as error:
        LOG.append(str(error))
        x = x + 1
    return x


def matched_by_value_of_call(x):
    def kinds():
        suture.graph_break()
        return (KeyError, ValueError)

    try:
        fails(x)
    except kinds():
        x = x + 1
    return x


def loop_with_retries(x):
    tries = 0
    while True:
        try:
            x = x + 1
            tries += 1
            if tries < 3:
                fails(x)
            break
        except ValueError:
            LOG.append(tries)
            continue
        finally:
            x = x * 2
    return x


def group(x):
    try:
        x = x + 1
        raise ExceptionGroup("both", [ValueError("a"), TypeError("b")])
    except* ValueError as part:
        LOG.append([str(e) for e in part.exceptions])
        x = x * 2
        suture.graph_break()
        x = x + 3
    except* TypeError as part:
        LOG.append([str(e) for e in part.exceptions])
        x = x * 5
    return x


def group_with_a_rest(x):
    try:
        x = x + 1
        raise ExceptionGroup("both", [ValueError("a"), TypeError("b")])
    except* ValueError:
        x = x * 2
        suture.graph_break()


def group_of_a_naked_exception(x):
    try:
        fails(x)
    except* ValueError as part:
        LOG.append(type(part).__name__)
        x = x * 2
    return x


def exception_in_handler_of_inlined(x):
    def inner(x):
        try:
            fails(x)
        except KeyError:
            return x

    try:
        return inner(x + 1)
    except ValueError as error:
        LOG.append(str(error))
        suture.graph_break()
        return x * 2


def unbound_after_handler(x):
    try:
        fails(x)
    except ValueError as error:
        x = x + 1
    suture.graph_break()
    return error


def assertion(x):
    x = x + 1
    assert x.sum() < 0, "not negative"
    return x


def traced_assertion(x):
    x = x + 1
    suture.graph_break()
    assert x.dim() == 2, f"{x.dim()} dimensions"
    return x


PROGRAMS = [
    after_the_break, in_an_inlined_call, by_the_trace_alone, by_the_graph, caught_of_the_graph,
    raise_from, raise_from_none, raise_in_handler, raise_traced_in_handler_of_traced, reraise,
    reraise_traced, reraise_by_name, cause_inside, through_finally, through_with, swallowed,
    exc_info, return_in_finally, unmatched_handler, matched_by_value_of_call, loop_with_retries,
    group, group_with_a_rest, group_of_a_naked_exception, exception_in_handler_of_inlined,
    unbound_after_handler, assertion, traced_assertion,
]  # fmt: skip


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_exceptions_go_as_in_eager(fn):
    check_program(fn, X, log=LOG)


@pytest.mark.parametrize("fn", [exc_info, reraise, raise_in_handler], ids=lambda fn: fn.__name__)
def test_called_while_an_exception_is_handled(fn):
    def run(fn, x):
        try:
            raise LookupError("outer")
        except LookupError:
            return fn(x)

    compiled = suture.compile(fn, backend="eager")
    from tests.programs.breaks.comparing import Seen, compare

    for _ in range(2):
        compare(Seen(run, LOG, (fn, X)), Seen(run, LOG, (compiled, X)))


# ---- raised when the graph runs: the numbers decide, so tracing does not see it


def index_out_of_range(x):
    table = torch.ones(3)
    LOG.append("before")
    y = x * 2
    z = table[(y * 10).long()]
    LOG.append("after")
    return z + 1


def index_out_of_range_handled(x):
    table = torch.ones(3)
    try:
        LOG.append("before")
        z = table[(x * 10).long()]
        LOG.append("after")
        return z
    except IndexError as error:
        LOG.append(type(error).__name__)
        suture.graph_break()
        return x + 1


def index_out_of_range_in_a_call(x):
    def inner(x):
        suture.graph_break()
        y = x + 1
        return torch.ones(3)[(y * 10).long()]

    return inner(x * 2) + 1


@pytest.mark.parametrize(
    "fn",
    [index_out_of_range, index_out_of_range_handled, index_out_of_range_in_a_call],
    ids=lambda fn: fn.__name__,
)
def test_the_graph_raises_where_eager_does(fn):
    check_program(fn, X, log=LOG)


def test_a_graph_that_wrote_to_its_inputs_says_so():
    def fn(x, table):
        table.add_(1)
        return table[(x * 10).long()]

    compiled = suture.compile(fn, backend="eager")
    with pytest.raises(IndexError) as caught:
        compiled(X, torch.ones(3))
    assert "writes to its inputs" in caught.value.__notes__[0]
    files = [str(entry.path) for entry in caught.traceback]
    assert not any("<suture" in name for name in files)


def _nested(inner, outer):
    try:
        raise inner
    finally:
        raise outer


def _contexts(error):
    found = []
    while error is not None:
        found.append(error.args)
        error = error.__context__
    return found


def test_contexts_of_exceptions_from_outside_are_set_when_they_are_read():
    errors = [Exception(i) for i in range(5)]

    def fn(x):
        told = []
        try:
            raise errors[0]
        except Exception:
            for inner, outer in ((errors[1], errors[2]), (errors[3], errors[4])):
                try:
                    _nested(inner, outer)
                except Exception as error:
                    told.append(_contexts(error))
        return x + 1, told

    def fresh(call):
        for error in errors:
            error.__context__ = None
        return call(torch.ones(2))[1]

    want = fresh(fn)
    with suture.config.patch(strict=True):
        compiled = suture.compile(fn, backend="eager")
        assert fresh(compiled) == fresh(compiled) == want
