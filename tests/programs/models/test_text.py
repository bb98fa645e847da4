"""Texts with tensors in them are written only where somebody reads them."""

from __future__ import annotations

import torch

from tests.harness import check


def test_message_nobody_reads_is_not_written() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        message = f"the sum is {x.sum()}" + f" of {x.shape[0]}"
        if x.shape[0] > 100:
            raise ValueError(message)
        return x + 1

    check(fn, torch.randn(3), graphs=1)


def test_text_is_returned_with_its_values() -> None:
    def fn(x: torch.Tensor) -> tuple[str, str, torch.Tensor]:
        y = x * 2
        return f"<{y.sum():.3f}|{y!r}>", str(y), y + 1

    check(fn, torch.randn(3), graphs=1)


def test_text_in_a_caught_exception() -> None:
    def fn(x: torch.Tensor) -> tuple[str, torch.Tensor]:
        try:
            raise ValueError(f"bad: {x.max()}")
        except ValueError as error:
            told = str(error)
        return told, x + 1

    check(fn, torch.randn(3), graphs=1)


def test_key_made_of_a_tensor_breaks_where_it_is_looked_up() -> None:
    table = {"at_1": 1.0, "at_2": 2.0}

    def fn(x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        y = x.sin()
        return y * table[f"at_{i}"]

    check(fn, torch.randn(3), torch.tensor(2), graphs=2, breaks=("GB0059",))
