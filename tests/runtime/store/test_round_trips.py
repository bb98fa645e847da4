"""Every kind of constant, reference and guard in an artefact is read as it was written."""

from __future__ import annotations

import json
import sys
import types

import pytest
import torch

from suture import _core
from suture.bytecode import decode
from suture.runtime import entry_chain
from suture.runtime.checks import AfterCheck, RowsWatch, Watch
from suture.runtime.guards import _KINDS as GUARD_KINDS
from suture.runtime.guards import Guard
from suture.runtime.interpret import AfterFailure, hooks_on_saved
from suture.runtime.points import PointData
from suture.runtime.predicates import formula
from suture.runtime.reads import NthHook
from suture.runtime.sources import slot
from suture.runtime.store import literals, made_objects, source_paths
from suture.runtime.store.guard_arguments import ARGUMENTS
from suture.runtime.store.references import write
from suture.runtime.store.stand_ins import MadeFrames, MadeOperation, WarningRegistry

CONSTANTS = {
    "float": [1.5, float("inf"), -0.0],
    "complex": [1 - 2j],
    "bytes": [b"\x00a"],
    "tuple": [(), (1, ("a", None))],
    "list": [[], [True, [2.5]]],
    "Size": [torch.Size([2, 3])],
    "frozenset": [frozenset({1, "a"})],
    "slice": [slice(1, None, 2)],
    "range": [range(1, 9, 2)],
    "torch": [torch.float32, torch.strided, torch.channels_last],
    "device": [torch.device("cpu"), torch.device("cuda", 1)],
    "single": [..., NotImplemented, _core.UNBOUND],
    "placement": [],  # tests/runtime/store/test_dtensors.py
}


@pytest.mark.parametrize("kind", literals.KINDS)
def test_constants(kind):
    for value in CONSTANTS[kind]:
        data = literals.encode(value)
        assert list(data) == [kind]
        found = literals.decode(json.loads(json.dumps(data)))
        assert type(found) is type(value)
        assert found == value
        assert kind == "frozenset" or repr(found) == repr(value)  # -0.0 is not 0.0


def program(x):
    return x.y


CODE = program.__code__
CHAIN = entry_chain(CODE)
LOADS_Y = next(one.index for one in decode(CODE).instructions if one.val == "y")


class Owner:
    """What a guard knows a part of."""

    def method(self):
        pass


class Both:
    """Writes and reads in one process, where all code is that of `program`, and there is one source
    with this value."""

    def __init__(self, value=None):
        self.bound = Owner().method
        self.guarded = [self.bound, object()]
        self.known = {id(self.guarded[1]): 1}
        self.held = {id(self.bound.__self__): (0, "__self__")}
        self.keys = {id(self)}
        self.objects, self.written = {}, []
        self.chain, self.unit = CHAIN, self
        self.watch = self.checks = None
        self.sources, self.at = [slot(0, "x")], value

    def number(self, value):
        self.objects[id(value)] = value
        return id(value)

    def bind(self, number, value):
        assert self.objects[number] is value
        return value

    def code(self, given):
        return "code" if isinstance(given, types.CodeType) else CODE

    def point(self, chain, interpret_only, raises):
        return [one.code for one in chain], interpret_only, raises

    def ref(self, data):
        return made_objects.KINDS[data[0]].read(self, *data[1:])

    def number_of(self, source):
        return self.sources.index(source)

    def value(self, source):
        return self.at

    def know(self, value):
        self.written.append(value)

    know_key = know


def is_same(found, value, both):
    return found is value


def is_equal(found, value, both):
    return type(found) is type(value) and found == value


# An object of each kind, made for a `Both`, and whether another one stands for it.
REFERENCES = {
    "guard": (lambda both: both.guarded[1], is_same),
    "value": (lambda both: (1, 2.5), is_equal),
    "number": (lambda both: both, is_same),
    "held": (lambda both: both.bound.__self__, is_same),
    "point": (
        lambda both: _core.Point("p", id, PointData(CHAIN, interpret_only=True, raises=False)),
        lambda found, value, both: found == ([CODE], True, False),
    ),
    "code": (lambda both: CODE, is_same),
    "globals": (lambda both: globals(), is_same),
    "name": (lambda both: torch.sin, is_same),
    "module": (lambda both: sys, is_same),
    "failed": (
        lambda both: AfterFailure(CHAIN, True, hooks_on_saved),
        lambda found, value, both: found.writes and found.chain is CHAIN,
    ),
    "after_check": (
        lambda both: AfterCheck(CHAIN),
        lambda found, value, both: type(found) is AfterCheck and both.checks is found,
    ),
    "watch": (
        lambda both: Watch((CODE, 3)),
        lambda found, value, both: found.position == (CODE, 3) and both.watch is found,
    ),
    "rows": (
        lambda both: RowsWatch((CODE, 3), 5),
        lambda found, value, both: (
            (found.position, found.count) == ((CODE, 3), 5) and both.watch is found
        ),
    ),
    "operation": (
        lambda both: MadeOperation("getattr", CODE, LOADS_Y),
        lambda found, value, both: found(types.SimpleNamespace(y=3)) == 3,
    ),
    "frames": (
        lambda both: MadeFrames(((CODE, globals(), 2),)),
        lambda found, value, both: type(found) is _core.SyntheticFrames,
    ),
    "registry": (
        lambda both: WarningRegistry(globals()),
        lambda found, value, both: found is globals()["__warningregistry__"],
    ),
    "made": (
        lambda both: NthHook(2, True),
        lambda found, value, both: found == value,
    ),
    "formula": (lambda both: formula("n0 + 1", 1), lambda found, value, both: found(2) == 3),
    "list": (lambda both: [both, torch.sin], is_equal),
    "tuple": (lambda both: (both, torch.sin), is_equal),
    "objects": (lambda both: (both, (torch.sin,)), is_equal),
    "dict": (lambda both: {"a": both}, is_equal),
}


@pytest.mark.parametrize("kind", made_objects.KINDS)
def test_references(kind):
    make, stands_for = REFERENCES[kind]
    scopes = (made_objects.PART, made_objects.CONSTANT, made_objects.GRAPH_GLOBAL)
    both = Both()
    value = make(both)
    scope = next(one for one in scopes if kind in {each.name for each in one})
    data = write(both, value, scope)
    assert data[0] == kind
    assert stands_for(both.ref(json.loads(json.dumps(data))), value, both)


def test_a_kind_of_reference_has_one_way_to_be_read():
    scopes = (*made_objects.GRAPH_GLOBAL, *made_objects.CONSTANT, *made_objects.PART)
    assert all(made_objects.KINDS[one.name].read is one.read for one in scopes)


TENSOR = torch.zeros(2, 3)


def reads_grad_mode():
    return torch.is_grad_enabled()


# Of each kind of guard: what is at its source, and its argument.
GUARDS = {
    "is": (torch.sin, torch.sin),
    "weak": (Owner, Owner),
    "type": (1, int),
    "tensor": (TENSOR, _core.TensorSpec(TENSOR, dynamic_sizes=(0,), dynamic_strides=())),
    "same": (None, slot(0, "x")),
    "distinct": (None, (slot(0, "x"),)),
    "expr": (None, ((), ("code",), "text")),
    "expr_py": (None, ((), torch.sin, "text")),
    "torch_state": (None, (reads_grad_mode, True, "grad mode")),
    "truth": (None, torch.sin),
    "keys": ({"a": 1, Owner: 2}, ("a", Owner)),
    "equals": (None, 2.5),
    "len": (None, 3),
    "no_key": (None, "a"),
    "no_attr": (None, "a"),
    "no_mro_attr": (None, "a"),
    "int": (None, None),
    "float": (None, None),
    "bool": (None, None),
    "unbound": (None, None),
    "exists": (None, None),
}


@pytest.mark.parametrize("kind", GUARD_KINDS)
def test_guards(kind):
    value, argument = GUARDS[kind]
    both = Both(value)
    if kind in ("same", "distinct"):
        both.sources = [argument] if kind == "same" else list(argument)
    data = ARGUMENTS[kind].write(both, Guard(both.sources[0], kind, argument))
    found, known = ARGUMENTS[kind].read(both, 0, json.loads(json.dumps(data)))
    assert found == argument or repr(found) == repr(argument)
    assert known is (argument if kind in ("is", "weak", "type") else None)


def variables(a=1, *, b=2):
    return LOADS_Y, a, b


def closes_over(value):
    return lambda: value


BASE = slot(0, "x")
# Of each kind of step: a source that ends in it, what is at its base, and what is there.
STEPS = {
    "attr": (BASE.attr("y"), types.SimpleNamespace(y=3), 3),
    "mro_attr": (BASE.child("mro_attr", "method"), Owner, Owner.method),
    "kwdefault": (BASE.child("kwdefault", "b"), variables, 2),
    "index": (BASE.index(1), [1, 2], 2),
    "key": (BASE.child("key", 1), {"a": 1, "b": 2}, "b"),
    "closure": (BASE.child("closure", 0), closes_over(3), types.CellType(3)),
    "default": (BASE.child("default", 0), variables, 1),
    "dict": (BASE.child("dict"), types.SimpleNamespace(y=3), {"y": 3}),
    "cell": (BASE.child("cell"), types.CellType(3), 3),
    "type": (BASE.child("type"), 3, int),
    "code": (BASE.child("code"), program, CODE),
    "item": (BASE.item("a"), {"a": 1}, 1),
    "pick": (BASE.pick(BASE), None, None),
    "call": (BASE.call(len), [1, 2], 2),
}


@pytest.mark.parametrize("kind", source_paths.STEPS)
def test_steps_of_sources(kind):
    source, at, value = STEPS[kind]
    both = Both()
    both.sources = [BASE]
    data = source_paths.step_of(both, source)
    assert data[0] == kind
    found = source_paths.below(both, BASE, json.loads(json.dumps(data)))
    assert (found.kind, found.arg) == (source.kind, source.arg)
    if kind != "pick":  # the index is read first
        assert source_paths.read(found, at) == value
