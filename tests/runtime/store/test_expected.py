"""Variants that expect something of data: kept, and given up where the data is otherwise."""

from __future__ import annotations

import torch

import suture

ONES, MINUS = torch.ones(3), -torch.ones(3)

BRANCH = (
    "def fn(x):\n    y = x.sin()\n    if y.sum() < 0:\n        y = y * 7\n    return y.cos() + 1\n"
)


def calls(cache, program, inputs):
    """The program on each input; how many variants came from the cache, and how many graphs ran
    in the last call."""
    suture.reset()
    module = cache.load(program)
    with suture.config.patch(cache_dir=str(cache.folder)), cache.told():
        compiled = suture.compile(module.fn, backend="eager")
        for x in inputs:
            torch.testing.assert_close(compiled(x), module.fn(x))
    return cache.used(), sum("kept as" in line for line in cache.lines)


def test_a_branch_that_was_steady_is_expected_when_it_was_steady_here_too(cache):
    steady = [ONES] * 12
    used, kept = calls(cache, BRANCH, steady)
    assert (used, kept) == (0, 3), cache.lines
    assert calls(cache, BRANCH, [ONES]) == (2, 0), cache.lines
    assert any("not expected to go this way yet" in line for line in cache.lines), cache.lines
    assert calls(cache, BRANCH, steady) == (3, 0), cache.lines


def test_it_turns_in_the_second_process(cache):
    calls(cache, BRANCH, [ONES] * 12)
    turning = [ONES] * 8 + [MINUS, ONES, MINUS, MINUS, ONES, MINUS, MINUS, MINUS, ONES]
    used, _ = calls(cache, BRANCH, turning)
    assert used >= 3, cache.lines


def test_a_branch_that_went_another_way_here_is_not_expected_as_there(cache):
    calls(cache, BRANCH, [ONES] * 12)
    calls(cache, BRANCH, [MINUS] * 12)
    assert any("not expected to go this way yet" in line for line in cache.lines), cache.lines


ASSERTED = (
    "def fn(x):\n    y = x.exp()\n    if not (y > 0.5).all():\n        raise ValueError('small')\n"
    "    return y.log() * 2\n"
)


def outcome(fn, x):
    try:
        return fn(x).tolist()
    except ValueError as error:
        return str(error)


def test_a_check_that_raises(cache):
    used, kept = calls(cache, ASSERTED, [ONES, ONES])
    assert (used, kept > 0) == (0, True), cache.lines
    suture.reset()
    module = cache.load(ASSERTED)
    with suture.config.patch(cache_dir=str(cache.folder)), cache.told():
        compiled = suture.compile(module.fn, backend="eager")
        torch.testing.assert_close(compiled(ONES), module.fn(ONES))
        for x in (MINUS * 9, MINUS * 9, ONES):
            assert outcome(compiled, x) == outcome(module.fn, x)
    assert cache.used() > 0, cache.lines


STATE = (
    "class Net(nn.Module):\n"
    "    def __init__(self):\n        super().__init__()\n"
    "        self.register_buffer('ready', torch.tensor(True))\n"
    "    def forward(self, x):\n"
    "        y = x.sin()\n"
    "        if self.ready:\n            return y * 2\n"
    "        return y * 3\n"
    "net = Net()\n"
    "def fn(x):\n    return net(x)\n"
)


def test_what_modules_keep_may_be_otherwise(cache):
    _, kept = calls(cache, STATE, [ONES] * 2)
    assert kept > 0, cache.lines
    assert calls(cache, STATE, [ONES] * 2) == (kept, 0), cache.lines
    suture.reset()
    module = cache.load(STATE)
    with suture.config.patch(cache_dir=str(cache.folder)), cache.told():
        compiled = suture.compile(module.fn, backend="eager")
        for ready in (True, False, False, True, False):
            module.net.ready.fill_(ready)
            torch.testing.assert_close(compiled(ONES), module.fn(ONES))
    assert cache.used() == kept, cache.lines
