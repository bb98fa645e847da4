# ruff: noqa: F821, F841  (programs as users write them)
"""Threads in one function, interrupts while Python runs the broken operation."""

from __future__ import annotations

import _thread
import threading
import time

import pytest
import torch

import suture

LOG: list[object] = []


@suture.disable
def outside(x):
    time.sleep(0.001)
    return x


def loop(x, n):
    total = 0
    for i in range(n):
        x = x + 1
        try:
            outside(x)
            if i % 3 == 2:
                raise ValueError(i)
        except ValueError as error:
            total += error.args[0]
    return x, total


@pytest.mark.parametrize("threads", [2, 4])
def test_threads_in_one_function_with_breaks(threads):
    suture.reset()
    compiled = suture.compile(loop, backend="eager")
    results: list[object] = [None] * threads
    errors: list[BaseException] = []

    def work(k):
        try:
            for _ in range(3):
                out, total = compiled(torch.full((2,), float(k)), 20)
                results[k] = (out.tolist(), total)
        except BaseException as error:
            errors.append(error)

    workers = [threading.Thread(target=work, args=(k,)) for k in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not errors, errors
    for k in range(threads):
        out, total = loop(torch.full((2,), float(k)), 20)
        assert results[k] == (out.tolist(), total)
    assert not suture.stats().interpreted


def test_generators_of_one_function_in_two_threads():
    def fn(x):
        for i in range(10):
            x = x + i
            outside(x)
            yield x

    compiled = suture.compile(fn, backend="eager")
    want = [y.tolist() for y in fn(torch.ones(2))]
    got: dict[int, list[object]] = {}

    def work(k):
        got[k] = [y.tolist() for y in compiled(torch.ones(2))]

    workers = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert got == {0: want, 1: want, 2: want}


def test_interrupt_while_python_runs_the_operation():
    @suture.disable
    def interrupted():
        _thread.interrupt_main()
        time.sleep(1)

    def fn(x):
        x = x + 1
        try:
            interrupted()
        except KeyboardInterrupt:
            LOG.append("interrupted")
            x = x * 2
        finally:
            LOG.append("finally")
        return x

    compiled = suture.compile(fn, backend="eager")
    for _ in range(2):
        LOG.clear()
        assert compiled(torch.ones(2)).tolist() == [4.0, 4.0]
        assert LOG == ["interrupted", "finally"]


def test_interrupt_that_nobody_handles_leaves_the_blocks():
    class Manager:
        def __enter__(self):
            LOG.append("enter")

        def __exit__(self, kind, value, traceback):
            LOG.append(kind)

    @suture.disable
    def interrupted():
        raise KeyboardInterrupt

    def fn(x):
        with Manager():
            x = x + 1
            interrupted()
        return x

    compiled = suture.compile(fn, backend="eager")
    for _ in range(2):
        LOG.clear()
        with pytest.raises(KeyboardInterrupt):
            compiled(torch.ones(2))
        assert LOG == ["enter", KeyboardInterrupt]


def test_interrupt_in_the_graph_leaves_the_blocks():
    def backend(module, inputs):
        calls = []

        def run(*args):
            calls.append(1)
            if len(calls) == 2:
                raise KeyboardInterrupt
            return module(*args)

        return run

    def fn(x):
        suture.graph_break()
        try:
            suture.graph_break()
            return x + 1
        finally:
            LOG.append("finally")

    compiled = suture.compile(fn, backend=backend)
    LOG.clear()
    assert compiled(torch.ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(KeyboardInterrupt):
        compiled(torch.ones(2))
    assert LOG == ["finally", "finally"]


def test_exit_of_the_program_passes():
    def fn(x):
        x = x + 1
        suture.graph_break()
        raise SystemExit(3)

    with pytest.raises(SystemExit) as caught:
        suture.compile(fn, backend="eager")(torch.ones(2))
    assert caught.value.code == 3


def test_generator_throw_from_outside():
    def fn(x):
        while True:
            try:
                x = yield x + 1
                suture.graph_break()
            except LookupError as error:
                LOG.append(type(error))
                suture.graph_break()
                x = x * 2

    def drive(gen):
        out = [next(gen), gen.send(torch.ones(2)), gen.throw(KeyError("a")), gen.throw(IndexError)]
        with pytest.raises(ValueError, match="out"):
            gen.throw(ValueError("out"))
        return [y.tolist() for y in out]

    compiled = suture.compile(fn, backend="eager")
    assert drive(compiled(torch.ones(2))) == drive(fn(torch.ones(2)))
