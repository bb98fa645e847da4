"""The operation that Python runs at a break, as an expression of the variant."""

from __future__ import annotations

from typing import Any

from suture.breaks import Break, calls, control_flow
from suture.bytecode import Instruction
from suture.compiler.capture import Run
from suture.compiler.core import Frame
from suture.compiler.emit.writer import Writer
from suture.compiler.objects import NULL, Symbol, Tensor
from suture.runtime import OPERATIONS
from suture.runtime.operations import STOP
from suture.runtime.store.stand_ins import MadeOperation
from suture.torch_private import distributed_parts


def operation_parts(
    writer: Writer, exit: Run, frame: Frame, inputs: list[Any], texts: list[str]
) -> list[str]:
    """What is called for the operation, and with what, as expressions. `texts` spell `inputs`."""
    inst = exit.inst
    operation = OPERATIONS[exit.operation].make(inst)
    if exit.operation == "call":
        return _plain_call(inputs, texts, inst)
    if exit.operation == "call_ex" and _unpacks_plainly(inputs):
        head = texts[1] if inputs[0] is NULL else texts[0]
        return [head, f"*{texts[2]}", *(f"**{text}" for text in texts[3:])]
    if exit.operation == "next":
        return [writer.constant(next, "next"), texts[0], writer.constant(STOP, "STOP")]
    head = writer.constant(operation, exit.operation)
    writer.described[head] = MadeOperation(exit.operation, frame.code.code, inst.index)
    if exit.operation == "import_name":
        texts = [writer.constant(frame.fn.globals, "globals"), *texts]
    elif exit.operation == "check_eg_match":
        code = writer.constant(frame.code.code, "code")
        space = writer.constant(frame.fn.globals, "globals")
        texts = [f"({code}, {space}, {inst.lasti})", *texts]
    return [head, *texts]


def _plain_call(inputs: list[Any], texts: list[str], inst: Instruction) -> list[str]:
    """`run(f, a, k=b)`: the call as a person would write it."""
    if inputs[0] is NULL:
        head, args = texts[1], texts[2:]
    elif inputs[1] is NULL:
        head, args = texts[0], texts[2:]
    else:
        head, args = texts[0], texts[1:]
    names = inst.val or ()
    if names:
        plain = len(args) - len(names)
        args = args[:plain] + [f"{k}={v}" for k, v in zip(names, args[plain:])]
    return [head, *args]


def _unpacks_plainly(inputs: list[Any]) -> bool:
    """Whether what a call unpacks is a tuple and a dict: then a variant can write the call."""
    kinds = [value.python_type() for value in inputs[2:]]
    return kinds[0] is tuple and all(kind is dict for kind in kinds[1:])


def compiles_nothing(reason: Break, inputs: list[Any]) -> bool:
    """Whether a disabled function is called that wants nothing below it compiled either."""
    if reason.type is not calls.DISABLED:
        return False
    for value in inputs[:2]:
        try:
            real = value.real()
        except (LookupError, AttributeError):
            continue
        if distributed_parts.skipped_by_fsdp(real) or distributed_parts.is_checkpointed(real):
            return True
        if not getattr(real, "_torchdynamo_disable", False):
            return False  # what is disabled lies deeper
        recursive = getattr(real, "_torchdynamo_disable_recursive", None)
        return bool(hasattr(real, "_torchdynamo_orig_callable") if recursive is None else recursive)
    return False


def branch_on_data(exit: Run, frame: Frame, inputs: list[Any]) -> int | None:
    """Where the branch is that the exit decides, on the numbers of a tensor: the exit itself, or
    what follows on a comparison that gives the truth. None if there is no such branch."""
    at = exit.inst.index + (exit.inst.op == "COMPARE_TEST")
    if frame.code.instructions[at].op not in ("POP_JUMP_IF_TRUE", "POP_JUMP_IF_FALSE"):
        return None
    told = exit.reason.type in (control_flow.TENSOR_BRANCH, control_flow.UNBACKED_DECISION)
    return at if told and any(isinstance(v, (Symbol, Tensor)) for v in inputs) else None
