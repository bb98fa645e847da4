"""config.verify runs a whole function in eager mode and compares."""

from __future__ import annotations

import logging

import pytest
import torch

import suture
from suture.backends import Mismatch


def half(x):
    return x / 2


@suture.substitute_in_graph(half, skip_signature_check=True)
def _wrong_half(x):
    return x / 3


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(4)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return self.norm(x).relu()


def compiled(fn):
    suture.reset()
    return suture.compile(fn, backend="eager")


def test_a_difference_from_eager_is_told_with_the_line(caplog):
    def fn(x):
        return {"out": half(x) + 1}

    with suture.config.patch(verify=True), caplog.at_level(logging.WARNING, "suture"):
        compiled(fn)(torch.ones(3))
    assert "differs from eager" in caplog.text
    assert "the result['out'], from add" in caplog.text
    assert 'return {"out": half(x) + 1}' in caplog.text


def test_strict_raises_and_tells_what_became_of_an_argument():
    def fn(x, log):
        log.append(half(3))
        return x + 1

    with suture.config.patch(verify=True, strict=True), pytest.raises(Mismatch, match=r"log\[0\]"):
        compiled(fn)(torch.ones(3), [])


def test_what_agrees_is_run_as_without_it(capsys):
    def fn(x, items, box):
        items.append(len(items))
        box["x"] = x.add_(1)
        return torch.dropout(x, 0.5, True), items, float("nan")

    x, items, box = torch.ones(6), [1], {}
    torch.manual_seed(3)
    with suture.config.patch(verify=True, strict=True):
        made = compiled(fn)(x, items, box)
    torch.manual_seed(3)
    y, plain_items, plain_box = torch.ones(6), [1], {}
    plain = fn(y, plain_items, plain_box)
    assert torch.equal(made[0], plain[0]) and made[1] is items and items == plain_items == [1, 1]
    assert box["x"] is x and torch.equal(x, y)


def test_modules_count_their_calls_once():
    model = Model()
    plain = Model()
    wrapped = compiled(model)
    with suture.config.patch(verify=True, strict=True):
        for _ in range(5):
            x = torch.randn(8, 4, requires_grad=True) * 2
            assert torch.equal(wrapped(x), plain(x))
    assert model.calls == 5 and torch.equal(model.norm.running_mean, plain.norm.running_mean)


SEEN: list[int] = []


def test_a_function_that_changes_more_than_its_arguments_is_run_once():
    def fn(x):
        SEEN.append(1)
        return half(x)

    SEEN.clear()
    with suture.config.patch(verify=True, strict=True):
        compiled(fn)(torch.ones(2))
    assert SEEN == [1]


def test_an_exception_of_eager_is_a_difference():
    def fails(x):
        raise ValueError("eager only")

    suture.substitute_in_graph(fails, skip_signature_check=True)(lambda x: +x)
    with suture.config.patch(verify=True, strict=True):
        with pytest.raises(Mismatch, match="eager raises ValueError"):
            compiled(lambda x: fails(x) + 1)(torch.ones(2))
