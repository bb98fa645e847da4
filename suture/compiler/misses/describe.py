"""A variant as an artefact: plain data from which another process makes it again.

`describe` is the inverse of `runtime.store.install`. What it cannot write in a form that is proven
again on live objects raises Unstorable, with the reason.
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
import types
import weakref
from pathlib import Path
from typing import Any

import torch

from suture import _core
from suture.compiler.capture import Capture
from suture.compiler.graph.addresses import keeps_address
from suture.compiler.misses.install import expectation
from suture.compiler.misses.kept_graph import Later, graph_of, names_in
from suture.runtime import AfterFailure
from suture.runtime.branches import Position
from suture.runtime.callers.aligned import is_aligned
from suture.runtime.chain import Chain, where
from suture.runtime.checks import AfterCheck, RowsWatch, Watch
from suture.runtime.contexts import SameContext
from suture.runtime.guards import Guard
from suture.runtime.parameters import PARAMETERS, Parameters
from suture.runtime.predicates import SameMesh
from suture.runtime.sources import Source
from suture.runtime.store import source_paths
from suture.runtime.store.fingerprints import compared_facts, fingerprint, globals_name
from suture.runtime.store.literals import Unstorable, encode
from suture.runtime.store.names import HOLDERS, name_of
from suture.runtime.store.remade import PREDICATES
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
        }

    # ---- objects

    def number(self, value: Any) -> int:
        number = self.numbers.setdefault(id(value), len(self.numbers))
        if number == len(self.numbered):
            self.numbered.append(value)
        return number

    def ref(self, value: Any) -> list[Any]:
        """How an object is found again."""
        if id(value) in self.known:
            return ["guard", self.known[id(value)]]
        try:
            return ["value", encode(value)]
        except Unstorable:
            pass
        if id(value) in self.keys:
            return ["number", self.number(value)]
        if id(value) in self.held:
            guard, attribute = self.held[id(value)]
            return ["held", ["guard", guard], attribute, self.number(value)]
        if type(value) is types.CodeType:
            return ["code", self.code(value)]
        if type(value) is AfterFailure:
            return ["failed", value.writes]
        if type(value) is AfterCheck:
            return ["after_check", None]
        if type(value) is RowsWatch:
            return ["rows", [self.code(value.position[0]), value.position[1], value.count]]
        if type(value) is Watch:
            return ["watch", [self.code(value.position[0]), value.position[1]]]
        if type(value) is _core.Point:
            data = value.data
            return ["point", [self._chain(data.chain), data.interpret_only, data.raises]]
        if type(value) is dict:
            home = globals_name(value)
            if home is not None:
                return ["globals", home, self.number(value)]
        if type(value) is tuple and value and all(one is _core.UNBOUND for one in value):
            return ["unbound", len(value)]
        found = name_of(value) or _core_name(value)
        if found is not None:
            if found[0].startswith("suture.compiler"):
                raise Unstorable(f"it calls {found[0]}.{found[1]}, which is part of the compiler")
            return ["name", found, self.number(value), fingerprint(value)]
        kind, name = type(value), getattr(value, "__qualname__", None)
        text = f" ({getattr(value, '__module__', None)}.{name})" if type(name) is str else ""
        raise Unstorable(
            f"no source is known of an object of {kind.__module__}.{kind.__qualname__}{text}"
        )

    def mesh(self, value: Any) -> list[Any]:
        """A mesh that a graph holds: one that a guard knows and that is of the same ranks and
        groups may stand for it, as it may for a mesh that is an input."""
        for one in self.numbered:
            if id(one) in self.known and distributed_parts.same_mesh(one, value):
                return ["guard", self.known[id(one)]]
        raise Unstorable("no guard knows a mesh that the graph holds")

    def part(self, value: Any) -> list[Any]:
        """What a predicate is made of: how it is made again, or found again."""
        kind = type(value)
        if kind in PREDICATES:
            parts = [self.part(one) for one in value.parts()]
            return ["made", [kind.__name__, parts]]
        if kind is types.FunctionType and "formula" in value.__dict__:
            return ["formula", list(value.formula)]
        try:
            return self.ref(value)
        except Unstorable:
            if kind in (list, tuple):
                return [kind.__name__, [self.part(one) for one in value]]
            if kind is dict and all(type(name) is str for name in value):
                return ["dict", {name: self.part(one) for name, one in value.items()}]
            raise

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

    def _chain(self, chain: Chain) -> list[Any]:
        return [
            [
                self.code(s.code),
                s.index,
                list(s.live),
                s.depth,
                [s.handling, s.deliver, s.waiting, s.resumed],
            ]
            for s in chain
        ]

    # ---- guards

    def number_of(self, source: Source) -> int:
        """The number of a source; its value is read on the way."""
        found = self.source_index.get(id(source))
        if found is not None:
            return found
        if source.base is not None:
            base = self.number_of(source.base)
            entry: Any = [base, self._step(source)]
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

    def _step(self, source: Source) -> list[Any]:
        """The last step of a source; of one that is reached by a function, the function; of an item
        whose key is no constant, the key; of one at an index from outside, the index's number."""
        if source.kind == source_paths.PICK:
            return [source_paths.PICK, self.number_of(source.arg)]
        if source.kind == source_paths.ITEM:
            return [source.kind, self.ref(source.arg)]
        if source.kind != source_paths.CALL:
            return source_paths.step_of(source)
        if not source_paths.may_be_called(source.arg):
            raise Unstorable(f"a source that is reached by {source.path()}")
        return [source_paths.CALL, self.part(source.arg)]

    def value(self, at: int, source: Source) -> Any:
        if at not in self.values:
            base = source.base
            assert base is not None  # roots have their values
            below = self.value(self.number_of(base), base)
            if source.kind == source_paths.PICK:
                index = self.value(self.number_of(source.arg), source.arg)
                source = base.index(index)
            self.values[at] = source_paths.read(source, below)
        return self.values[at]

    def _guard(self, guard: Guard) -> None:
        at = None if guard.source is None else self.number_of(guard.source)
        try:
            arg = self._argument(at, guard)
        except (Unstorable, LookupError) as error:
            raise Unstorable(f"{guard.text()}: {error}") from error
        where = list(guard.where) if guard.where else None
        self.guards.append([at, guard.kind, arg, where])
        self.upto.append(len(self.sources))

    def _argument(self, at: int | None, guard: Guard) -> Any:
        kind, arg = guard.kind, guard.arg
        if kind in ("is", "weak", "type"):
            if isinstance(arg, weakref.ref) and kind == "weak":
                arg = arg()
            self._check(at, guard, arg)
            self.known.setdefault(id(arg), len(self.guards))
            for attribute in HOLDERS.get(type(arg), ()):
                self.held.setdefault(id(getattr(arg, attribute)), (len(self.guards), attribute))
            code = getattr(arg, "__code__", arg)
            if type(code) is types.CodeType and type(arg) in (types.CodeType, types.FunctionType):
                self._file_code(code, ["guard", len(self.guards)])
            if type(arg) is weakref.ref:
                return [self.number(arg), ["weakref"], self.number(arg())]
            return [self.number(arg), fingerprint(arg)]
        if kind == "tensor":
            return self._tensor(at, guard)
        if kind == "same":
            return self.number_of(arg)
        if kind == "distinct":
            return [self.number_of(one) for one in arg]
        if kind == "expr":
            symbols, code, text = arg
            return [[[self.number_of(s), k, d] for s, k, d in symbols], list(code), text]
        if kind == "expr_py":
            symbols, check, text = arg
            return [[[self.number_of(s), k, d] for s, k, d in symbols], self.part(check), text]
        if kind == "torch_state" and arg[0] is distributed_parts.groups_made:
            if arg[1] != distributed_parts.groups_made():
                raise Unstorable("the process groups were made anew")
            return [self.part(arg[0]), distributed_parts.group_facts(), arg[2]]
        if kind == "torch_state":
            return [self.part(arg[0]), encode(arg[1]), arg[2]]
        if kind == "truth" and type(arg) is SameMesh:
            self._check(at, guard, arg.mesh)
            self.known.setdefault(id(arg.mesh), len(self.guards))
            return ["mesh", [self.number(arg.mesh), fingerprint(arg.mesh)]]
        if kind == "truth" and type(arg) is SameContext:
            return ["context", _context(arg)]
        if kind == "truth":
            return self.part(arg)
        if kind == "keys":
            return [self._key(one) for one in arg]
        if kind in _BY_VALUE:
            return encode(arg)
        raise Unstorable(f"a guard of the kind {kind}")

    def _key(self, value: Any) -> Any:
        """A key of a dict: a constant, or an object that is there in the same place."""
        try:
            return ["value", encode(value)]
        except Unstorable:
            made = ["key", self.number(value), fingerprint(value)]
            self.keys.add(id(value))
            return made

    def _check(self, at: int | None, guard: Guard, arg: Any) -> None:
        """The object is where the guard says, and reading it again finds it."""
        assert at is not None
        assert guard.source is not None
        found = self.value(at, guard.source)
        if (type(found) if guard.kind == "type" else found) is not arg:
            raise Unstorable("reading the source again finds another object")

    def _tensor(self, at: int | None, guard: Guard) -> Any:
        assert at is not None
        assert guard.source is not None
        value = self.value(at, guard.source)
        dims = _DIMS.search(repr(guard.arg))
        if dims is None or not isinstance(value, torch.Tensor):
            raise Unstorable("not a tensor")
        sizes, strides = (
            [None if one == "*" else int(one) for one in text.split(", ") if one]
            for text in dims.groups()
        )
        return [compared_facts(value), sizes, strides]

    def _memory(self) -> list[list[int]]:
        """[guard, group] of tensors known by identity: those of a group share their memory."""
        groups: dict[int, int] = {}
        found = []
        for number, (_, kind, arg, _) in enumerate(self.guards):
            if kind in ("is", "weak") and arg[1][0] == "tensor":
                key = dtensor_parts.storage_key(self.numbered[arg[0]])
                found.append([number, groups.setdefault(key, len(groups))])
        return found

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

    def _constant(self, emitted: Any, name: str, value: Any) -> Any:
        made = emitted.described.get(name)
        if made is None and name == "__warningregistry__":
            spaces = (vars(m) for m in list(sys.modules.values()) if m is not None)
            home = next((s for s in spaces if s.get("__warningregistry__") is value), None)
            if home is None:
                raise Unstorable("a registry of warnings that belongs to no module")
            return ["registry", self.ref(home)]
        if made is None:
            return self._of_tuples(value)
        if made[0] == "operation":
            return ["operation", [made[1], self.code(made[2]), made[3]]]
        return ["frames", [[self.code(c), self.ref(space), at] for c, space, at in made[1]]]

    def _of_tuples(self, value: Any) -> list[Any]:
        """An object, or a tuple of objects that are found again: one that the program can see has a
        guard, or is built anew in each call, so that nobody can tell which one this is."""
        try:
            return self.ref(value)
        except Unstorable:
            if type(value) is not tuple:
                raise
            return ["tuple", [self._of_tuples(one) for one in value]]

    def _graph(self, capture: Capture, emitted: Any) -> dict[str, Any]:
        """What is called: the function of torch.fx, or what Inductor wrote."""
        statics = []
        for value in emitted.statics:
            if id(value) not in self.known:
                raise Unstorable("no guard knows a tensor that the graph holds")
            statics.append(self.known[id(value)])
        code = graph_of(self, emitted)
        _check_more(code.get("forward", code), emitted, len(statics))
        resets = capture.graph.resets_in_order()
        return {
            **code,
            "statics": statics,
            "aligned_statics": [
                guard for guard, value in zip(statics, emitted.statics) if is_aligned(value)
            ],
            "resets": [[self.ref(setter), [self.ref(a) for a in args]] for setter, args in resets],
            "torch_function_off": capture.graph.torch_function_off,
        }


def _check_more(code: dict[str, Any], emitted: Any, first: int) -> None:
    """Inputs of which Inductor takes it that they keep their address, but of which only their facts
    are guarded (parameters of a module that is an argument): where they begin is looked at in each
    call."""
    if "aligned" in code:
        inputs = list(enumerate(emitted.inputs))[first:]
        more = [i for i, one in inputs if keeps_address(one) and is_aligned(one.example)]
        code["aligned"][0] = sorted({*code["aligned"][0], *more})


_BY_VALUE = frozenset(
    {"equals", "len", "no_key", "no_attr", "no_mro_attr", "int", "float", "bool",
     "unbound", "exists"}
)  # fmt: skip


def _context(arg: SameContext) -> list[Any]:
    """What a wrapper says of itself, if it is a DTensor. Its parts have guards of their own."""
    found = dtensor_parts.context_facts(arg.context) if arg.names == dtensor_parts.INNER else None
    if found is None:
        raise Unstorable("a tensor subclass says more of itself than is kept")
    return found


def _core_name(value: Any) -> list[str] | None:
    """Names of objects of ours, and of Python's, that do not know their own."""
    from suture.runtime import operations

    if value is sys.modules:
        return ["sys", "modules"]
    if value is getattr(os.environ, "_data", None):  # what os.environ reads and writes
        return ["os", "environ._data"]
    return ["suture.runtime.operations", "STOP"] if value is operations.STOP else None


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
