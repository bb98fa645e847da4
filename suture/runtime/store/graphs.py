"""The graph of an artefact, as something to call."""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from suture.runtime.callers.aligned import aligned
from suture.runtime.callers.caller import Run, followed
from suture.runtime.callers.direct import without_wrapper
from suture.runtime.callers.dtensors import around_parts
from suture.runtime.callers.extern import IMPORTED
from suture.runtime.callers.kept_training import trained
from suture.runtime.modes import around, without_autocast, without_grad
from suture.runtime.store import files
from suture.runtime.store.graph_forms import (
    Code,
    FxCode,
    InductorCode,
    KeptGraph,
    OneGraph,
    Parts,
    TwoGraphs,
)
from suture.runtime.store.operators import find, operator_digest
from suture.runtime.store.tensor_constants import decode_tensor
from suture.torch_private.inductor_code import load_kernel
from suture.torch_private.triton_kernels import loaded_kernel


class Reading(Protocol):
    """What is needed of whoever reads an artefact; `root` is where its files are."""

    root: Path

    def ref(self, data: Any) -> Any:
        """The object that a reference means."""
        ...


def graph_from(reading: Reading, graph: KeptGraph) -> Run:
    """The graph as its backend has it: inputs in, tuple or list of outputs out."""
    for path, known in graph.operators.items():
        if operator_digest(path) != known:
            raise LookupError(f"the operator torch.ops.{path} is made of other code")
    run = _run(reading, graph.graphs, without_autocast if graph.autocast_off else _as_it_is)
    behind = graph.behind
    if behind is not None:
        run = followed(run, _fx(reading, behind.code), _places(behind.inputs))
    resets = [(reading.ref(s), tuple(map(reading.ref, args))) for s, args in graph.resets]
    return around(run, resets, graph.torch_function_off)


def _run(reading: Reading, graphs: OneGraph | TwoGraphs, off: Callable[[Run], Run]) -> Run:
    """What runs one graph or two; `off` switches off what is off around each of them."""
    written = _places(graphs.written)
    if isinstance(graphs, TwoGraphs):
        forward = off(_spread(_boxed(reading, graphs.forward), graphs.parts))
        backward = off(_boxed(reading, graphs.backward))
        return trained(forward, backward, graphs.around, _places(graphs.detached), written)
    code, parts = graphs.code, graphs.parts
    if isinstance(code, InductorCode):
        call = _spread(_inductor(reading, code), parts)
        return off(without_wrapper(call, written, graphs.grad_off))
    if parts is None:
        run = _fx(reading, code)
    else:
        run = _unboxed(_spread(_boxed(reading, code), parts))
    return off(without_grad(run) if graphs.grad_off else run)


def _places(data: Sequence[int]) -> tuple[int, ...]:
    return tuple(map(int, data))


def _as_it_is(run: Run) -> Run:
    return run


def _boxed(reading: Reading, code: Code) -> Run:
    """A graph that takes a list, which may be emptied, and gives a list or tuple."""
    if isinstance(code, InductorCode):
        return _inductor(reading, code)
    run = _fx(reading, code)

    def boxed(args: list[Any]) -> Any:
        return run(*args)

    return boxed


def _spread(run: Run, parts: Parts | None) -> Run:
    """The same, with DTensors taken apart before and put together after it, if there are any."""
    return run if parts is None else around_parts(run, parts)


def _unboxed(run: Run) -> Run:
    return lambda *args: run(list(args))


def _inductor(reading: Reading, data: InductorCode) -> Run:
    """Inductor's code: its libraries are loaded, the operations it names must be there."""
    namespace: dict[str, Any] = dict(IMPORTED)
    for name, (blob, part) in data.kernels.items():
        namespace[name] = load_kernel(str(files.blob(reading.root, blob)), blob[:-3], part)
    for name, launch in data.launches.items():
        path = files.blob(reading.root, launch["blob"])
        namespace[name] = types.SimpleNamespace(run=loaded_kernel(str(path), launch))
    namespace |= _held(reading, data)
    called = {name: reading.ref(ref) for name, ref in data.extern.items()}
    namespace["extern_kernels"] = types.SimpleNamespace(**called)
    for operation in data.operations:
        find(operation.removeprefix("torch.ops."))
    exec(compile(data.code, "<suture inductor>", "exec", dont_inherit=True), namespace)
    call: Run = namespace["call"]
    return aligned(call, _places(data.checked), _places(data.written))


def _fx(reading: Reading, data: FxCode) -> Run:
    """The function that torch.fx wrote."""
    namespace = {name: reading.ref(ref) for name, ref in data.names.items()}
    exec(compile(data.code, "<suture graph>", "exec", dont_inherit=True), namespace)
    holder = types.SimpleNamespace(**_held(reading, data))  # stands for the module of the graph
    return types.MethodType(namespace["forward"], holder)


def _held(reading: Reading, data: Code) -> dict[str, Any]:
    """The tensors and meshes that the graph holds, by name."""
    meshes = {name: reading.ref(ref) for name, ref in data.meshes.items()}
    return {name: decode_tensor(one) for name, one in data.held.items()} | meshes
