"""config.verify: a whole function run in eager mode and compared with what was compiled of it.

For its first calls a variant that runs a function from its start to its end is run twice: first
the function itself on copies of the arguments, then the variant. Results and what became of the
arguments are compared; the first difference is reported with the operation and the line it comes
from. A function that changes something else than its arguments is not run twice.
"""

from __future__ import annotations

import contextlib
import copy
import io
import logging
import random
import sys
import types
from collections.abc import Iterator
from typing import Any

import torch

from suture import _core
from suture.backends.verify import Mismatch, origin_of, unlike
from suture.bytecode import makes_generator
from suture.compiler.capture import Capture, Return
from suture.runtime import call_from_slots
from suture.runtime.sources import Source
from suture.torch_private.tensor_parts import pytree

_log = logging.getLogger("suture.verify")
_CALLS = 3  # so many calls of each variant are compared
_DEPTH = 12  # and containers in containers so far


def can_run_twice(data: Any, capture: Capture, parameters: Any) -> bool:
    """Whether the variant is a whole call that changes nothing but its arguments."""
    chain, effects = data.chain, capture.effects
    if len(chain) > 1 or chain[0].index or chain[0].resumed or parameters is not None:
        return False
    if not isinstance(capture.exit, Return) or effects.globals or effects.calls:
        return False
    if makes_generator(chain[0].code) or capture.modes or capture.functions[0]:
        return False
    changed = [v.source for v in effects.touched.values() if v.source is not None]
    if capture.graph.writes_inputs():
        changed += [entry.source for entry in capture.graph.inputs]
    return all(source is not None and _is_argument(source.root()) for source in changed)


def _is_argument(root: Source) -> bool:
    return root.kind == "slot" and root.arg > 0


class ComparedVariant:
    """A variant, watched for its first calls. A difference is logged, with `strict` raised."""

    def __init__(self, emitted: Any, name: str, strict: bool) -> None:
        self.function = emitted.function
        self.module = emitted.module
        self.name = name
        self.strict = strict
        self.left = _CALLS
        self.results: list[Any] = []  # of the graph, to find the operation of a difference
        graph = emitted.namespace.get("graph")
        if graph is not None:
            emitted.namespace["graph"] = self._recorded(graph)

    def _recorded(self, graph: Any) -> Any:
        def run(*args: Any) -> Any:
            made = graph(*args)
            if self.left > 0:
                self.results = list(made) if isinstance(made, (tuple, list)) else [made]
            return made

        return run

    def __call__(self, *state: Any) -> Any:
        if self.left <= 0:
            return self.function(*state)
        copies = _copies(state)
        if copies is None:
            self.left = 0
            return self.function(*state)
        wanted = _run_eagerly(state[0], copies)
        made = self.function(*state)
        if isinstance(made, (_core.Leave, _core.Jump)):
            return made  # the graph raised: eager's own code continues
        difference = self._difference(wanted, made, copies, state)
        self.results = []
        self.left -= 1
        if difference is not None:
            text = f"{self.name}: what was compiled differs from eager: {difference}"
            if self.strict:
                raise Mismatch(text)
            _log.warning("%s", text)
        return made

    def _difference(self, wanted: Any, made: Any, copies: Any, state: Any) -> str | None:
        if isinstance(wanted, _Raised):
            return f"eager raises {wanted.error!r}"
        names = state[0].__code__.co_varnames
        pairs = [("the result", wanted, made)]
        pairs += [(names[i], a, b) for i, (a, b) in enumerate(zip(copies, state[1:]))]
        seen: set[tuple[int, int]] = set()
        for name, a, b in pairs:
            for path, x, y in _differences(name, a, b, seen, _DEPTH):
                text = unlike(x, y) or f"{type(y).__name__} instead of {type(x).__name__}"
                return f"{text}, in {path}{self._operation(y)}"
        return None

    def _operation(self, value: Any) -> str:
        """Which operation of the graph made a value."""
        if self.module is None:
            return ""
        output = next(n for n in self.module.graph.nodes if n.op == "output")
        for node, made in zip(output.args[0], self.results):
            if made is value:
                return f", from {origin_of(node)}"
        return ""


class _Raised:
    def __init__(self, error: BaseException) -> None:
        self.error = error


def _run_eagerly(function: Any, slots: tuple[Any, ...]) -> Any:
    """What the function gives in eager. The random numbers it draws are put back."""
    before = _core.set_hook_active(False)
    try:
        with _random_state_kept(), contextlib.redirect_stdout(io.StringIO()):
            return call_from_slots(function, slots)
    except Exception as error:
        return _Raised(error)
    finally:
        _core.set_hook_active(before)


@contextlib.contextmanager
def _random_state_kept() -> Iterator[None]:
    numpy = sys.modules.get("numpy")
    drawn = numpy.random.get_state() if numpy is not None else None
    python = random.getstate()
    try:
        with torch.random.fork_rng():
            yield
    finally:
        random.setstate(python)
        if numpy is not None:
            numpy.random.set_state(drawn)


def _copies(state: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The arguments again, with everything below them; None if something cannot be copied."""
    memo: dict[int, Any] = {}
    for leaf in pytree.tree_leaves(state[1:]):
        if isinstance(leaf, torch.Tensor) and not leaf.is_leaf:  # those have no copies of their own
            memo[id(leaf)] = leaf.detach().clone().requires_grad_()
    try:
        return copy.deepcopy(state[1:], memo)
    except Exception as error:
        _log.info("not compared with eager: the arguments cannot be copied (%s)", error)
        return None


def _differences(
    path: str, a: Any, b: Any, seen: set[tuple[int, int]], depth: int
) -> Iterator[tuple[str, Any, Any]]:
    """The values below `a`, of eager, and `b` that differ, each with its path."""
    if a is b or (id(a), id(b)) in seen or not depth:
        return
    seen.add((id(a), id(b)))
    if type(a) is not type(b):
        yield path, a, b
    elif isinstance(a, torch.Tensor) or type(a) in _COMPARED:
        nan = isinstance(a, float) and a != a and b != b
        if unlike(a, b) is not None and not nan:
            yield path, a, b
    elif type(a) in (list, tuple, dict):
        if len(a) != len(b) or (type(a) is dict and a.keys() != b.keys()):
            yield path, a, b
            return
        for key in a if type(a) is dict else range(len(a)):
            yield from _differences(f"{path}[{key!r}]", a[key], b[key], seen, depth - 1)
    elif not isinstance(a, _AS_THEY_ARE):
        below = getattr(a, "__dict__", {}), getattr(b, "__dict__", {})
        for name in below[0].keys() & below[1].keys():
            yield from _differences(
                f"{path}.{name}", below[0][name], below[1][name], seen, depth - 1
            )


_COMPARED = (int, float, complex, str, bytes, bool)  # classes of the user have their own ==
_AS_THEY_ARE = (type, types.FunctionType, types.ModuleType, types.MethodType)
