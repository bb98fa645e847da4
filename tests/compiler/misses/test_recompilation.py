"""Limits, reasons and stances."""

from __future__ import annotations

import logging

import pytest
import torch

import suture


def compiled_with(fn, *calls, **options):
    suture.reset()
    compiled = suture.compile(fn, backend="eager", **options)
    for args in calls:
        compiled(*args)
    return compiled


def test_reasons_read_as_the_user_would_write_them():
    compiled = compiled_with(
        lambda x, k, s: x * k,
        (torch.randn(4), 1, "a"),
        (torch.randn(7), 1, "a"),
        (torch.randn(1), 1, "a"),
        (torch.randn(7).double(), 1, "a"),
        (torch.randn(2, 2), 1, "a"),
    )
    assert suture.recompile_reasons(compiled) == [
        "x.size(0) == 4: was 4, is 7",
        "x.size(0) >= 2: is 1",
        "x.dtype == torch.float32: was torch.float32, is torch.float64",
        "x.dtype == torch.float64: was torch.float64, is torch.float32",
    ]


def test_reasons_with_more_than_one_number():
    compiled = compiled_with(
        lambda x, y: (x + 1, y + 1),
        *((torch.randn(a), torch.randn(b)) for a, b in ((3, 3), (5, 5), (5, 6))),
        dynamic=True,
    )
    assert suture.recompile_reasons(compiled)[-1] == (
        "y.size(0) == x.size(0): y.size(0) is 6, x.size(0) is 5"
    )


def test_the_limit_ends_in_the_interpreter_with_a_warning_that_names_the_guard(caplog):
    def fn(x, name):
        return x + len(name)

    with caplog.at_level(logging.WARNING, "suture"):
        compiled = compiled_with(fn, *((torch.ones(2), "x" * n) for n in range(12)))
    assert suture.stats().variants == 8
    (record,) = suture.stats().interpreted
    assert record.number == "GB0039"
    assert "name ==" in record.reason
    assert [r for r in caplog.records if "name ==" in r.getMessage()]
    assert torch.equal(compiled(torch.ones(2), "x" * 40), torch.ones(2) + 40)


def test_the_limit_can_be_given_to_compile_and_by_the_configuration():
    calls = [(torch.ones(2), "x" * n) for n in range(6)]
    compiled_with(lambda x, s: x + len(s), *calls, recompile_limit=3)
    assert suture.stats().variants == 3
    with suture.config.patch(recompile_limit=2):
        compiled_with(lambda x, s: x + len(s), *calls)
        assert suture.stats().variants == 2


def test_with_fullgraph_the_limit_is_an_error():
    fn = suture.compile(lambda x, s: x + len(s), backend="eager", fullgraph=True, recompile_limit=1)
    fn(torch.ones(2), "a")
    with pytest.raises(suture.exc.RecompileLimitExceeded, match=r"s == 'a'"):
        fn(torch.ones(2), "b")


def test_fail_on_recompile_raises_with_the_reason():
    compiled = compiled_with(lambda x: x * 2, (torch.ones(4),))
    with suture.set_stance("fail_on_recompile"):
        compiled(torch.ones(4))
        with pytest.raises(suture.exc.RecompileError, match="size.0. == 4: was 4, is 7"):
            compiled(torch.ones(7))
    compiled(torch.ones(7))


def test_eager_on_recompile_compiles_nothing():
    compiled = compiled_with(lambda x: x * 2, (torch.ones(4),))
    with suture.set_stance("eager_on_recompile"):
        assert torch.equal(compiled(torch.ones(7)), torch.ones(7) * 2)
    assert suture.stats().variants == 1


def test_force_eager_calls_the_plain_function():
    seen = []

    def fn(x):
        seen.append(torch.compiler.is_compiling())
        return x * 2

    compiled = compiled_with(fn)

    @suture.set_stance("force_eager")
    def main():
        return compiled(torch.ones(2))

    main()
    assert seen == [False]
    assert suture.stats().variants == 0


def test_eager_then_compile_compiles_on_the_second_call():
    compiled = compiled_with(lambda x: x * 2)
    with suture.set_stance("eager_then_compile"):
        compiled(torch.ones(2))
        assert suture.stats().variants == 0
        compiled(torch.ones(2))
        assert suture.stats().variants == 1


def test_an_unknown_stance_is_refused():
    with pytest.raises(ValueError, match="no stance is called 'eager'"):
        suture.set_stance("eager")


def test_the_stance_of_torch_counts_when_something_must_be_compiled():
    compiled = compiled_with(lambda x: x * 2, (torch.ones(4),))
    with torch.compiler.set_stance("fail_on_recompile"):
        compiled(torch.ones(4))
        with pytest.raises(suture.exc.RecompileError):
            compiled(torch.ones(7))
    compiled(torch.ones(7))
