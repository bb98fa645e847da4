"""The graph of an artefact, as something to call."""

from __future__ import annotations

import types
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


def blobs_of(graph: dict[str, Any]) -> set[str]:
    """The names of the files that a graph needs."""
    found: set[str] = set()
    for part in (graph, graph.get("forward", {}), graph.get("backward", {})):
        found |= {blob for blob, _ in part.get("kernels", {}).values()}
        found |= {launch["blob"] for launch in part.get("launches", {}).values()}
    return found


def graph_from(reading: Reading, data: dict[str, Any]) -> Run:
    """The graph as its backend has it: inputs in, tuple or list of outputs out."""
    for path, known in data.get("operators", {}).items():
        if operator_digest(path) != known:
            raise LookupError(f"the operator torch.ops.{path} is made of other code")
    kind = data["kind"]
    off = without_autocast if data.get("autocast_off") else _as_it_is
    if kind == "training":
        forward = off(_spread(_boxed(reading, data["forward"]), data))
        backward = _boxed(reading, data["backward"])
        inputs = (tuple(map(int, data[kind])) for kind in ("detached", "written"))
        run = trained(forward, off(backward), data["around"], *inputs)
    elif kind == "inductor":
        written = tuple(map(int, data["written"]))
        call = _spread(_inductor(reading, data), data)
        run = off(without_wrapper(call, written, bool(data.get("grad_off"))))
    else:
        spread = data.get("parts") is not None
        run = _unboxed(_spread(_boxed(reading, data), data)) if spread else _fx(reading, data)
        run = off(without_grad(run) if data.get("grad_off") else run)
    behind = data.get("behind")
    if behind is not None:
        run = followed(run, _fx(reading, behind), tuple(map(int, behind["inputs"])))
    resets = [(reading.ref(s), tuple(map(reading.ref, args))) for s, args in data["resets"]]
    return around(run, resets, bool(data["torch_function_off"]))


def _as_it_is(run: Run) -> Run:
    return run


def _boxed(reading: Reading, data: dict[str, Any]) -> Run:
    """One graph of two: a list in, which may be emptied, a list or tuple out."""
    if data["kind"] == "inductor":
        return _inductor(reading, data)
    run = _fx(reading, data)

    def boxed(args: list[Any]) -> Any:
        return run(*args)

    return boxed


def _spread(run: Run, data: dict[str, Any]) -> Run:
    """The same, with DTensors taken apart before and put together after it, if there are any."""
    parts = data.get("parts")
    return run if parts is None else around_parts(run, parts)


def _unboxed(run: Run) -> Run:
    return lambda *args: run(list(args))


def _inductor(reading: Reading, data: dict[str, Any]) -> Run:
    """Inductor's code: its libraries are loaded, the operations it names must be there."""
    namespace: dict[str, Any] = dict(IMPORTED)
    for name, (blob, part) in data["kernels"].items():
        namespace[name] = load_kernel(str(files.blob(reading.root, blob)), blob[:-3], part)
    for name, launch in data["launches"].items():
        path = files.blob(reading.root, launch["blob"])
        namespace[name] = types.SimpleNamespace(run=loaded_kernel(str(path), launch))
    namespace |= _held(reading, data)
    called = {name: reading.ref(ref) for name, ref in data["extern"].items()}
    namespace["extern_kernels"] = types.SimpleNamespace(**called)
    for operation in data["operations"]:
        find(operation.removeprefix("torch.ops."))
    exec(compile(data["code"], "<suture inductor>", "exec", dont_inherit=True), namespace)
    call: Run = namespace["call"]
    return aligned(call, *(tuple(map(int, positions)) for positions in data["aligned"]))


def _fx(reading: Reading, data: dict[str, Any]) -> Run:
    """The function that torch.fx wrote."""
    namespace = {name: reading.ref(ref) for name, ref in data["names"].items()}
    exec(compile(data["code"], "<suture graph>", "exec", dont_inherit=True), namespace)
    holder = types.SimpleNamespace(**_held(reading, data))  # stands for the module of the graph
    return types.MethodType(namespace["forward"], holder)


def _held(reading: Reading, data: dict[str, Any]) -> dict[str, Any]:
    """The tensors and meshes that the graph holds, by name."""
    meshes = {name: reading.ref(ref) for name, ref in data["meshes"].items()}
    return {name: decode_tensor(one) for name, one in data["held"].items()} | meshes
