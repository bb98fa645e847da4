"""Bodies that a graph calls several times (`invoke_subgraph`), and what torch need not find out of
them: that they write to nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from weakref import WeakSet

import torch
import torch.fx

# Where training is traced torch traces the body of each call again, twice, to see whether it writes
# to what it is given, and to raise if so. An operator with this set is not asked.
_MAY_WRITE = "_supports_training_input_mutation"  # seen in 2.12-2.15

_write_nothing: WeakSet[torch.fx.GraphModule] = WeakSet()


def writes_nothing(body: torch.fx.GraphModule) -> torch.fx.GraphModule:
    """The body, of which it is known from now on that it writes to nothing it is given."""
    _write_nothing.add(body)
    return body


@contextlib.contextmanager
def known_bodies(gm: torch.fx.GraphModule) -> Iterator[None]:
    """Meanwhile torch does not look whether bodies write, if `gm` calls bodies and all are known to
    write nothing. It belongs to the whole process: for whoever holds the lock of compilers."""
    operator = torch.ops.higher_order.invoke_subgraph
    calls = gm.graph.find_nodes(op="call_function", target=operator)
    before = getattr(operator, _MAY_WRITE, None)
    if before is None or not calls or not all(_is_known(gm, call) for call in calls):
        yield
        return
    setattr(operator, _MAY_WRITE, True)
    try:
        yield
    finally:
        setattr(operator, _MAY_WRITE, before)


def _is_known(gm: torch.fx.GraphModule, call: torch.fx.Node) -> bool:
    held = call.args[0]
    if not isinstance(held, torch.fx.Node) or held.op != "get_attr":
        return False
    body = getattr(gm, str(held.target), None)
    return isinstance(body, torch.fx.GraphModule) and body in _write_nothing
