"""Marks on dimensions: what they promise, and what happens when it cannot be kept."""

from __future__ import annotations

import pytest
import torch
import torch._dynamo

import suture
from tests.programs.dynamic.counting import compilations, guard_texts


def marked(n, mark=suture.mark_dynamic, **bounds):
    x = torch.randn(n, 4)
    mark(x, 0, **bounds)
    return x


def calls_of(fn, *args, **options):
    suture.reset()
    compiled = suture.compile(fn, backend="eager", **options)
    counts = []
    for arg in args:
        torch.testing.assert_close(compiled(arg), fn(arg))
        counts.append(suture.stats().variants)
    return counts


def test_a_marked_size_is_symbolic_from_the_first_call_on():
    assert calls_of(lambda x: x * 2, marked(3), marked(5), torch.randn(7, 4)) == [1, 1, 1]


def test_marks_of_torch_count():
    args = [marked(n, torch._dynamo.mark_dynamic) for n in (3, 5)]
    assert calls_of(lambda x: x * 2, *args) == [1, 1]
    args = [marked(n, torch._dynamo.maybe_mark_dynamic) for n in (3, 5)]
    assert calls_of(lambda x: x * 2, *args) == [1, 1]


def test_negative_dimensions_count_from_the_end():
    x = torch.randn(4, 3)
    suture.mark_dynamic(x, -1)
    assert calls_of(lambda x: x * 2, x, torch.randn(4, 9)) == [1, 1]


def test_a_marked_size_that_the_program_fixes_is_an_error_with_line_and_guard():
    def fn(x):
        if x.shape[0] == 3:
            return x + 1
        return x

    compiled = suture.compile(fn, backend="eager")
    with pytest.raises(suture.exc.UserError) as error:
        compiled(marked(3))
    text = str(error.value)
    line = fn.__code__.co_firstlineno + 1
    assert "L['x'].size(0) is marked dynamic" in text
    assert f"line {line}" in text
    assert "== 3" in text
    assert __file__ in text


def test_maybe_mark_dynamic_allows_what_mark_dynamic_does_not():
    def fn(x):
        return x + 1 if x.shape[0] == 3 else x

    assert calls_of(fn, marked(3, suture.maybe_mark_dynamic)) == [1]


def test_a_static_mark_holds_for_every_new_size():
    args = [marked(n, suture.mark_static) for n in (3, 4, 5, 4)]
    assert calls_of(lambda x: x * 2, *args) == [1, 2, 3, 3]


def test_ranges_are_promises():
    x = marked(5, min=3, max=8)
    compiled = suture.compile(lambda x: x * 2 if x.shape[0] > 2 else x, backend="eager")
    compiled(x)
    assert "L['x'].size(0) <= 8" in guard_texts(compiled)
    before = suture.stats().variants
    compiled(torch.randn(9, 4))
    assert suture.stats().variants == before + 1


def test_a_program_that_narrows_a_promised_range_is_an_error():
    def fn(x):
        return x * 2 if x.shape[0] > 4 else x

    with pytest.raises(suture.exc.UserError, match="from 5 to 8"):
        suture.compile(fn, backend="eager")(marked(5, min=3, max=8))


@pytest.mark.parametrize("n", [0, 1])
def test_sizes_zero_and_one_cannot_be_marked_dynamic(n):
    with pytest.raises(suture.exc.UserError, match="sizes 0 and 1"):
        suture.compile(lambda x: x * 2, backend="eager")(marked(n))


def test_unbacked_sizes_take_zero_and_one_too():
    args = [marked(n, suture.mark_unbacked) for n in (3, 1, 0, 7)]
    assert calls_of(lambda x: x * 2 + 1, *args) == [1, 1, 1, 1]


def test_a_decision_on_an_unbacked_size_breaks_there_and_goes_on():
    def fn(x):
        y = x * 2
        if x.shape[0] > 3:
            return y + 1
        return y - 1

    args = [marked(n, suture.mark_unbacked) for n in (3, 7, 2)]
    calls_of(fn, *args)
    assert [b.number for b in suture.stats().breaks] == ["GB2010"]
    assert not suture.stats().interpreted


def test_bad_marks_are_refused_at_once():
    x = torch.randn(3, 4)
    with pytest.raises(IndexError, match="dimension 2 is out of range"):
        suture.mark_dynamic(x, 2)
    with pytest.raises(IndexError, match="dimension -3"):
        suture.mark_static(x, -3)
    with pytest.raises(ValueError, match="min=5 is greater than max=2"):
        suture.mark_dynamic(x, 0, min=5, max=2)
    with pytest.raises(ValueError, match="outside"):
        suture.mark_dynamic(x, 0, max=2)
    with pytest.raises(TypeError, match="takes a tensor"):
        suture.mark_dynamic(3, 0)
    with pytest.raises(TypeError, match="a dimension is an int"):
        suture.mark_dynamic(x, [True])


def test_sources_can_be_named_in_the_configuration():
    calls = [(torch.randn(n), k) for n, k in ((3, 5), (4, 6), (5, 7))]
    with suture.config.patch(dynamic_sources="L['x'], L['k']"):
        assert compilations(lambda x, k: x * k, *calls) == [1, 1, 1]


def test_dynamic_true_and_false():
    calls = [(torch.randn(n, 4), n, n / 2) for n in (3, 5, 7)]
    assert compilations(lambda x, k, f: x * k + f, *calls, dynamic=True) == [1, 1, 1]
    assert compilations(lambda x, k, f: x * k + f, *calls, dynamic=False) == [1, 2, 3]


def test_a_range_is_checked_at_each_call_that_has_the_mark():
    suture.reset()
    compiled = suture.compile(lambda x: x * 2, backend="eager")
    for n in (5, 7, 10):
        compiled(marked(n, torch._dynamo.mark_dynamic, min=4, max=10))
    for n in (3, 20):
        with pytest.raises(torch.fx.experimental.symbolic_shapes.ConstraintViolationError) as error:
            compiled(marked(n, torch._dynamo.mark_dynamic, min=4, max=10))
        assert isinstance(error.value, suture.exc.ConstraintViolation)
        assert f"is {n}, but mark_dynamic promised min=4, max=10" in str(error.value)
    assert suture.stats().variants == 1
    torch.testing.assert_close(compiled(torch.ones(20, 4)), torch.full((20, 4), 2.0))
    assert suture.stats().variants == 2
