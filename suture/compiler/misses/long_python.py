"""Long plain Python: what can meet no tensor is traced for a short while only.

Tracing takes hundreds of times longer than running, and leaves variants that step through loops
more slowly than CPython does. Where a frame and what it can reach lead to no tensor there is
nothing to win, so after `config.tensor_free_limit` instructions Python runs it, and from then on
each state of that point that can meet none. The answer decides what is captured, never what is
computed.
"""

from __future__ import annotations

from typing import Any

from suture._core import UNBOUND, call_plainly
from suture.compiler.objects import Lazy
from suture.compiler.outside.tensor_free import is_tensor_free
from suture.runtime import Chain
from suture.runtime.points import PointData

_NUMBERS = frozenset({bool, int, float, complex, str, bytes, type(None), type(UNBOUND)})


def meets_no_tensor(chain: Chain, state: tuple[Any, ...]) -> bool:
    """Whether the frames of a state can meet no tensor to their end. An array that comes in from
    Python after a break was made by NumPy; one that a function got is the program's data."""
    parts = [Lazy(value, None) for value in state if value is not UNBOUND]
    return is_tensor_free(parts, arrays=chain[0].index > 0)


def note_in_vain(data: PointData, state: tuple[Any, ...]) -> None:
    """This state was traced in vain: the code of its function is remembered by the point."""
    data.plain = getattr(state[0], "__code__", None)


def runner(data: PointData, state: tuple[Any, ...]) -> Any:
    """What runs this state without compiling; None if it is to be compiled. Numbers and texts
    lead nowhere, so that a call with nothing else is not looked at again."""
    if data.plain is None or getattr(state[0], "__code__", None) is not data.plain:
        return None
    if not all(type(value) in _NUMBERS for value in state[1:]):
        if not meets_no_tensor(data.chain, state):
            return None
    outermost = len(data.chain) == 1 and data.chain[0].index == 0
    return call_plainly if outermost else data.interpreting
