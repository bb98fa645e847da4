"""What a program asks for: skip_frame, disable, fullgraph, error_on_graph_break."""

from __future__ import annotations

import pytest
import torch

import suture
from tests.programs.breaks.comparing import check_program
from tests.programs.breaks.test_guide import count

X = torch.ones(3)


@pytest.mark.parametrize("skip", [suture.skip_frame, torch._dynamo.skip_frame])
def test_only_the_frame_that_asks_is_skipped(skip):
    def inner(x):
        skip()
        y = x * 3
        return helper(y)

    def helper(x):
        return x - 1

    def fn(x):
        x = x + 1
        x = inner(x)
        return x + 2

    recorder = check_program(fn, X)
    assert count(recorder, "add") == 2
    assert count(recorder, "mul") == 0
    assert count(recorder, "sub") == 1


@pytest.mark.parametrize("brk", [suture.graph_break, torch._dynamo.graph_break])
def test_graph_break_by_either_name(brk):
    def fn(x):
        x = x + 1
        brk()
        return x * 2

    check_program(fn, X, graphs=2)


@pytest.mark.parametrize("off", [suture.disable, torch.compiler.disable, torch._dynamo.disable])
def test_disabled_functions_are_not_compiled(off):
    def helper(x):
        return x - 1

    @off
    def inner(x):
        return helper(x * 3)

    def fn(x):
        return inner(x + 1) + 2

    recorder = check_program(fn, X, graphs=2)
    assert count(recorder, "mul") == 0
    assert count(recorder, "sub") == 0


@pytest.mark.parametrize("off", [suture.disable, torch.compiler.disable, torch._dynamo.disable])
def test_disabled_functions_that_get_unpacked_arguments_are_not_compiled(off):
    def helper(x):
        return x - 1

    @off
    def inner(x, factor):
        return helper(x * factor)

    def fn(x):
        rest = {"factor": 3}
        return inner(*[x + 1], **rest) + 2

    recorder = check_program(fn, X, graphs=2)
    assert count(recorder, "mul") == 0
    assert count(recorder, "sub") == 0


@pytest.mark.parametrize("off", [suture.disable, torch._dynamo.disable])
def test_disabled_without_what_it_calls(off):
    def helper(x):
        return x - 1

    @off(recursive=False)
    def inner(x):
        return helper(x * 3)

    def fn(x):
        return inner(x + 1) + 2

    recorder = check_program(fn, X, graphs=3)
    assert count(recorder, "mul") == 0
    assert count(recorder, "sub") == 1


def test_fullgraph_raises_with_the_explanation():
    def fn(x):
        x = x + 1
        suture.graph_break("because")
        return x

    with pytest.raises(suture.exc.Unsupported) as caught:
        suture.compile(fn, backend="eager", fullgraph=True)(X)
    assert "GB0025" in str(caught.value)
    assert "because" in str(caught.value)
    assert "test_requests.py" in str(caught.value)


def test_fullgraph_of_a_function_without_breaks():
    def fn(x):
        for i in range(3):
            x = x + i
        return x

    assert suture.compile(fn, backend="eager", fullgraph=True)(X).tolist() == [4.0] * 3


@pytest.mark.parametrize("mark", [suture.error_on_graph_break, torch._dynamo.error_on_graph_break])
def test_breaks_are_errors_inside_a_block(mark):
    def fn(x):
        x = x + 1
        suture.graph_break()
        with mark(True):
            x = x * 2
            suture.graph_break()
        return x

    with pytest.raises(suture.exc.Unsupported):
        suture.compile(fn, backend="eager")(X)


def test_a_full_graph_is_full_whatever_the_program_says():
    def fn(x):
        x = x + 1
        with suture.error_on_graph_break(False):
            suture.graph_break()
            x = x * 2
        return x

    with pytest.raises(suture.exc.Unsupported):
        suture.compile(fn, backend="eager", fullgraph=True)(X)


def test_nested_blocks():
    def fn(x, fail):
        with suture.error_on_graph_break(True):
            x = x + 1
            with suture.error_on_graph_break(False):
                x = x * 2
                suture.graph_break()
                x = x + 1
            x = x * 3
            if fail:
                suture.graph_break()
        suture.graph_break()
        return x

    compiled = suture.compile(fn, backend="eager")
    assert compiled(X, False).tolist() == fn(X, False).tolist()
    with pytest.raises(suture.exc.Unsupported):
        compiled(X, True)


def test_as_a_decorator():
    @suture.error_on_graph_break(False)
    def lenient(x):
        suture.graph_break()
        return x + 1

    @suture.error_on_graph_break(True)
    def strict(x):
        return lenient(x * 2)

    def fn(x):
        return strict(x) + 1

    assert suture.compile(fn, backend="eager")(X).tolist() == [4.0] * 3

    @suture.error_on_graph_break(True)
    def breaks(x):
        suture.graph_break()
        return x

    with pytest.raises(suture.exc.Unsupported):
        suture.compile(lambda x: breaks(x + 1), backend="eager")(X)


def test_three_calls_deep_gives_two_graphs():
    def inner(x):
        x = x + 1
        suture.graph_break()
        return x * 2

    def middle(x):
        return inner(x + 1) * 3

    def outer(x):
        return middle(x * 2) + 4

    def fn(x):
        return outer(x) - 1

    check_program(fn, X, graphs=2)
