"""Operators of sets: `|`, `<=`, `==` and their kin, and the methods that change a set in place."""

from __future__ import annotations

from typing import Any

from suture.breaks import Break, objects
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.objects.constant import Constant
from suture.compiler.objects.methods import method, run_method
from suture.compiler.objects.set_ import MOVED, Set, operand_of
from suture.compiler.objects.set_history import Operand, leaves
from suture.compiler.objects.set_keys import compare_members
from suture.runtime.predicates import LITERALS


def _in_place(name: str) -> Any:
    """The method that changes a set as the real one of that name changes its table."""

    def operate(self: Set, trace: Trace, *others: Value) -> Value:
        if name == "symmetric_difference_update" and len(others) != 1:
            return abstract.refused_method(trace, set, name, list(others), {})
        operands = [operand_of(trace, other) for other in others]
        operands = [Operand(dict(o.entries), o.keys, o.known, o.leaf) for o in operands]
        before = self.operand()
        only_asked = name == "difference_update"
        if leaves(operands, only_asked) is None and self.history.steps is not None:
            if all(type(k) in LITERALS for o in (*operands, before) for k in o.entries):
                raise Break(objects.UNKNOWN_OBJECT, operation=name, object=self.describe())
        compare_members(trace, [o.entries for o in (*operands, before)])
        table = self.base_table()
        found = {id(k): v for o in (*operands, before) for k, v in o.entries.items()}
        entries = self.change(trace)
        getattr(table, name)(*(o.keys for o in operands))
        self.history.add(name, leaves(operands, only_asked))
        self.table = table if all(o.known for o in (*operands, before)) else MOVED
        kept = {k: found[id(k)] for k in (entries if name == "update" else ()) if k in table}
        kept.update((k, found[id(k)]) for k in table if k not in kept)
        entries.clear()
        entries.update(kept)
        return Constant(None)

    return operate


for _name in ("update", "intersection_update", "difference_update", "symmetric_difference_update"):
    method(Set, f"{_name}")(_in_place(_name))


def _set_operator(method: str) -> Any:
    def operate(self: Set, trace: Trace, other: Value) -> Value:
        if not isinstance(abstract.builtin_part(trace, other), Set):
            return Constant(NotImplemented)
        return run_method(trace, self, method, other)

    return operate


def _set_update(method: str) -> Any:
    def operate(self: Set, trace: Trace, other: Value) -> Value:
        if self.kind is frozenset or not isinstance(abstract.builtin_part(trace, other), Set):
            return Constant(NotImplemented)  # a frozenset gives another one, as `|` does
        run_method(trace, self, method, other)
        return self

    return operate


def _set_compare(strict: bool, flip: bool, equal: bool | None) -> Any:
    def operate(self: Set, trace: Trace, other: Value) -> Value:
        other = abstract.builtin_part(trace, other)
        if not isinstance(other, Set):
            return Constant(NotImplemented)
        compare_members(trace, (self.entries, other.entries))
        a, b = set(self.entries), set(other.entries)
        if equal is not None:
            return Constant((a == b) is equal)
        if flip:
            a, b = b, a
        return Constant(a < b if strict else a <= b)

    return operate


for _name, _method in (("and", "intersection"), ("or", "union"), ("sub", "difference")):
    method(Set, f"__{_name}__")(_set_operator(_method))
    method(Set, f"__i{_name}__")(_set_update(_method + "_update" if _name != "or" else "update"))
method(Set, "__xor__")(_set_operator("symmetric_difference"))
method(Set, "__ixor__")(_set_update("symmetric_difference_update"))
method(Set, "__eq__")(_set_compare(False, False, True))
method(Set, "__ne__")(_set_compare(False, False, False))
method(Set, "__le__")(_set_compare(False, False, None))
method(Set, "__lt__")(_set_compare(True, False, None))
method(Set, "__ge__")(_set_compare(False, True, None))
method(Set, "__gt__")(_set_compare(True, True, None))
