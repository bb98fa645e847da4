"""Numbers of hooks: torch gives each hook another one, and only who looks at them can tell."""

from __future__ import annotations

import copy

import torch

import suture
from tests.harness import check, same


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.linear(x).tanh()


def hooked(factor: float, before: int = 1, after: int = 1) -> Block:
    block = Block()
    for _ in range(before):
        block.linear.register_forward_pre_hook(lambda module, args: (args[0] * factor,))
    for _ in range(after):
        block.linear.register_forward_hook(lambda module, args, result: result + factor)
    return block


def graphs_of(*blocks: torch.nn.Module, fn=lambda block, x: block(x)) -> int:
    """How many graphs are compiled for the blocks, each of which computes what it does plainly."""
    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    x = torch.randn(3, 4)
    for _ in range(2):
        for block in blocks:
            same(compiled(block, x), fn(block, x), "result")
    assert not suture.stats().interpreted
    return suture.stats().graphs


def test_blocks_with_hooks_of_other_numbers_share_a_graph():
    assert graphs_of(*(hooked(2.0) for _ in range(4))) == 1


def test_hooks_that_do_something_else_are_another_graph():
    assert graphs_of(hooked(2.0), hooked(3.0), hooked(2.0)) == 2
    assert graphs_of(hooked(2.0), hooked(2.0, before=2), hooked(2.0, after=0)) == 3


def test_a_hook_in_another_place_is_another_graph():
    def made(first: float, second: float, prepend: bool = False) -> Block:
        block = Block()
        for factor in (first, second):
            block.linear.register_forward_hook(
                lambda module, args, result, factor=factor: result * factor + factor,
                prepend=prepend,
            )
        return block

    # the dict's own order is the same in the first and the third, the order of the hooks is not
    assert graphs_of(made(2.0, 3.0), made(3.0, 2.0), made(2.0, 3.0, prepend=True)) == 2


def test_hooks_with_keywords_are_told_apart_from_those_without():
    def made(with_kwargs: bool) -> Block:
        block = Block()
        block.linear.register_forward_hook(
            lambda module, args, *more: more[-1] + len(more), with_kwargs=with_kwargs
        )
        return block

    assert graphs_of(made(False), made(True), made(False)) == 2


def test_who_looks_at_the_numbers_sees_them():
    def fn(block: Block, x: torch.Tensor):
        y = block(x)
        table = block.linear._forward_hooks
        return y, list(table), next(iter(table)) in table, len(table), 10**9 in table

    assert graphs_of(hooked(2.0), hooked(2.0), fn=fn) == 2


def test_a_hook_that_reads_its_number():
    def made() -> Block:
        block = Block()

        def hook(module, args, result):
            (number,) = module._forward_hooks
            return result + number

        block.linear.register_forward_hook(hook)
        return block

    assert graphs_of(made(), made()) == 2


def test_numbers_that_are_passed_on_are_those_of_the_module():
    def fn(block: Block, x: torch.Tensor):
        pairs = (*block.linear._forward_hooks.items(),)
        return block(x), [number for number, _ in pairs]

    first, second = hooked(2.0), hooked(2.0)
    graphs_of(first, second, fn=fn)
    check(lambda x: fn(first, x), torch.randn(3, 4))


def test_a_hook_that_is_set_in_the_region_counts():
    block = hooked(2.0)

    def fn(x: torch.Tensor):
        before = block(x)
        with block.linear.register_forward_hook(lambda module, args, result: result * 5):
            between = block(x)
        return before, between, block(x)

    check(fn, torch.randn(3, 4), calls=3)


def test_a_break_in_a_hook_and_behind_one():
    def made() -> Block:
        block = Block()
        block.linear.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
        block.linear.register_forward_pre_hook(lambda *_: suture.graph_break())
        block.linear.register_forward_hook(lambda module, args, result: result + 1)
        return block

    first, second = made(), made()
    assert graphs_of(first, second, copy.deepcopy(first)) <= 4


def test_hooks_that_are_set_before_each_call_do_not_break_where_sizes_change():
    suture.reset()
    block = Block()
    compiled = suture.compile(lambda x: block(x) * 2, backend="eager")
    for size in (3, 4, 5, 6):
        x = torch.randn(size, 4)
        with block.register_forward_hook(lambda module, args, result: result + 1):
            same(compiled(x), block(x) * 2, "result")
    stats = suture.stats()
    assert (stats.graphs, stats.breaks) == (2, [])
