# ruff: noqa: F821, F841  (programs as users write them)
"""with blocks: real managers on the stack, modes as they are at the break."""

from __future__ import annotations

import contextlib
import threading

import pytest
import torch

import suture
from tests.programs.breaks.comparing import check_program

LOG: list[object] = []
X = torch.tensor([1.0, 2.0])
LOCK = threading.Lock()


def modes():
    return (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.is_autocast_enabled("cpu"),
        str(torch.get_autocast_dtype("cpu")),
        str(torch.get_default_dtype()),
    )


@suture.disable
def look(*values):
    LOG.append((*values, *modes()))


class Manager:
    def __init__(self, name, swallow=False):
        self.name = name
        self.swallow = swallow

    def __enter__(self):
        LOG.append(("enter", self.name))
        return self

    def __exit__(self, kind, value, traceback):
        LOG.append(("exit", self.name, kind))
        return self.swallow


@contextlib.contextmanager
def made(name, swallow=None):
    LOG.append(("enter", name))
    try:
        yield name
    except Exception as error:
        LOG.append(("caught", name, type(error)))
        if swallow is None or not isinstance(error, swallow):
            raise
    finally:
        LOG.append(("exit", name))


@contextlib.contextmanager
def breaking(name):
    LOG.append(("enter", name))
    suture.graph_break()
    yield name
    suture.graph_break()
    LOG.append(("exit", name))


@suture.disable
def fails():
    raise ValueError("from outside")


def two_in_one_statement(x):
    with Manager("a") as a, Manager("b") as b:
        x = x + 1
        look(a.name, b.name)
        x = x * 2
    return x


def swallows(x):
    with Manager("a", swallow=True):
        x = x + 1
        fails()
        x = x * 100
    return x * 2


def swallows_after_the_break(x):
    with Manager("a", swallow=True):
        suture.graph_break()
        x = x + 1
        raise KeyError("traced")
    suture.graph_break()
    return x * 2


def swallowed_by_a_generator(x):
    with made("g", ValueError):
        x = x + 1
        fails()
    return x * 2


def not_swallowed_by_a_generator(x):
    try:
        with made("g", KeyError):
            x = x + 1
            fails()
    except ValueError:
        x = x * 3
    return x


def breaks_inside_the_generator(x):
    with breaking("g") as name:
        x = x + 1
        LOG.append(name)
    return x * 2


def return_from_the_block(x):
    for i in range(3):
        with Manager(i):
            x = x + i
            look(i)
            if i == 1:
                return x * 2
    return x


def continue_and_break_in_the_block(x):
    for i in range(4):
        with Manager(i):
            x = x + i
            look(i)
            if i == 0:
                continue
            if i == 2:
                break
    return x


def exit_stack(x):
    with contextlib.ExitStack() as stack:
        for i in range(3):
            stack.enter_context(Manager(i))
            x = x + i
            look(i)
        stack.push(Manager("pushed"))
        stack.callback(look, "callback")
        x = x * 2
    return x


def exit_stack_with_exception(x):
    with contextlib.ExitStack() as stack:
        stack.enter_context(Manager("outer", swallow=True))
        stack.enter_context(Manager("inner"))
        x = x + 1
        fails()
    return x * 2


def suppress(x):
    with contextlib.suppress(ValueError):
        x = x + 1
        fails()
    return x * 2


def closing(x):
    class Resource:
        def close(self):
            LOG.append("closed")

    with contextlib.closing(Resource()):
        x = x + 1
        look()
    return x * 2


def lock(x):
    with LOCK:
        x = x + 1
        look(LOCK.locked())
        x = x * 2
    look(LOCK.locked())
    return x


def no_grad(x):
    w = x.clone().requires_grad_()
    with torch.no_grad():
        y = w * 2
        look()
        z = w * 3
        with torch.enable_grad():
            suture.graph_break()
            u = w * 4
            look()
        look()
    look()
    v = w * 5
    return [t.requires_grad for t in (y, z, u, v)]


def set_grad_enabled(x):
    before = torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    look()
    y = x + 1
    torch.set_grad_enabled(before)
    look()
    return y


def no_grad_with_exception(x):
    try:
        with torch.no_grad():
            x = x + 1
            fails()
    except ValueError:
        look()
        x = x * 2
    return x


@torch.no_grad()
def decorated(x):
    look()
    return x + 1


def decorated_function(x):
    x = decorated(x * 2)
    look()
    return x + 1


def autocast(x):
    m = x.reshape(1, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        a = m @ m.T
        look()
        b = m @ m.T
        with torch.autocast("cpu", enabled=False):
            look()
            c = m @ m.T
        d = m @ m.T
    look()
    return [str(t.dtype) for t in (a, b, c, d, m @ m.T)]


def autocast_with_exception(x):
    m = x.reshape(1, 2)
    try:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            a = m @ m.T
            fails()
    except ValueError:
        look()
    return a, m @ m.T


def inference_mode(x):
    with torch.inference_mode():
        y = x + 1
        look()
        z = y * 2
    look()
    return y.is_inference(), z.is_inference(), (x + 1).is_inference()


def modes_in_inlined_calls(x):
    def inner(x):
        with torch.no_grad():
            x = x + 1
            suture.graph_break()
            look("inner")
            return x * 2

    y = inner(x)
    look("outer")
    return y


def manager_in_a_generator(x):
    def parts(x):
        with torch.no_grad():
            for i in range(2):
                suture.graph_break()
                yield x * i
        look("end")

    for y in parts(x):
        look("body")
        x = x + y
    return x


def nullcontext(x):
    with contextlib.nullcontext(x) as y:
        suture.graph_break()
        return y + 1


def manager_chosen_at_run_time(x):
    for manager in (Manager("a"), made("b"), contextlib.nullcontext(), torch.no_grad()):
        with manager:
            x = x + 1
            look()
    return x


PROGRAMS = [v for v in list(globals().values()) if getattr(v, "__module__", "") == __name__]
HELPERS = (modes, look, fails, made, breaking, decorated)
PROGRAMS = [v for v in PROGRAMS if not isinstance(v, type) and v not in HELPERS]


@pytest.mark.parametrize("fn", PROGRAMS, ids=lambda fn: fn.__name__)
def test_blocks_are_entered_and_left_as_in_eager(fn):
    check_program(fn, X, log=LOG)
