# ruff: noqa: F821, F841  (programs as users write them)
"""Generators and coroutines: compiled themselves, consumed inside, resumed from outside."""

from __future__ import annotations

import asyncio

import pytest
import torch

import suture
from tests.harness import same
from tests.programs.breaks.comparing import check_program, describe

LOG: list[object] = []
X = torch.tensor([1.0, 2.0])


def both(fn, drive, *args, calls=2):
    """Drive the generators of the plain and of the compiled function; everything is the same."""
    suture.reset()
    compiled = suture.compile(fn, backend="eager")
    for _ in range(calls):
        seen = []
        for one in (fn, compiled):
            LOG.clear()
            try:
                with suture.config.patch(strict=True):
                    out = drive(one(*args))
                error = None
            except Exception as raised:
                out, error = None, describe(raised)
            seen.append((out, error, list(LOG)))
        same(seen[0], seen[1], "outcome")
    stats = suture.stats()
    assert not stats.interpreted, stats.interpreted
    return stats


def test_yield_in_the_compiled_function():
    def fn(x):
        for scale in (1.0, 2.0, 3.0):
            x = x * scale
            yield x.sin()
        LOG.append("end")

    stats = both(fn, list, X)
    assert stats.ops >= 4


def test_break_between_yields():
    def fn(x):
        y = x + 1
        suture.graph_break()
        yield y * 2
        y = y + 1
        suture.graph_break()
        LOG.append("second")
        yield y * 3

    assert both(fn, list, X).graphs >= 4


def test_values_sent_and_returned():
    def fn(x):
        got = yield x + 1
        while got is not None:
            x = x * got
            got = yield x
        return x - 1

    def drive(gen):
        out = [next(gen), gen.send(2.0), gen.send(3.0)]
        try:
            gen.send(None)
        except StopIteration as stop:
            out.append(stop.value)
        return out

    both(fn, drive, X)


def test_exception_thrown_in():
    def fn(x):
        try:
            yield x + 1
        except KeyError as error:
            LOG.append(error.args)
            x = x * 2
            suture.graph_break()
            yield x
        finally:
            LOG.append("finally")

    both(fn, lambda gen: [next(gen), gen.throw(KeyError("in")), *gen], X)
    both(fn, lambda gen: [next(gen), gen.throw(ValueError("in")), *gen], X)
    both(fn, lambda gen: [next(gen), gen.close()], X)


def test_exception_raised_between_yields():
    def fn(x):
        yield x + 1
        y = x * 2
        raise ValueError("inside")

    both(fn, list, X)


def test_stop_iteration_becomes_a_runtime_error():
    def fn(x):
        yield x + 1
        raise StopIteration("wrong")

    both(fn, list, X)


def test_yield_from_another_generator():
    def inner(x):
        got = yield x + 1
        LOG.append(got)
        return x * 2

    def fn(x):
        out = yield from inner(x)
        suture.graph_break()
        yield out + 1
        yield from [x, x * 3]

    both(fn, list, X)


def test_yield_while_an_exception_is_handled():
    def fn(x):
        try:
            raise KeyError("handled")
        except KeyError:
            x = x + 1
            yield x
            x = x * 2
            try:
                raise
            except KeyError as error:
                LOG.append(error.args)
        yield x

    both(fn, list, X)


def test_generator_from_outside_consumed_inside():
    def fn(gen, x):
        for y in gen:
            x = x + y
            suture.graph_break()
        return x

    def make():
        for i in range(3):
            yield X * i

    compiled = suture.compile(fn, backend="eager")
    same(fn(make(), X), compiled(make(), X), "result")
    assert not suture.stats().interpreted


def test_stop_iteration_value_of_a_consumed_generator():
    def layers(x):
        x = x + 1
        suture.graph_break()
        yield x
        return x * 2

    def fn(x):
        gen = layers(x)
        first = next(gen)
        try:
            next(gen)
        except StopIteration as stop:
            return first, stop.value + 1

    check_program(fn, X)


def test_generator_that_is_left_early():
    def numbers(x):
        try:
            for i in range(10):
                suture.graph_break()
                yield x * i
        finally:
            LOG.append("closed")

    def fn(x):
        gen = numbers(x)
        for y in gen:
            x = x + y
            if y.dim() == 1:
                break
        gen.close()
        return x

    check_program(fn, X, log=LOG)


def test_generator_handed_out():
    def fn(x):
        y = x + 1
        return (y * i for i in range(3))

    compiled = suture.compile(fn, backend="eager")
    same(list(fn(X)), list(compiled(X)), "items")


def test_send_into_a_broken_generator():
    def running(x):
        total = x
        while True:
            got = yield total
            suture.graph_break()
            total = total + got

    def fn(x):
        gen = running(x)
        next(gen)
        a = gen.send(x * 2)
        b = gen.send(x * 3)
        return a, b

    check_program(fn, X)


# ---- async


async def produce(x):
    await asyncio.sleep(0)
    return x + 1


async def plain(x):
    x = x * 2
    y = await produce(x)
    y = y * 3
    suture.graph_break()
    return y + 1


async def loops(x):
    async for item in stream(x):
        x = x + item
        LOG.append("turn")
    return x


async def stream(x):
    for i in range(3):
        x = x * 2
        await asyncio.sleep(0)
        yield x + i


class Manager:
    async def __aenter__(self):
        LOG.append("enter")
        await asyncio.sleep(0)
        return self

    async def __aexit__(self, kind, value, traceback):
        LOG.append(("exit", kind))
        await asyncio.sleep(0)
        return kind is ValueError


async def managed(x):
    async with Manager():
        x = x + 1
        suture.graph_break()
        x = x * 2
    async with Manager():
        raise ValueError("swallowed")
    return x + 3


async def gathered(x):
    a, b = await asyncio.gather(produce(x), produce(x * 2))
    return a + b


async def fails(x):
    x = x + 1
    await asyncio.sleep(0)
    raise KeyError("late")


@pytest.mark.parametrize("fn", [plain, loops, managed, gathered, fails], ids=lambda f: f.__name__)
def test_async_functions(fn):
    both(fn, asyncio.run, X)


def test_asynchronous_generator():
    async def collect(gen):
        return [item async for item in gen]

    both(stream, lambda gen: asyncio.run(collect(gen)), X)
