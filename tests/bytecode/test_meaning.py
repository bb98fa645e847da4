"""Canonical instructions mean what CPython does: programs run by both come out the same."""

import copy

from suture.bytecode import decode
from tests.bytecode.interpreter import run
from tests.bytecode.meanings import CASES, Base, Derived


def arguments(function, args):
    """All argument slots: the defaults filled in, copies where a program may change them."""
    missing = function.__code__.co_argcount - len(args)
    defaults = (function.__defaults__ or ())[-missing:] if missing else ()
    return copy.deepcopy(args) + defaults


def test_programs_compute_what_cpython_computes():
    seen = set()
    for function, args in CASES:
        expected = function(*copy.deepcopy(args))
        state = run(function, *arguments(function, args))
        assert state.result == expected, function
        seen |= {inst.op for inst in decode(function.__code__).instructions}
    assert len(seen) > 50


def test_super_takes_what_it_needs_from_explicit_instructions():
    """3.11's super() reads the frame, which this interpreter has none of."""
    ops = {inst.op for inst in decode(Derived.m.__code__).instructions}
    if "LOAD_SUPER_METHOD" in ops:
        assert run(Derived.m, Derived(), 4).result == 9
    decoded = decode(Derived.m.__code__)
    assert 0 in decoded.live(len(decoded.instructions) // 2)
    assert run(Base.m, Base(), 4).result == 5
