"""The dict of an object that the region changes is the changed one, however many have changed."""

from __future__ import annotations

import asyncio

import torch

import suture


class Box:
    def __init__(self, n):
        self.n = n


def same(fn, make):
    """Runs a function on objects of its own, eager and compiled, and compares what comes out."""
    eager, compiled = make(), make()
    x = torch.ones(2)
    run = suture.compile(fn, backend="eager")
    for _ in range(2):
        expected, found = fn(x, *eager), run(x, *compiled)
        assert torch.equal(expected[0], found[0]) and expected[1:] == found[1:]
    assert [vars(b) for b in eager] == [vars(b) for b in compiled]


def test_dicts_taken_before_between_and_behind_changes():
    def fn(x, *boxes):
        first = boxes[0].__dict__
        for i, box in enumerate(boxes):
            box.n = box.n + i
        middle = boxes[5].__dict__
        middle["more"] = first["n"]
        boxes[5].n += 1
        return x + middle["n"], first["n"], boxes[5].more, boxes[7].__dict__["n"]

    same(fn, lambda: [Box(i) for i in range(9)])


def test_two_objects_with_one_dict():
    def make():
        one, other = Box(1), Box(2)
        other.__dict__ = one.__dict__
        return one, other

    def fn(x, one, other):
        one.n = one.n + 1
        return x * 2, one.__dict__["n"]

    same(fn, make)


def test_a_changed_object_whose_dict_nobody_can_read():
    loop = asyncio.new_event_loop()
    try:
        box, waiting = Box(3), asyncio.Future(loop=loop)

        def fn(x, box, waiting):
            waiting._log_destroy_pending = False
            box.n = box.n + 1
            return x + box.__dict__["n"]

        run = suture.compile(fn, backend="eager")
        assert run(torch.ones(2), box, waiting)[0] == 5
        assert box.n == 4
    finally:
        loop.close()
