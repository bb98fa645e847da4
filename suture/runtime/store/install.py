"""From an artefact to a variant of a point, if all that it says is found again in a state.

Each object that the artefact knows is looked for at its source and compared with its fingerprint;
one object there is one object here, two are two. The guards, on what was found, must hold.
"""

from __future__ import annotations

import collections
import functools
import sys
import types
import weakref
from pathlib import Path
from typing import Any

from suture import _core
from suture.bytecode import decode as decode_code
from suture.runtime import OPERATIONS, VARIANT, relocated
from suture.runtime.callers.aligned import is_aligned
from suture.runtime.chain import FrameSpec, slot_names
from suture.runtime.checks import AfterCheck, RowsWatch, Watch
from suture.runtime.contexts import SameContext
from suture.runtime.fallbacks import watch
from suture.runtime.guards import Guards, finish
from suture.runtime.interpret import AfterFailure, hooks_on_saved
from suture.runtime.parameters import PARAMETERS, Parameters
from suture.runtime.points import Variant
from suture.runtime.predicates import SameMesh, formula
from suture.runtime.sources import Source, pinned, slot
from suture.runtime.store import files, source_paths
from suture.runtime.store.fingerprints import compared_facts, fingerprint, module_named
from suture.runtime.store.graphs import graph_from
from suture.runtime.store.literals import Unstorable, decode
from suture.runtime.store.names import HOLDERS, named
from suture.runtime.store.remade import BY_NAME
from suture.runtime.unexpected import Expected, expect
from suture.runtime.unit import Unit, drop
from suture.torch_private import distributed_parts, dtensor_parts, tensor_parts
from suture.torch_private.torchdynamo import hide


class Unfit(Exception):
    """Why an artefact is not used for a state."""


def install(
    unit: Unit, point: Any, state: tuple[Any, ...], artefact: dict[str, Any], root: Path
) -> Variant:
    """The variant of an artefact, added to its point; raises Unfit if it does not fit the state,
    or if it is not well formed. `root` is the folder of the files that it needs."""
    try:
        reading = _Reading(unit, point, state, artefact, root)
        made = reading.variant()
    except Unfit:
        raise
    except (LookupError, Unstorable, files.Unreadable) as error:
        raise Unfit(str(error)) from error
    except Exception as error:  # whatever a file says, compiling is always right
        raise Unfit(f"the entry is not well formed: {error!r}") from error
    unit.add(point, made)
    unit.empty_regions = -1 if made.ops else unit.empty_regions
    if reading.checks is not None:
        expect(reading.checks, reading.expected, unit, point, made, drop)
    if reading.watch is not None:
        watch(reading.watch, unit, point, made, drop)
    return made


class _Reading:
    """One artefact read against one state."""

    def __init__(
        self, unit: Unit, point: Any, state: Any, artefact: dict[str, Any], root: Path
    ) -> None:
        self.root = root
        self.unit, self.point, self.state, self.artefact = unit, point, state, artefact
        self.chain = point.data.chain
        self.slots = [slot(i, name) for i, name in enumerate(slot_names(self.chain))]
        if len(self.slots) != len(state):
            raise Unfit("the state has another length")
        self.objects: dict[int, Any] = {}  # by number
        self.numbers: dict[int, int] = {}  # of objects, by id
        self.sources: list[Source] = []
        self.values: list[Any] = []
        self.guarded: list[Any] = []  # the object of each guard
        self.watch: Watch | None = None  # of the branch on data that the variant ends with
        self.checks: AfterCheck | None = None  # takes over where a condition does not hold
        self.expected: list[Expected] = []
        self.parameters: Parameters | None = None  # reads those of modules that are arguments

    def variant(self) -> Variant:
        guards = self._guards()
        program = finish(guards)
        self.values = [
            _Late(0, source) for source in self.sources
        ]  # nobody else holds what is there
        if not program.check(*self.state):
            found = program.explain(*self.state)
            raise Unfit(f"its guards do not hold: {found[1] if found else 'nothing is said'}")
        self._same_memory()
        self.expected = [self._expected(one) for one in self.artefact["expected"]]
        data = self.artefact["variant"]
        self.parameters = self._parameters(data["parameters"])
        return Variant(
            self._function(data),
            data["source"],
            guards,
            program,
            None,
            len(self.point.data.variants),
            data["exit"],
            data["ops"],
            self.parameters,
            general=data["general"],
        )

    # ---- objects

    def bind(self, number: int, value: Any) -> Any:
        """`value` is what has this number; all that have it are one object, no others are."""
        if self.objects.setdefault(number, value) is not value:
            raise Unfit("two objects are where one was")
        if self.numbers.setdefault(id(value), number) != number:
            raise Unfit("one object is where two were")
        return value

    def ref(self, data: Any) -> Any:
        """The object that a reference means."""
        kind, inner = data[0], data[1]
        if kind == "value":
            return decode(inner)
        if kind == "guard":
            return self.guarded[inner]
        if kind == "held":
            return self.bind(data[3], self._part_of(self.ref(inner), data[2]))
        if kind == "number":
            return self.objects[inner]
        if kind == "globals":
            return self.bind(data[2], _globals(inner))
        if kind == "name":
            found = named(*inner)
            if fingerprint(found) != data[3]:
                raise Unfit(f"{inner[0]}.{inner[1]} is not what it was")
            return self.bind(data[2], found)
        if kind == "code":
            return self.code(inner)
        if kind == "failed":
            return AfterFailure(self.chain, bool(inner), hooks_on_saved)
        if kind == "after_check":
            self.checks = AfterCheck(self.chain)
            return self.checks
        if kind == "rows":
            self.watch = RowsWatch((self.code(inner[0]), int(inner[1])), int(inner[2]))
            return self.watch
        if kind == "watch":
            self.watch = Watch((self.code(inner[0]), int(inner[1])))
            return self.watch
        if kind == "point":
            return self.unit.point(self._chain(inner[0]), bool(inner[1]), bool(inner[2]))
        if kind == "frames":
            return _core.SyntheticFrames(
                tuple((self.code(code), self.ref(space), int(at)) for code, space, at in inner)
            )
        if kind == "operation":
            name, code, index = inner
            return OPERATIONS[name].make(decode_code(self.code(code)).instructions[index])
        if kind == "module":
            return sys.modules[inner]
        if kind == "registry":
            return self.ref(inner).setdefault("__warningregistry__", {})
        if kind == "made":
            return BY_NAME[inner[0]].remade(*map(self.ref, inner[1]))
        if kind == "formula":
            return formula(str(inner[0]), int(inner[1]))
        if kind in ("list", "tuple"):
            return [list, tuple][kind == "tuple"](map(self.ref, inner))
        if kind == "dict":
            return {name: self.ref(one) for name, one in inner.items()}
        if kind == "unbound":
            return (_core.UNBOUND,) * int(inner)
        raise ValueError(f"no reference is called {kind!r}")

    def _part_of(self, owner: Any, attribute: str) -> Any:
        if attribute not in HOLDERS.get(type(owner), ()):
            raise ValueError(f"nothing is found by {attribute!r}")
        return getattr(owner, attribute)

    def code(self, data: Any) -> types.CodeType:
        """A code object: of a frame of the point, of a guard, or a constant of another one."""
        kind, inner = data[0], data[1]
        if kind == "frame":
            found: Any = self.chain[inner].code
        elif kind == "guard":
            found = self.guarded[inner]
            found = getattr(found, "__code__", found)
        else:
            found = self.code(inner).co_consts[data[2]]
        if type(found) is not types.CodeType:
            raise ValueError("no code object")
        return found

    def _chain(self, data: Any) -> tuple[FrameSpec, ...]:
        return tuple(
            FrameSpec(self.code(code), index, tuple(live), depth, *map(bool, flags))
            for code, index, live, depth, flags in data
        )

    # ---- guards

    def _guards(self) -> Guards:
        guards = Guards()
        for entry in self.artefact["guards"]:
            at, kind, arg, where = entry
            self._more_sources()
            source = None if at is None else self.sources[at]
            guards.add(source, kind, self._argument(at, kind, arg))
            guards.entries[-1].where = tuple(where) if where else None
            if len(guards.entries) != len(self.guarded):
                raise ValueError("a guard is there twice")
        return guards

    def _more_sources(self) -> None:
        """Read the sources that the guard needs, up to the last of those it names."""
        self._sources_up_to(self.artefact["upto"][len(self.guarded)])

    def _sources_up_to(self, wanted: int) -> None:
        for data in self.artefact["sources"][len(self.sources) : wanted]:
            root, step = data
            if step is None:
                source, value = self._root(root)
            else:
                source = self._below(self.sources[root], step)
                value = _Late(root, source)
            self.sources.append(source)
            self.values.append(value)

    def _below(self, base: Source, step: Any) -> Source:
        if step[0] == source_paths.PICK:
            return base.pick(self.sources[step[1]])
        if step[0] == source_paths.ITEM:
            return base.item(self.ref(step[1]))
        if step[0] != source_paths.CALL:
            return source_paths.below(base, step)
        reader = self.ref(step[1])
        if not source_paths.may_be_called(reader):
            raise ValueError("a source is reached by a function that may do more than read")
        return base.call(reader)

    def _root(self, data: Any) -> tuple[Source, Any]:
        kind, inner = data[0], data[1]
        if kind == "slot":
            return self.slots[inner], self.state[inner]
        value = self.ref(inner)
        return pinned(value, data[2]), value

    def value(self, at: int) -> Any:
        """The value at a source."""
        found = self.values[at]
        if type(found) is _Late:
            below, source = self.value(found.base), found.source
            if source.kind == source_paths.PICK:
                source = self.sources[found.base].index(self.value(self.sources.index(source.arg)))
            found = self.values[at] = source_paths.read(source, below)
        return found

    def _argument(self, at: Any, kind: str, arg: Any) -> Any:
        """The argument of a guard; `guarded` gets the object that the guard knows, if any."""
        known = None
        if kind in ("is", "weak", "type"):
            known = self.value(at)
            known = type(known) if kind == "type" else known
            is_weak = type(known) is weakref.ref
            if (["weakref"] if is_weak else fingerprint(known)) != arg[1]:
                raise Unfit(f"{self.sources[at].path()} is not what it was")
            made = self.bind(arg[0], known)
            if is_weak:
                self.bind(arg[2], known())  # what it refers to is what it referred to
        elif kind == "tensor":
            made = self._tensor(at, arg)
        elif kind == "same":
            made = self.sources[arg]
        elif kind == "distinct":
            made = tuple(self.sources[one] for one in arg)
        elif kind in ("expr", "expr_py"):
            symbols, code, text = arg
            made = (
                tuple((self.sources[s], k, d) for s, k, d in symbols),
                tuple(code) if kind == "expr" else self.ref(code),
                text,
            )
        elif kind == "torch_state":
            made = self._state(self.ref(arg[0]), arg[1], arg[2])
        elif kind == "truth" and arg[0] == "mesh":
            known = self.value(at)
            if fingerprint(known) != arg[1][1]:
                raise Unfit(f"{self.sources[at].path()} is another mesh")
            made = SameMesh(self.bind(arg[1][0], known))
        elif kind == "truth" and arg[0] == "context":
            made = self._context(at, arg[1])
        elif kind == "truth":
            made = self.ref(arg)
        elif kind == "keys":
            made = self._keys(self.value(at), arg)
        else:
            made = decode(arg)
        self.guarded.append(known)
        return made

    def _keys(self, found: Any, keys: Any) -> tuple[Any, ...]:
        """The keys of a dict. Those that are no constants are the objects that are there now, in
        the same order, if they are like those that were there."""
        if not isinstance(found, dict) or dict.__len__(found) != len(keys):
            raise Unfit("a dict has other keys")
        order = next(kind for kind in (collections.OrderedDict, dict) if isinstance(found, kind))
        made = []
        for live, (kind, *data) in zip(order.__iter__(found), keys):
            if kind == "key" and fingerprint(live) != data[1]:
                raise Unfit("a dict has other keys")
            made.append(self.bind(data[0], live) if kind == "key" else decode(data[0]))
        return tuple(made)

    def _state(self, reader: Any, expected: Any, text: str) -> Any:
        """What a guard on a state of torch compares. A process group is known by identity, and
        the other one has to be like it."""
        if reader is not distributed_parts.groups_made:
            return reader, decode(expected), text
        if distributed_parts.group_facts() != expected:
            raise Unfit("the process groups are others")
        return reader, reader(), text

    def _tensor(self, at: int, arg: Any) -> _core.TensorSpec:
        facts, sizes, strides = arg
        value = self.value(at)
        if not isinstance(value, tensor_parts.TensorBase) or compared_facts(value) != facts:
            raise Unfit(f"{self.sources[at].path()} is another kind of tensor")
        shape = list(zip(value.shape, sizes)), list(zip(value.stride(), strides))
        if len(value.shape) != len(sizes) or any(
            b is not None and a != b for pairs in shape for a, b in pairs
        ):
            raise Unfit(f"{self.sources[at].path()} has another shape")
        return _core.TensorSpec(
            value,
            dynamic_sizes=tuple(i for i, n in enumerate(sizes) if n is None),
            dynamic_strides=tuple(i for i, n in enumerate(strides) if n is None),
        )

    def _context(self, at: int, facts: Any) -> SameContext:
        """The guard on what a DTensor says of itself, which must be what the other one said."""
        value = self.value(at)
        if not dtensor_parts.is_plain(value) or dtensor_parts.tensor_context(value) != facts:
            raise Unfit(f"{self.sources[at].path()} is spread in another way")
        return SameContext(*value.__tensor_flatten__())

    def _same_memory(self) -> None:
        """Tensors known by identity share memory with each other just as they did."""
        groups: dict[int, int] = {}
        for guard, group in self.artefact["memory"]:
            key = dtensor_parts.storage_key(self.guarded[guard])
            if groups.setdefault(key, group) != group:
                raise Unfit("two tensors share their memory that did not")
        if len(set(groups.values())) != len(groups):
            raise Unfit("two tensors do not share their memory that did")

    def _expected(self, data: Any) -> Expected:
        """What is expected of a condition on data. A way that was learned from earlier calls must
        have been learned here too."""
        place, truth, kept, way, skips = data
        position = self.code(place[0]), int(place[1])
        if way is not None and self.unit.expected().get(position) != tuple(way):
            raise Unfit("a branch on data is not expected to go this way yet")
        return Expected(position, bool(truth), bool(kept), way is not None, bool(skips))

    # ---- the function

    def _parameters(self, data: Any) -> Parameters | None:
        if data is None:
            return None
        self._sources_up_to(len(self.artefact["sources"]))
        owners, found = (tuple(self.sources[i] for i in data[k]) for k in ("owners", "sources"))
        names = {name: self.ref(ref) for name, ref in data["names"].items()}
        return Parameters(owners, found, data["source"], names)

    def _function(self, data: dict[str, Any]) -> Any:
        namespace = {name: self.ref(ref) for name, ref in data["names"].items()}
        if self.parameters is not None:
            namespace[PARAMETERS] = self.parameters
        graph = data["graph"]
        if graph is not None:
            run = graph_from(self, graph)
            statics = [self.guarded[one] for one in graph["statics"]]
            if not all(is_aligned(self.guarded[one]) for one in graph["aligned_statics"]):
                raise Unfit("a tensor begins at another place in the memory of its GPU")
            namespace["graph"] = functools.partial(run, *statics) if statics else run
        name = data["name"]
        exec(compile(data["source"], f"{VARIANT}{name}>", "exec", dont_inherit=True), namespace)
        function = namespace.pop(name)
        code, index = data["replaces"]
        function.__code__ = relocated(function.__code__, decode_code(self.code(code)), index)
        hide(function.__code__)
        return function


class _Late:
    """A source that was not read yet."""

    __slots__ = ("base", "source")

    def __init__(self, base: int, source: Source) -> None:
        self.base, self.source = base, source


def _globals(name: str) -> dict[str, Any]:
    home = module_named(name)
    if home is None:
        raise LookupError(f"the module {name} is not imported")
    return vars(home)
