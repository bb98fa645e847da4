"""torch's caches of compiled graphs, for graphs with symbolic sizes.

An entry of these caches has guards, an expression on the symbols among the graph's arguments. The
graphs of suture have their symbols in the sizes of tensors, so that torch would find none, and what
the compiler has specialised would be lost. Here the symbols of all tensors count, and the guards of
an entry are all that was assumed of them: each guard, and the range that each symbol had.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from suture.torch_private.symbolic_shapes import NAMES as SHAPES
from suture.torch_private.table import Topic, is_missing

NAMES = Topic(
    __name__,
    "torch's caches for graphs with symbolic sizes",
    "2.11-2.15",
    {"GuardedCache": "torch._inductor.codecache.GuardedCache"},
)
_NEVER = "False"  # guards that nothing fits


def may_be_used(fake_mode: Any) -> bool:
    """Whether all that is assumed of the symbols of a trace can be said as guards: each stands for
    a number that is known now."""
    env: Any = getattr(fake_mode, "shape_env", None)
    if env is None or not {"backed_var_to_val", "var_to_range", "guards"} <= set(vars(env)):
        return False
    known = env.backed_var_to_val
    if not all(symbol in known and symbol.is_integer for symbol in env.var_to_range):
        return False
    cache = NAMES.get("GuardedCache")
    return not is_missing(cache) and hasattr(cache, "_filter_backed_symints")


@contextmanager
def guards_in_entries(fake_mode: Any) -> Iterator[None]:
    """While this lasts, entries of torch's caches that are made for graphs of this trace have
    guards on all symbols, and are found by those."""
    env, cache = fake_mode.shape_env, NAMES.get("GuardedCache")
    before = vars(cache)["_filter_backed_symints"]
    cache._filter_backed_symints = classmethod(lambda cls, inputs: symbols_among(inputs))
    env.get_pruned_guards = lambda symints: env.guards
    env.produce_guards_expression = lambda placeholders, **_: guards_on(env, placeholders)
    try:
        yield
    finally:
        cache._filter_backed_symints = before
        del env.get_pruned_guards, env.produce_guards_expression


def symbols_among(inputs: Sequence[Any]) -> list[torch.SymInt]:
    """The symbols among arguments and in the sizes, strides and offsets of tensors, each once, in
    an order that arguments with the same symbols have again."""
    found: dict[Any, torch.SymInt] = {}
    for value in inputs:
        numbers: tuple[Any, ...] = (value,)
        if isinstance(value, torch.Tensor):
            numbers = (*value.shape, *value.stride(), value.storage_offset())
        for number in numbers:
            # what was a symbol when it was made, whatever is known of it now
            if isinstance(number, torch.SymInt) and number.node._expr.is_Symbol:
                found.setdefault(number.node._expr, number)
    return list(found.values())


def guards_on(env: Any, symints: Sequence[torch.SymInt]) -> str | None:
    """What was assumed of symbols so far, as an expression on `L["t0"]`, `L["t1"]`...; what is
    assumed of others together with these cannot be said, and nothing fits then."""
    import sympy

    named = {
        one.node._expr: sympy.Symbol(f"L['t{i}']", integer=True) for i, one in enumerate(symints)
    }
    parts = [part for symbol, name in named.items() for part in _range(env, symbol, str(name))]
    printer = SHAPES.get("PythonPrinter")()
    for guard in env.guards:
        symbols = guard.expr.free_symbols
        if symbols <= set(named):
            parts.append(f"({printer.doprint(guard.expr.xreplace(named))})")
        elif symbols & set(named):
            return _NEVER
    return " and ".join(dict.fromkeys(parts)) or None


def _range(env: Any, symbol: Any, name: str) -> Iterator[str]:
    """The bounds of a symbol."""
    known = env.var_to_range.get(symbol)
    if known is not None and known.lower.is_Integer:
        yield f"{name} >= {int(known.lower)}"
    if known is not None and known.upper.is_Integer:
        yield f"{name} <= {int(known.upper)}"
