"""Assertions that code of Inductor makes about its inputs, left out where they are known to hold.

At each call the code compares the sizes and strides of each input with those it was compiled for,
which takes about a microsecond an input. They are known where guards were checked just before (the
inputs of a forward or inference graph), and where Inductor itself has made them or passes such
inputs on (the inputs of a body that a graph calls several times). Assertions about what operators
give, and about the inputs of a backward graph, are made as before.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from suture.torch_private.replacement import Replacement
from suture.torch_private.table import Topic, is_missing

NAMES = Topic(
    __name__,
    "calling code of Inductor without assertions about its inputs",
    "2.11-2.15",
    {
        "wrapper": "torch._inductor.codegen.wrapper",
        "ir": "torch._inductor.ir",
        "virtualized": "torch._inductor.virtualized.V",
    },
)
_ASKED_FOR = "TORCHINDUCTOR_SIZE_ASSERTS"  # torch's own switch
_METHOD = "codegen_input_size_asserts"


class _Open(threading.local):
    blocks = 0


_open = _Open()


@contextmanager
def known_inputs(wanted: bool) -> Iterator[None]:
    """While this is entered, code that Inductor writes in this thread makes no assertions about
    inputs that are known. Inductor is imported if it is not yet."""
    if not wanted or _ASKED_FOR in os.environ:
        yield
        return
    with _WRITING_LESS:
        _open.blocks += 1
        try:
            yield
        finally:
            _open.blocks -= 1


def _writing_less() -> tuple[Any, dict[str, Any]] | None:
    module = NAMES.get("wrapper")
    if is_missing(module) or is_missing(NAMES.get("ir")) or is_missing(NAMES.get("virtualized")):
        return None
    whole = getattr(module, "PythonWrapperCodegen", None)
    part = getattr(module, "SubgraphPythonWrapperCodegen", None)
    if whole is None or part is None or _METHOD not in vars(whole) or _METHOD in vars(part):
        return None
    return whole, {_METHOD: _leaving_out(whole, part, vars(whole)[_METHOD])}


_WRITING_LESS = Replacement(_writing_less)


def _leaving_out(whole: Any, part: Any, before: Callable[[Any], None]) -> Callable[[Any], None]:
    """What stands for torch's method in the wrapper of a graph and of a part of it."""

    def codegen_input_size_asserts(self: Any) -> None:
        graph: Any = NAMES.get("virtualized").graph
        known = False
        if _open.blocks and type(self) is whole:
            known = not graph.is_backward
        elif _open.blocks and type(self) is part and self.partition_signatures is None:
            known = _is_called_as_written(graph)
        if not known:
            before(self)

    return codegen_input_size_asserts


def _is_called_as_written(body: Any) -> bool:
    """Whether all calls of a body pass tensors of the sizes and strides that it was written for."""
    invoked = NAMES.get("ir").InvokeSubgraph
    parent = getattr(body, "parent", None)
    calls = [
        one
        for one in getattr(parent, "operations", ())
        if type(one) is invoked and getattr(one.subgraph, "graph", None) is body
    ]
    expected = list(body.graph_inputs.values())
    return bool(calls) and all(_fit(body.sizevars, one.inputs, expected) for one in calls)


def _fit(sizevars: Any, given: Any, expected: list[Any]) -> bool:
    if len(given) != len(expected):
        return False
    equal = sizevars.statically_known_list_equals
    try:
        return all(
            equal(one.get_size(), two.get_size()) and equal(one.get_stride(), two.get_stride())
            for one, two in zip(given, expected, strict=True)
        )
    except (AttributeError, NotImplementedError):  # a number, or no tensor with strides
        return False
