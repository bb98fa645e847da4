"""A compiled function in which there is nothing to capture."""

from __future__ import annotations

from typing import Any

import torch

import suture
from suture import events


def test_plain_python_in_many_pieces_is_left_to_python() -> None:
    def fn(count: int) -> int:
        total = 0
        for i in range(count):
            suture.graph_break()
            total += i
            suture.graph_break()
        suture.graph_break()
        return total

    seen: list[Any] = []
    stop = events.subscribe(seen.append)
    try:
        with suture.config.patch(empty_region_limit=2, strict=True):
            compiled = suture.compile(fn, backend="eager")
            assert [compiled(n) for n in (3, 4, 50)] == [fn(n) for n in (3, 4, 50)]
    finally:
        stop()
    assert any(isinstance(e, events.Interpreted) and "GB2093" in e.reason for e in seen)


def test_what_gets_a_tensor_is_compiled_however_much_plain_python_came_before() -> None:
    graphs = []

    def backend(module: Any, _: Any) -> Any:
        graphs.append(module)
        return module.forward

    def work(x: Any) -> Any:
        return x * 2 + 1

    def fn(x: Any, count: int) -> Any:
        for _ in range(count):
            suture.graph_break()
        return work(x)

    with suture.config.patch(empty_region_limit=1, strict=True):
        compiled = suture.compile(fn, backend=backend)
        assert torch.equal(compiled(torch.ones(2), 5), torch.full((2,), 3.0))
    assert graphs
