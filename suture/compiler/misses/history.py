"""What earlier calls of a point looked like, so that what changes becomes symbolic.

By source path: the number seen, the sizes seen, the object seen. The second value that differs
makes the source dynamic for good.
"""

from __future__ import annotations

import weakref
from typing import Any

import torch

from suture import config
from suture.bytecode import decode, iterator_slots
from suture.compiler.misses.named_sources import named, named_sizes
from suture.compiler.plan import Plan
from suture.runtime.branches import Position
from suture.runtime.chain import Chain, slot_names
from suture.runtime.points import PointData
from suture.runtime.sources import slot
from suture.runtime.unit import Unit


class History:
    """The memory of one point. Others ask and tell it by its methods only; how the next region is
    to be traced, as far as earlier tries and calls have shown, is `plan()`."""

    __slots__ = (
        "_bound",
        "_changing",
        "_forms",
        "_iterator_indices",
        "_moving",
        "_numbers",
        "_objects",
        "_of_layers",
        "_plan",
        "_ranks",
        "_received",
        "_resumed",
        "_schedules",
        "_sizes",
        "_spec",
        "_strides",
        "_turned",
    )  # fmt: skip

    def __init__(self, dynamic: bool | None, resumed: bool = False) -> None:
        self._plan = Plan(dynamic=dynamic)
        self._resumed = resumed  # the point is inside of a function
        self._bound: Any = None  # gives the one module that this is compiled for, if there is one
        self._numbers: dict[str, Any] = {}
        self._sizes: dict[tuple[str, int], tuple[int, ...]] = {}
        self._strides: dict[tuple[str, int], Any] = {}
        self._objects: dict[str, Any] = {}
        self._of_layers: set[str] = set()  # numbers in which layers differ: a module's, lengths
        self._iterator_indices: dict[str, str] = {}
        self._moving: dict[tuple[str, int], set[int]] = {}
        self._changing: set[str] = set()
        self._turned: set[Position] = set()  # branches on what modules keep that went both ways
        self._ranks: dict[str, set[int]] = {}
        self._received: dict[str, frozenset[int]] = {}  # sizes that are symbols in another region
        self._schedules: dict[str, set[Any]] = {}  # steps at which regions had schedules in them
        self._forms: dict[str, set[Any]] = {}
        # What `dynamic_shapes` says, by path; None: an int that changes.
        self._spec: dict[str, Any] = {}

    def follow(self, spec: dict[str, Any]) -> None:
        """What changes is what `dynamic_shapes` says, by path, and nothing else."""
        self._spec = spec
        self._plan = self._plan.having(dynamic=False)

    def said(self, path: str, marks: Any) -> Any:
        """The marks that count for the tensor at `path`: of `dynamic_shapes`, else its own."""
        return self._spec.get(path) or marks

    # ---- the plan

    def plan(self) -> Plan:
        """How to trace the next region of this point."""
        return self._plan

    def keep(self, plan: Plan) -> None:
        """What a try has found out counts for later ones too, except for where it had to stop, and
        for a graph that the backend failed on: another one may be compiled."""
        self._plan = plan.having(uncompiled=False)

    def unexpected(self, failed: list[tuple[Position, bool]]) -> None:
        """Branches that did not go as their variant expected, each with whether it hangs on what
        modules keep: such a one may turn once, and is expected to stay there."""
        turned = {p for p, kept in failed if kept and p not in self._turned}
        others = frozenset(p for p, kept in failed if not kept or p not in turned)
        self._plan = self._plan.having(unexpected=self._plan.unexpected | others)
        self._turned |= turned

    # ---- what is told before the first trace

    def bind(self, module: object) -> None:
        """This is compiled for `module` alone; None: for any."""
        self._bound = weakref.ref(module) if module is not None else None

    def is_for(self, module: object) -> bool:
        """Whether this is compiled for one module alone, and it is `module`."""
        return self._bound is not None and self._bound() is module

    def changes(self, path: str) -> None:
        """What is at `path` changes: a number there is a symbol from the start."""
        self._changing.add(path)

    def receives(self, path: str, sizes: frozenset[int] | None) -> None:
        """The region before gives a tensor of which these sizes are symbols there, or (None) a
        number that is one: they are symbols here from the start."""
        if not _automatic(self._plan):
            return
        if sizes is None:
            self._changing.add(path)
        else:
            self._received[path] = self._received.get(path, frozenset()) | sizes

    def is_run_as_loop(self, iterator: str) -> None:
        """The point is after the instruction that takes an element from the iterator at this
        path: the loop is not unrolled."""
        self._iterator_indices[iterator] = ""

    def learn(self, other: History, everything: bool) -> None:
        """Take over what another history of the same point has seen: what differs between the two
        changes. Without `everything` that counts for ints below a module that is an argument
        and for lengths of lists."""
        for path, number in other._numbers.items():
            if everything or (type(number) is int and path in other._of_layers):
                if self._numbers.setdefault(path, number) != number:
                    self._changing.add(path)
        if not everything:
            return
        for size, shape in other._sizes.items():
            before = self._sizes.setdefault(size, shape)
            changed = {i for i, (a, b) in enumerate(zip(before, shape)) if a != b}
            self._moving.setdefault(size, set()).update(changed)
        for key, moving in other._moving.items():
            self._moving.setdefault(key, set()).update(moving)
        self._changing |= other._changing
        self._plan = self._plan.having(
            constants=self._plan.constants | other._plan.constants,
            floats_as_data=self._plan.floats_as_data or other._plan.floats_as_data,
        )

    def steps_of(self, schedule: str, step: object) -> int:
        """At how many steps the schedule at this path was traced into, `step` included."""
        seen = self._schedules.setdefault(schedule, set())
        seen.add(step)
        return len(seen)

    # ---- numbers

    def dynamic_number(self, plan: Plan, path: str, value: Any, fixed: bool = False) -> bool:
        """Whether the number at `path` is to be a symbol. `fixed`: it belongs to an object that
        stays the same, such as a module's stride: not before it has changed."""
        if path in plan.constants:
            return False
        if config.specialize_float if type(value) is float else config.specialize_int:
            return False
        if path in self._spec:
            return True
        if named(config.static_sources, path):
            return False
        if named(config.dynamic_sources, path):
            return True
        if plan.dynamic is False:
            return False
        if path in self._changing or ((plan.dynamic or not config.assume_static) and not fixed):
            return True
        before = self._numbers.setdefault(path, value)
        if fixed:
            self._of_layers.add(path)
        if config.automatic_dynamic and (before != value or type(before) is not type(value)):
            self._changing.add(path)
            return True
        return False

    def differs_by_layer(self, path: str) -> None:
        """The number at `path` is one in which layers that share their code differ."""
        self._of_layers.add(path)

    def same_number(self, path: str, number: Any) -> bool:
        """Whether the number at `path` has been the same in all calls so far."""
        if self._numbers.setdefault(path, number) != number:
            self._changing.add(path)
        return path not in self._changing

    def changing_text(self, plan: Plan, path: str, text: str) -> bool:
        """Whether a text at `path` was another one before."""
        if not _automatic(plan) or named(config.static_sources, path):
            return False
        return not self.same_number(path, text)

    def turn(self, numbers: dict[str, Any]) -> None:
        """The numbers that the turns of a loop change, by path, at a point inside it: as soon as
        one of them is seen to change, all of them are symbols."""
        if config.automatic_dynamic and any(
            path in self._numbers and self._numbers[path] != value
            for path, value in numbers.items()
        ):
            self._changing.update(numbers)
        for path, value in numbers.items():
            self._numbers.setdefault(path, value)

    def dynamic_sizes(self, plan: Plan, path: str, value: torch.Tensor) -> set[int]:
        """Which sizes of the tensor at `path` are to be symbols, marks aside."""
        static = named_sizes(config.static_sources, path, value.dim())
        return self._moving_sizes(plan, path, value) - static

    def _moving_sizes(self, plan: Plan, path: str, value: torch.Tensor) -> set[int]:
        shape = tuple(value.shape)
        every = set(range(len(shape)))
        listed = named_sizes(config.dynamic_sources, path, len(shape))
        if listed:
            return listed
        if plan.dynamic is False or isinstance(value, torch.nn.Parameter):
            return set()
        if plan.dynamic or not config.assume_static:
            return every
        key = (path, len(shape))
        ranks = self._ranks.setdefault(path, set())
        ranks.add(len(shape))
        before = self._sizes.setdefault(key, shape)
        moving = self._moving.setdefault(key, set())
        if config.automatic_dynamic and len(ranks) > 1:
            moving |= every
        elif config.automatic_dynamic:
            moving |= {i for i, (a, b) in enumerate(zip(before, shape)) if a != b}
        return moving | (self._received.get(path, frozenset()) & every)

    def see(self, values: dict[str, Any]) -> None:
        """Remember the sizes and numbers of a call that was not compiled, by the names of what the
        point is given: what differs on the next call is a symbol at once."""
        for name, value in values.items():
            if issubclass(type(value), torch.Tensor):
                self.dynamic_sizes(self._plan, f"L[{name!r}]", value)
            elif type(value) in (int, float):
                self.dynamic_number(self._plan, f"L[{name!r}]", value)

    def learn_from_rank(self, sizes: dict[str, list[int]], numbers: dict[str, Any]) -> None:
        """Note what another rank was called with, by path: what differs is a symbol here too."""
        if not _automatic(self._plan):
            return
        for path, told in sizes.items():
            shape = tuple(told)
            self._ranks.setdefault(path, set()).add(len(shape))
            before = self._sizes.setdefault((path, len(shape)), shape)
            moving = self._moving.setdefault((path, len(shape)), set())
            moving |= {i for i, (a, b) in enumerate(zip(before, shape)) if a != b}
        for path, number in numbers.items():
            self.same_number(path, number)

    def dynamic_strides(self, plan: Plan, path: str, value: torch.Tensor) -> bool:
        """Whether the strides of the tensor at `path`, whose sizes stay, are to be symbols: the
        order of its dimensions in memory has stayed while the distances changed."""
        if not _automatic(plan) or isinstance(value, torch.nn.Parameter):
            return False
        strides = value.stride()
        before = self._strides.setdefault((path, len(strides)), strides)
        if before is not _MANY and before != strides and _order(before) == _order(strides):
            before = self._strides[path, len(strides)] = _MANY
        return before is _MANY

    def writes_tensor(self, plan: Plan, path: str, shape: list[int | None]) -> tuple[int, ...]:
        """A region writes a tensor of this shape (None: a symbol) where it read one. Gives what
        those sizes were that become symbols by that."""
        before = self._sizes.get((path, len(shape)))
        if before is None or not _automatic(plan):
            return ()
        moving = self._moving.setdefault((path, len(shape)), set())
        new = {i for i, (a, b) in enumerate(zip(before, shape)) if a != b} - moving
        moving |= new
        return tuple(before[i] for i in new)

    def writes_number(self, plan: Plan, path: str, kind: type, value: Any) -> bool:
        """A region writes a number (None: a symbol) where it read one. True if it becomes a
        symbol by that."""
        before = self._numbers.get(path)
        if type(before) is not kind or before == value or not _automatic(plan):
            return False
        if path in self._changing or path in plan.constants:
            return False
        self._changing.add(path)
        return True

    # ---- objects, iterators, containers

    def replaces_object(self, path: str) -> bool:
        """A region puts another object where it read one. True if it took it to stay the same."""
        if path not in self._objects or self._objects[path] is _MANY:
            return False
        self._objects[path] = _MANY
        return True

    def steady(self, path: str, token: str) -> bool:
        """Whether an iterator has always been at the same index when the point was reached."""
        if self._iterator_indices.setdefault(path, token) == token:
            return True
        self._iterator_indices[path] = ""  # it moves: never steady again
        return False

    def is_unstable(self, path: str, form: Any, most: int) -> bool:
        """Whether what a point inside of a function finds at `path` has come in more than `most`
        forms, such as the lengths of a list to which each turn of a loop adds: another variant for
        another form would not be the last one."""
        if not self._resumed:
            return False
        seen = self._forms.setdefault(path, set())
        seen.add(form)
        return len(seen) > most

    def is_resumed(self) -> bool:
        """Whether the point is inside of a function: there `is_unstable` may be true."""
        return self._resumed

    def is_made_anew(self, path: str, cls: type, name: str) -> bool:
        """Whether objects at `path` were of more than a few classes of one qualified name, of which
        `cls` is the last: each call makes another one."""
        seen = self._forms.setdefault(f"the class of {path}: {name}", set())
        seen.add(id(cls))
        return len(seen) > _MOST_CLASSES

    def same_object(self, path: str, value: Any) -> bool:
        """Whether the object at `path` has been one and the same so far."""
        known = self._objects.get(path)
        if known is None:
            self._objects[path] = _identity_of(value)
            return True
        if known is _MANY:
            return False
        seen = known()
        if seen is value or (type(seen) is _Id and seen == value):
            return True
        self._objects[path] = _MANY
        return False


def history_of(unit: Unit, data: PointData) -> History:
    """The memory of a point of this unit."""
    if data.history is None:
        data.history = _new(unit, data.chain)
    found: History = data.history
    return found


def _new(unit: Unit, chain: Chain) -> History:
    """A new memory. The element a loop has just taken, and what a call that Python ran has
    given (a clock, a random number), change: a number there is a symbol from the start."""
    spec = chain[0]
    resumed = spec.index > 0 or len(chain) > 1
    made = History(unit.options.dynamic, resumed=resumed)
    if unit.options.shapes is not None and not resumed and spec.code is unit.code:
        made.follow(unit.options.shapes)
    code = decode(spec.code).instructions
    before = code[spec.index - 1].op if spec.depth and 0 < spec.index < len(code) else ""
    if before in ("FOR_ITER", "CALL"):
        # The innermost frame comes first: its slots are the state's.
        names = slot_names(chain)
        paths = [slot(i, names[i]).path() for i in map(spec.stack_slot, range(spec.depth))]
        made.changes(paths[-1])
        if before == "FOR_ITER":
            made.is_run_as_loop(paths[-1 - iterator_slots(code[spec.index - 1])])
    return made


def _automatic(plan: Plan) -> bool:
    return plan.dynamic is None and config.automatic_dynamic and config.assume_static


def _order(strides: tuple[int, ...]) -> list[int]:
    return sorted(range(len(strides)), key=lambda i: -strides[i])


def _identity_of(value: Any) -> Any:
    """What tells an object from others and does not keep it alive. torch exchanges the contents of
    no tensor that has a weak reference, and `Module.to` does that to those of subclasses."""
    if isinstance(value, torch.Tensor):
        return _Id(value)
    try:
        return weakref.ref(value)
    except TypeError:
        return _Id(value)


class _Id:
    """Stands for an object that takes no weak reference, or should have none; never keeps it
    alive, so that another object may later be taken for it."""

    __slots__ = ("of",)

    def __init__(self, value: Any) -> None:
        self.of = id(value)

    def __call__(self) -> Any:
        return self

    def __eq__(self, other: object) -> bool:
        return id(other) == self.of

    def __hash__(self) -> int:
        return self.of


_MANY = object()
_MOST_CLASSES = 3  # that one definition has made, before none of them is looked into
