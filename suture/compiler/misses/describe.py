"""A variant as an artefact: plain data from which another process makes it again.

`describe` is the inverse of `runtime.store.install`, and goes through a capture; how each object,
source and guard is written is said in `runtime.store`. What cannot be written in a form that is
proven again on live objects raises Unstorable, with the reason.
"""

from __future__ import annotations

import re
import sys
import sysconfig
import types
from pathlib import Path
from typing import Any

import torch

from suture import _core
from suture.compiler.capture import HASHES_OF_TEXTS, Capture
from suture.compiler.graph.addresses import keeps_address
from suture.compiler.misses.install import expectation
from suture.compiler.misses.kept_graph import Later, graph_of, names_in
from suture.runtime.branches import Position
from suture.runtime.callers.aligned import is_aligned
from suture.runtime.chain import Chain, where
from suture.runtime.guards import Guard
from suture.runtime.parameters import PARAMETERS, Parameters
from suture.runtime.sources import Source
from suture.runtime.store import graph_forms, source_paths
from suture.runtime.store.environment import hashes_are_told
from suture.runtime.store.graph_forms import Code, InductorCode
from suture.runtime.store.guard_arguments import ARGUMENTS
from suture.runtime.store.literals import Unstorable
from suture.runtime.store.made_objects import CONSTANT, GRAPH_GLOBAL, OBJECT
from suture.runtime.store.names import HOLDERS, parts_of
from suture.runtime.store.references import write
from suture.runtime.store.stand_ins import WarningRegistry
from suture.torch_private import distributed_parts, dtensor_parts

Ways = dict[Position, tuple[bool, ...]]
_DIMS = re.compile(r"size \[(.*?)\], stride \[(.*?)\]")


def describe(
    chain: Chain, state: tuple[Any, ...], capture: Capture, emitted: Any, ways: Ways
) -> tuple[dict[str, Any], dict[str, bytes], list[Later]]:
    """The artefact of a variant that was made for this state and has not run yet, the files that it
    needs, by name, and what completes both when it has run. `ways` are those of branches on data
    that are expected to go as in earlier calls."""
    if capture.functions[0] or capture.functions[1]:
        raise Unstorable("modes of torch functions are active")
    if capture.hashes > (HASHES_OF_TEXTS if hashes_are_told() else 0):
        raise Unstorable("it depends on hashes, which are others in another process")
    if capture.withheld:
        raise Unstorable("gradients are withheld around its graph")
    function, file, line = where(chain)
    describing = _Describing(chain, state)
    about = {"point": f"{function}:{line}", "file": file, "torch": torch.__version__}
    artefact = {"about": about, **describing.artefact(capture, emitted)}
    artefact["expected"] = [describing.expected(check, ways) for check in capture.checks]
    return artefact, describing.blobs, describing.later


class _Describing:
    def __init__(self, chain: Chain, state: tuple[Any, ...]) -> None:
        self.chain, self.state = chain, state
        self.numbers: dict[int, int] = {}  # of objects, by id
        self.numbered: list[Any] = []
        self.keep: list[Any] = []  # so that ids stay their own
        self.sources: list[Any] = []
        self.source_index: dict[int, int] = {}
        self.values: dict[int, Any] = {}
        self.guards: list[Any] = []
        self.upto: list[int] = []
        self.known: dict[int, int] = {}  # the guard that knows an object, by the object's id
        self.held: dict[int, tuple[int, str]] = {}  # what such an object is made of, by its id
        self.keys: set[int] = set()  # ids of objects that are keys of dicts whose keys are guarded
        self.codes: dict[int, Any] = {}
        self.blobs: dict[str, bytes] = {}  # files that the variant needs, by name
        self.later: list[Later] = []  # what is known when the graph has run
        for i, spec in enumerate(chain):
            self._file_code(spec.code, ["frame", i])

    def artefact(self, capture: Capture, emitted: Any) -> dict[str, Any]:
        for guard in capture.guards.entries:
            self._guard(guard)
        for code in capture.inlined:
            if id(code) not in self.codes and not _is_versioned(code):
                raise Unstorable(f"no guard knows the code of {code.co_qualname}")
        variant = self._variant(capture, emitted)
        return {
            "guards": self.guards,
            "sources": self.sources,
            "upto": self.upto,
            "memory": self._memory(),
            "variant": variant,
            "parts": self._parts(),
        }

    # ---- objects

    def number(self, value: Any) -> int:
        number = self.numbers.setdefault(id(value), len(self.numbers))
        if number == len(self.numbered):
            self.numbered.append(value)
        return number

    def ref(self, value: Any) -> list[Any]:
        """How an object is found again."""
        return write(self, value, OBJECT)

    def graph_global(self, value: Any) -> list[Any]:
        """How a global of a graph's function is found again."""
        return write(self, value, GRAPH_GLOBAL)

    def know(self, value: Any) -> None:
        """The guard that is being written knows this object."""
        guard = len(self.guards)
        self.known.setdefault(id(value), guard)
        for attribute in HOLDERS.get(type(value), ()):
            self.held.setdefault(id(getattr(value, attribute)), (guard, attribute))
        if type(value) in (types.CodeType, types.FunctionType):
            self._file_code(getattr(value, "__code__", value), ["guard", guard])

    def know_key(self, value: Any) -> None:
        """A guard on the keys of a dict knows this object, which is one of them."""
        self.keys.add(id(value))

    def mesh(self, value: Any) -> list[Any]:
        """A mesh that a graph holds: one that a guard knows and that is of the same ranks and
        groups may stand for it, as it may for a mesh that is an input."""
        for one in self.numbered:
            if id(one) in self.known and distributed_parts.same_mesh(one, value):
                return ["guard", self.known[id(one)]]
        raise Unstorable("no guard knows a mesh that the graph holds")

    def _file_code(self, code: types.CodeType, ref: Any) -> None:
        if id(code) in self.codes:
            return
        self.codes[id(code)] = ref
        for i, inner in enumerate(code.co_consts):
            if type(inner) is types.CodeType:
                self._file_code(inner, ["const", ref, i])

    def code(self, code: types.CodeType) -> Any:
        found = self.codes.get(id(code))
        if found is None:
            raise Unstorable(f"no guard knows the code of {code.co_qualname}")
        return found

    # ---- guards

    def number_of(self, source: Source) -> int:
        """The number of a source; its value is read on the way."""
        found = self.source_index.get(id(source))
        if found is not None:
            return found
        if source.base is not None:
            base = self.number_of(source.base)
            entry: Any = [base, source_paths.step_of(self, source)]
        elif source.kind == "slot":
            entry = [["slot", source.arg], None]
            self.values[len(self.sources)] = self.state[source.arg]
        else:
            entry = [["const", self.ref(source.arg), source.name], None]
            self.values[len(self.sources)] = source.arg
        self.sources.append(entry)
        self.keep.append(source)
        made = self.source_index[id(source)] = len(self.sources) - 1
        return made

    def value(self, source: Source) -> Any:
        """What is at a source now."""
        at = self.number_of(source)
        if at not in self.values:
            base = source.base
            assert base is not None  # roots have their values
            if source.kind == source_paths.PICK:
                source = base.index(self.value(source.arg))
            self.values[at] = source_paths.read(source, self.value(base))
        return self.values[at]

    def _guard(self, guard: Guard) -> None:
        at = None if guard.source is None else self.number_of(guard.source)
        try:
            arg = self._argument(guard)
        except (Unstorable, LookupError) as error:
            raise Unstorable(f"{guard.text()}: {error}") from error
        where = list(guard.where) if guard.where else None
        self.guards.append([at, guard.kind, arg, where])
        self.upto.append(len(self.sources))

    def _argument(self, guard: Guard) -> Any:
        if guard.kind not in ARGUMENTS:
            raise Unstorable(f"a guard of the kind {guard.kind}")
        return ARGUMENTS[guard.kind].write(self, guard)

    def _memory(self) -> list[list[int]]:
        """[guard, group] of tensors known by identity: those of a group share their memory."""
        groups: dict[int, int] = {}
        found = []
        for number, (_, kind, arg, _) in enumerate(self.guards):
            if kind in ("is", "weak") and arg[1][0] == "tensor":
                key = dtensor_parts.storage_key(self.numbered[arg[0]])
                found.append([number, groups.setdefault(key, len(groups))])
        return found

    def _parts(self) -> list[list[Any]]:
        """What the objects that are known are made of: one part of two of them stays one."""
        known = enumerate(self.numbered)  # which grows by the parts
        found = [[n, [self.number(part) for part in parts_of(one)]] for n, one in known]
        return [entry for entry in found if entry[1]]

    # ---- the variant

    def _variant(self, capture: Capture, emitted: Any) -> dict[str, Any]:
        code, index = emitted.replaces
        used = names_in(emitted.function.__code__)
        names = {
            name: self._constant(emitted, name, value)
            for name, value in emitted.namespace.items()
            if name in used or name in ("__name__", "__warningregistry__")
            if name not in ("graph", "__builtins__", PARAMETERS)
        }
        return {
            "name": emitted.name,
            "source": emitted.source,
            "replaces": [self.code(code), index],
            "names": names,
            "graph": None if emitted.module is None else self._graph(capture, emitted),
            "parameters": self._parameters(emitted.parameters),
            "exit": type(capture.exit).__name__,
            "ops": capture.graph.ops,
            "general": capture.general,
        }

    def expected(self, check: Any, ways: Ways) -> list[Any]:
        """A condition on data that the variant expects, and the way that it was taken from."""
        position, truth, kept, learned, skips = expectation(check)
        way = ways.get(position)
        if learned and way is None:
            raise Unstorable("it expects a branch to go a way that is not known")
        place = [self.code(position[0]), position[1]]
        return [place, truth, kept, list(way) if learned and way else None, skips]

    def _parameters(self, reader: Parameters | None) -> Any:
        """What reads the parameters of modules that are arguments."""
        if reader is None:
            return None
        names = {n: self.ref(v) for n, v in reader.names.items() if n != "__builtins__"}
        found = [
            [self.number_of(one) for one in group] for group in (reader.owners, reader.sources)
        ]
        return {"owners": found[0], "sources": found[1], "source": reader.source, "names": names}

    def _constant(self, emitted: Any, name: str, value: Any) -> list[Any]:
        """How a constant of the variant is made or found again."""
        made = emitted.described.get(name)
        if made is None and name == "__warningregistry__":
            made = _registry(value)
        return write(self, value if made is None else made, CONSTANT)

    def _graph(self, capture: Capture, emitted: Any) -> dict[str, Any]:
        """What is called: the function of torch.fx, or what Inductor wrote."""
        statics = []
        for value in emitted.statics:
            if id(value) not in self.known:
                raise Unstorable("no guard knows a tensor that the graph holds")
            statics.append(self.known[id(value)])
        graph = graph_of(self, emitted)
        _check_more(graph.codes()[0], emitted, len(statics))
        resets = capture.graph.resets_in_order()
        graph.statics = statics
        graph.aligned_statics = [
            guard for guard, value in zip(statics, emitted.statics) if is_aligned(value)
        ]
        graph.resets = [(self.ref(setter), [self.ref(a) for a in args]) for setter, args in resets]
        graph.torch_function_off = capture.graph.torch_function_off
        return graph_forms.encode(graph)


def _check_more(code: Code, emitted: Any, first: int) -> None:
    """Inputs of which Inductor takes it that they keep their address, but of which only their facts
    are guarded (parameters of a module that is an argument): where they begin is looked at in each
    call."""
    if isinstance(code, InductorCode):
        inputs = list(enumerate(emitted.inputs))[first:]
        more = [i for i, one in inputs if keeps_address(one) and is_aligned(one.example)]
        code.checked = sorted({*code.checked, *more})


def _registry(value: Any) -> WarningRegistry:
    spaces = (vars(m) for m in list(sys.modules.values()) if m is not None)
    home = next((s for s in spaces if s.get("__warningregistry__") is value), None)
    if home is None:
        raise Unstorable("a registry of warnings that belongs to no module")
    return WarningRegistry(home)


_LIBRARIES = tuple(
    str(Path(one).resolve()) + "/"
    for one in (
        Path(torch.__file__).parent,
        Path(_core.__file__).parent,
        sysconfig.get_path("stdlib"),
    )
)
_OTHERS = str(Path(sysconfig.get_path("purelib")).resolve()) + "/"


def _is_versioned(code: types.CodeType) -> bool:
    """Whether the code is of torch, of suture or of Python's library: the key of the cache names
    their versions."""
    file = code.co_filename
    if file.startswith("<frozen "):
        return True
    try:
        file = str(Path(file).resolve())
    except OSError:
        return False
    if file.startswith(_LIBRARIES[:2]):
        return True
    return file.startswith(_LIBRARIES[2]) and not file.startswith(_OTHERS)
