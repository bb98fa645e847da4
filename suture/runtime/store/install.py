"""From an artefact to a variant of a point, if all that it says is found again in a state.

Each object that the artefact knows is looked for at its source and compared with its fingerprint;
one object there is one object here, two are two. The guards, on what was found, must hold.
"""

from __future__ import annotations

import functools
import types
from pathlib import Path
from typing import Any

from suture._core import Point
from suture.bytecode import decode as decode_code
from suture.runtime import VARIANT, relocated
from suture.runtime.callers.aligned import is_aligned
from suture.runtime.chain import slot_names
from suture.runtime.checks import AfterCheck, Watch
from suture.runtime.fallbacks import watch
from suture.runtime.guards import Guards, finish
from suture.runtime.parameters import PARAMETERS, Parameters
from suture.runtime.points import Variant
from suture.runtime.sources import Source, pinned, slot
from suture.runtime.store import files, graph_forms, source_paths
from suture.runtime.store.graphs import graph_from
from suture.runtime.store.guard_arguments import ARGUMENTS
from suture.runtime.store.literals import Unstorable
from suture.runtime.store.made_objects import KINDS
from suture.runtime.store.names import parts_of
from suture.runtime.store.references import Unfit
from suture.runtime.unexpected import Expected, expect
from suture.runtime.unit import Unit, drop
from suture.torch_private import dtensor_parts
from suture.torch_private.torchdynamo import hide


def install(
    unit: Unit, point: Point, state: tuple[Any, ...], artefact: dict[str, Any], root: Path
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
        self, unit: Unit, point: Point, state: Any, artefact: dict[str, Any], root: Path
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
        function = self._function(data)
        self._same_parts()
        return Variant(
            function,
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
        kind = KINDS.get(data[0])
        if kind is None:
            raise ValueError(f"no reference is called {data[0]!r}")
        return kind.read(self, *data[1:])

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

    # ---- guards

    def _guards(self) -> Guards:
        guards = Guards()
        for entry in self.artefact["guards"]:
            at, kind, arg, where = entry
            self._more_sources()
            source = None if at is None else self.sources[at]
            argument, known = ARGUMENTS[kind].read(self, at, arg)
            guards.add(source, kind, argument)
            self.guarded.append(known)
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
                source = source_paths.below(self, self.sources[root], step)
                value = _Late(root, source)
            self.sources.append(source)
            self.values.append(value)

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

    def _same_memory(self) -> None:
        """Tensors known by identity share memory with each other just as they did."""
        groups: dict[int, int] = {}
        for guard, group in self.artefact["memory"]:
            key = dtensor_parts.storage_key(self.guarded[guard])
            if groups.setdefault(key, group) != group:
                raise Unfit("two tensors share their memory that did not")
        if len(set(groups.values())) != len(groups):
            raise Unfit("two tensors do not share their memory that did")

    def _same_parts(self) -> None:
        """What known objects are made of is one object where it was one, and two where two were."""
        for number, parts in self.artefact["parts"]:
            found = parts_of(self.objects[number])
            if len(found) != len(parts):
                raise Unfit("an object is made of other parts")
            for part, value in zip(parts, found):
                self.bind(part, value)

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
        if data["graph"] is not None:
            graph = graph_forms.decode(data["graph"])
            run = graph_from(self, graph)
            statics = [self.guarded[one] for one in graph.statics]
            if not all(is_aligned(self.guarded[one]) for one in graph.aligned_statics):
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
