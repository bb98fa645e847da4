"""A real frame entered before any instruction, with the live locals only, finishes the same."""

import copy

import pytest

from suture.bytecode import decode
from tests.bytecode.interpreter import UNBOUND, run
from tests.bytecode.meanings import CASES

_core = pytest.importorskip("suture._core")


def real(values):
    return tuple(_core.UNBOUND if value is UNBOUND else value for value in values)


@pytest.mark.parametrize(("function", "args"), CASES)
def test_every_boundary_can_be_entered(function, args):
    missing = function.__code__.co_argcount - len(args)
    defaults = (function.__defaults__ or ())[-missing:] if missing else ()
    expected = function(*copy.deepcopy(args))
    decoded = decode(function.__code__)
    total = run(function, *copy.deepcopy(args), *defaults).steps
    entered = 0
    for steps in range(1, total):
        state = run(function, *copy.deepcopy(args), *defaults, steps=steps)
        inst = decoded.instructions[state.index]
        offset, nulls = decoded.entry_of(state.index)
        inside = not inst.boundary and not nulls
        if inside or inst.op in ("MAKE_CELL", "COPY_FREE_VARS"):
            continue
        state.check(inst)
        handled = {"handled": state.handled[-1]} if state.handled else {}
        stack = real(state.stack) + (_core.UNBOUND,) * nulls
        got = _core.enter(function, offset, real(state.locals), stack, **handled)
        assert got == expected, inst
        entered += 1
    assert entered > total // 3
