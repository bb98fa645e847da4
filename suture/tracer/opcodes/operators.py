"""Attributes, items, operators, comparisons."""

from __future__ import annotations

from typing import Any

from suture.bytecode import pair
from suture.tracer.opcodes.table import op
from suture.variables import NULL, Constant, Slice


@op("LOAD_ATTR", run="getattr")
def load_attr(tx: Any, inst: Any, obj: Any) -> Any:
    return tx.tail_getattr(obj, inst.val)


@op("LOAD_METHOD", run="load_method")
def load_method(tx: Any, inst: Any, obj: Any) -> Any:
    return pair(tx.getattr(obj, inst.val), NULL)


@op("LOAD_SUPER_ATTR", run="super_attr")
def load_super_attr(tx: Any, inst: Any, sup: Any, cls: Any, obj: Any) -> Any:
    return tx.getattr(tx.make_super(sup, cls, obj, bool(inst.arg & 2)), inst.val)


@op("LOAD_SUPER_METHOD", run="super_method")
def load_super_method(tx: Any, inst: Any, sup: Any, cls: Any, obj: Any) -> Any:
    return pair(tx.getattr(tx.make_super(sup, cls, obj, bool(inst.arg & 2)), inst.val), NULL)


@op("STORE_ATTR", run="setattr")
def store_attr(tx: Any, inst: Any, value: Any, obj: Any) -> None:
    tx.setattr(obj, inst.val, value)


@op("DELETE_ATTR", run="delattr")
def delete_attr(tx: Any, inst: Any, obj: Any) -> None:
    tx.delattr(obj, inst.val)


@op("BINARY_SUBSCR", run="getitem")
def binary_subscr(tx: Any, inst: Any, obj: Any, key: Any) -> Any:
    return tx.tail_getitem(obj, key)


@op("STORE_SUBSCR", run="setitem")
def store_subscr(tx: Any, inst: Any, value: Any, obj: Any, key: Any) -> None:
    tx.setitem(obj, key, value)


@op("DELETE_SUBSCR", run="delitem")
def delete_subscr(tx: Any, inst: Any, obj: Any, key: Any) -> None:
    tx.delitem(obj, key)


@op("BINARY_SLICE", run="getslice")
def binary_slice(tx: Any, inst: Any, obj: Any, start: Any, stop: Any) -> Any:
    return tx.tail_getitem(obj, Slice(start, stop, Constant(None)))


@op("STORE_SLICE", run="setslice")
def store_slice(tx: Any, inst: Any, value: Any, obj: Any, start: Any, stop: Any) -> None:
    tx.setitem(obj, Slice(start, stop, Constant(None)), value)


@op("UNARY_POSITIVE", run="pos")
def unary_positive(tx: Any, inst: Any, value: Any) -> Any:
    return tx.unary("pos", value)


@op("UNARY_NEGATIVE", run="neg")
def unary_negative(tx: Any, inst: Any, value: Any) -> Any:
    return tx.unary("neg", value)


@op("UNARY_INVERT", run="invert")
def unary_invert(tx: Any, inst: Any, value: Any) -> Any:
    return tx.unary("invert", value)


@op("UNARY_NOT", run="not_")
def unary_not(tx: Any, inst: Any, value: Any) -> Any:
    return tx.negate(tx.to_bool(value))


@op("TO_BOOL", run="bool")
def to_bool(tx: Any, inst: Any, value: Any) -> Any:
    return tx.to_bool(value)


@op("BINARY_OP", run="binary")
def binary_op(tx: Any, inst: Any, left: Any, right: Any) -> Any:
    return tx.binary(inst.val, left, right)


@op("COMPARE_OP", run="compare")
def compare_op(tx: Any, inst: Any, left: Any, right: Any) -> Any:
    return tx.compare(inst.val, left, right)


@op("COMPARE_TEST", run="compare_test")
def compare_test(tx: Any, inst: Any, left: Any, right: Any) -> Any:
    return tx.to_bool(tx.compare(inst.val, left, right))


@op("IS_OP", run="is")
def is_op(tx: Any, inst: Any, left: Any, right: Any) -> Any:
    return Constant(tx.same(left, right) is (inst.val == "is"))


@op("CONTAINS_OP", run="contains")
def contains_op(tx: Any, inst: Any, item: Any, container: Any) -> Any:
    found = tx.contains(container, item)
    return found if inst.val == "in" else tx.negate(found)
