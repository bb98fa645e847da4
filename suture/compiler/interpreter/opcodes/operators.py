"""Attributes, items, operators, comparisons."""

from __future__ import annotations

from typing import Any

from suture.bytecode import Instruction, pair
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.interpreter.opcodes.table import op
from suture.compiler.language.attribute_writes import del_attr, set_attr
from suture.compiler.language.attributes import tail_getattr
from suture.compiler.language.items import del_item
from suture.compiler.language.operators import unary_operator
from suture.compiler.language.super_lookup import make_super
from suture.compiler.objects import NULL, Constant, Slice, Tensor
from suture.compiler.outside.identity import asked_same
from suture.compiler.torch.checks import truth_at_branch


@op("LOAD_ATTR", run="getattr")
def load_attr(trace: Trace, inst: Instruction, obj: Value) -> Value:
    return tail_getattr(trace, obj, inst.val)


@op("LOAD_METHOD", run="load_method")
def load_method(trace: Trace, inst: Instruction, obj: Value) -> Any:
    return pair(abstract.getattr(trace, obj, inst.val), NULL)


@op("LOAD_SUPER_ATTR", run="super_attr")
def load_super_attr(trace: Trace, inst: Instruction, sup: Value, cls: type, obj: Value) -> Value:
    return abstract.getattr(trace, make_super(trace, sup, cls, obj, bool(inst.arg & 2)), inst.val)


@op("LOAD_SUPER_METHOD", run="super_method")
def load_super_method(trace: Trace, inst: Instruction, sup: Value, cls: type, obj: Value) -> Any:
    return pair(
        abstract.getattr(trace, make_super(trace, sup, cls, obj, bool(inst.arg & 2)), inst.val),
        NULL,
    )


@op("STORE_ATTR", run="setattr")
def store_attr(trace: Trace, inst: Instruction, value: Value, obj: Value) -> None:
    set_attr(trace, obj, inst.val, value)


@op("DELETE_ATTR", run="delattr")
def delete_attr(trace: Trace, inst: Instruction, obj: Value) -> None:
    del_attr(trace, obj, inst.val)


@op("BINARY_SUBSCR", run="getitem")
def binary_subscr(trace: Trace, inst: Instruction, obj: Value, key: Value) -> Value:
    return abstract.tail_getitem(trace, obj, key)


@op("STORE_SUBSCR", run="setitem")
def store_subscr(trace: Trace, inst: Instruction, value: Value, obj: Value, key: Value) -> None:
    abstract.set_item(trace, obj, key, value)


@op("DELETE_SUBSCR", run="delitem")
def delete_subscr(trace: Trace, inst: Instruction, obj: Value, key: Value) -> None:
    del_item(trace, obj, key)


@op("BINARY_SLICE", run="getslice")
def binary_slice(trace: Trace, inst: Instruction, obj: Value, start: Value, stop: Value) -> Value:
    return abstract.tail_getitem(trace, obj, Slice(start, stop, Constant(None)))


@op("STORE_SLICE", run="setslice")
def store_slice(
    trace: Trace, inst: Instruction, value: Value, obj: Value, start: Value, stop: Value
) -> None:
    abstract.set_item(trace, obj, Slice(start, stop, Constant(None)), value)


@op("UNARY_POSITIVE", run="pos")
def unary_positive(trace: Trace, inst: Instruction, value: Value) -> Value:
    return unary_operator(trace, "pos", value)


@op("UNARY_NEGATIVE", run="neg")
def unary_negative(trace: Trace, inst: Instruction, value: Value) -> Value:
    return unary_operator(trace, "neg", value)


@op("UNARY_INVERT", run="invert")
def unary_invert(trace: Trace, inst: Instruction, value: Value) -> Value:
    return unary_operator(trace, "invert", value)


@op("UNARY_NOT", run="not_")
def unary_not(trace: Trace, inst: Instruction, value: Value) -> Value:
    return abstract.negate(trace, abstract.to_bool(trace, value))


@op("TO_BOOL", run="bool")
def to_bool(trace: Trace, inst: Instruction, value: Value) -> Value:
    return abstract.to_bool(trace, value)


@op("BINARY_OP", run="binary")
def binary_op(trace: Trace, inst: Instruction, left: Value, right: Value) -> Value:
    return abstract.binary(trace, inst.val, left, right)


@op("COMPARE_OP", run="compare")
def compare_op(trace: Trace, inst: Instruction, left: Value, right: Value) -> Value:
    return abstract.compare(trace, inst.val, left, right)


@op("COMPARE_TEST", run="compare_test")
def compare_test(trace: Trace, inst: Instruction, left: Value, right: Value) -> Value:
    """A comparison and its truth. A tensor that a branch follows on is decided as at any branch on
    a tensor, and is not made a number of the graph first."""
    result = abstract.compare(trace, inst.val, left, right)
    frame = trace.frames[-1]
    branch = frame.code.instructions[inst.index + 1]
    if isinstance(result, Tensor) and branch.op in ("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE"):
        return Constant(truth_at_branch(trace, frame, branch, result))
    return abstract.to_bool(trace, result)


@op("IS_OP", run="is")
def is_op(trace: Trace, inst: Instruction, left: Value, right: Value) -> Value:
    return Constant(asked_same(trace, left, right) is (inst.val == "is"))


@op("CONTAINS_OP", run="contains")
def contains_op(trace: Trace, inst: Instruction, item: Value, container: Value) -> Value:
    found = abstract.contains(trace, container, item)
    return found if inst.val == "in" else abstract.negate(trace, found)
