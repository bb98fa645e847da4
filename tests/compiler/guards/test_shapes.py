"""What was assumed about sizes and numbers is guarded."""

from __future__ import annotations

import torch

import suture
from tests.programs.dynamic.counting import compilations, guard_texts

rand = torch.randn


def test_a_size_that_changed_is_symbolic_and_zero_and_one_are_constants():
    calls = [(rand(n, 4),) for n in (3, 5, 7, 1, 0, 6, 3)]
    assert compilations(lambda x: x * 2, *calls) == [1, 2, 2, 3, 4, 4, 4]


def test_a_branch_on_a_size_is_guarded():
    def fn(x):
        return x * 2 if x.shape[0] > 5 else x + 1

    calls = [(rand(n),) for n in (3, 4, 7, 8, 2, 20)]
    assert compilations(fn, *calls) == [1, 2, 3, 3, 3, 3]


def test_equal_sizes_are_guarded_to_stay_equal():
    calls = [(rand(a), rand(b)) for a, b in ((3, 3), (5, 5), (5, 6), (7, 7), (7, 8))]
    assert compilations(lambda x, y: (x + 1, y * 2), *calls, dynamic=True) == [1, 1, 2, 2, 2]


def test_sizes_need_not_be_equal_without_duck_sizing():
    calls = [(rand(a), rand(b)) for a, b in ((3, 3), (5, 5), (5, 6), (7, 7), (7, 8))]
    with suture.config.patch(duck_sizes=False):
        counts = compilations(lambda x, y: (x + 1, y * 2), *calls, dynamic=True)
    assert counts == [1, 1, 1, 1, 1]
    assert compilations(lambda x, y: (x + 1, y * 2), *calls) == [1, 2, 2, 2, 2]


def test_strides_follow_from_sizes():
    calls = [(rand(a, b).t(),) for a, b in ((3, 4), (5, 6), (7, 8), (6, 6), (5, 3))]
    assert compilations(lambda x: x.contiguous() + x, *calls) == [1, 2, 2, 2, 2]


def test_another_layout_with_symbolic_sizes_compiles_again():
    calls = [(rand(3, 4),), (rand(5, 6),), (rand(8, 7),), (rand(8, 7).t(),), (rand(9, 6).t(),)]
    assert compilations(lambda x: x.reshape(-1) + 1, *calls) == [1, 2, 2, 3, 3]


def test_views_of_a_large_tensor():
    calls = [(rand(20, 10)[:n],) for n in (3, 5, 7, 9)]
    assert compilations(lambda x: x + 1, *calls) == [1, 2, 2, 2]
    calls = [(rand(20, 10)[n:, 1:],) for n in (3, 5, 7, 9)]
    assert compilations(lambda x: x + 1, *calls) == [1, 2, 2, 2]


def test_divisibility_is_guarded():
    def fn(x):
        return x.view(4, -1) if x.numel() % 4 == 0 else x

    calls = [(rand(n),) for n in (8, 12, 16, 13, 15, 24)]
    assert compilations(fn, *calls) == [1, 2, 2, 3, 3, 3]


def test_ints_that_change_are_symbolic_and_huge_ones_are_not():
    calls = [(rand(3), n) for n in (3, 5, -7, 1, 0, 2**70)]
    assert compilations(lambda x, n: x * n if n < 2**65 else x, *calls) == [1, 2, 2, 2, 2, 3]


def test_floats_that_change_are_symbolic_and_nan_is_not():
    values = (3.0, 5.0, 0.1, -0.0, float("nan"), float("inf"), 7.0)
    calls = [(rand(3), v) for v in values]
    assert compilations(lambda x, f: x * f + f, *calls) == [1, 2, 2, 2, 3, 3, 3]


def test_a_float_compared_is_guarded():
    def fn(x, f):
        return x * f if f > 0.5 else x + f

    calls = [(rand(3), v) for v in (0.6, 0.7, 0.8, 0.1, 0.2, 0.9)]
    assert compilations(fn, *calls) == [1, 2, 2, 3, 3, 3]


def test_guards_read_as_the_user_would_write_them():
    def fn(x, y):
        return x + y if x.size(0) * 2 > y.size(1) + 7 else x

    compiled = suture.compile(fn, backend="eager", dynamic=True)
    compiled(rand(8, 3), rand(8, 3))
    texts = guard_texts(compiled)
    assert "L['y'].size(0) == L['x'].size(0)" in texts
    assert "L['x'].size(0) >= 2" in texts
    assert "L['x'].stride(0) == L['x'].size(1)" in texts
    assert any("2*L['x'].size(0)" in t for t in texts), texts


def test_what_the_core_cannot_say_is_said_in_python():
    def fn(x):
        return x + 1 if (x.shape[0] / 3) > 2.5 else x - 1

    calls = [(rand(n),) for n in (3, 4, 7, 8, 9, 20)]
    assert compilations(fn, *calls) == [1, 2, 2, 3, 3, 3]


def test_strides_that_change_while_the_sizes_stay_are_symbolic():
    suture.reset()
    compiled = suture.compile(lambda x: (x * 2, x.stride()), backend="eager", fullgraph=True)
    for n in (2, 3, 4, 5):
        assert compiled(rand(4, n)[:, :1])[1] == (n, 1)
    assert suture.stats().variants == 2


def test_another_memory_format_is_another_variant():
    images = rand(2, 3, 4, 4), rand(2, 3, 4, 4).to(memory_format=torch.channels_last)
    calls = [(images[i],) for i in (0, 1, 0, 1)]
    assert compilations(lambda x: x.stride(), *calls) == [1, 2, 2, 2]


def test_what_a_view_is_a_view_of_has_no_symbols():
    x = torch.view_as_complex(rand(4, 2, requires_grad=True))
    doubled = suture.compile(lambda x: x * 2j, backend="eager", fullgraph=True)(x)
    assert torch.equal(doubled, x * 2j)
