"""What all supported Pythons have in common: the instructions that translate in the same way."""

from __future__ import annotations

from .decoder import (
    Rule,
    backward,
    call,
    const,
    drop,
    forward,
    meaning,
    name,
    plain,
)

# The argument of BINARY_OP, as functions of the operator module.
BINARY = (
    "add", "and_", "floordiv", "lshift", "matmul", "mul", "mod", "or_", "pow", "rshift", "sub",
    "truediv", "xor",
    "iadd", "iand", "ifloordiv", "ilshift", "imatmul", "imul", "imod", "ior", "ipow", "irshift",
    "isub", "itruediv", "ixor",
)  # fmt: skip

# The comparison of COMPARE_OP.
COMPARE = ("<", "<=", "==", "!=", ">", ">=")

# Bits of MAKE_FUNCTION's argument, lowest first: the order of the values on the stack.
FUNCTION_ATTRIBUTES = ("defaults", "kwdefaults", "annotations", "closure")

# The conversion in the argument of FORMAT_VALUE and CONVERT_VALUE.
CONVERSIONS = (None, "str", "repr", "ascii")

# fmt: off
PLAIN = (
    "COPY_FREE_VARS", "MAKE_CELL", "RETURN_GENERATOR",
    "POP_TOP", "PUSH_NULL", "COPY", "SWAP",
    "LOAD_ASSERTION_ERROR", "LOAD_BUILD_CLASS", "LOAD_FAST", "STORE_FAST", "DELETE_FAST",
    "LOAD_DEREF", "STORE_DEREF", "DELETE_DEREF", "SETUP_ANNOTATIONS",
    "BINARY_SUBSCR", "STORE_SUBSCR", "DELETE_SUBSCR",
    "UNARY_NEGATIVE", "UNARY_INVERT", "UNARY_NOT",
    "BUILD_TUPLE", "BUILD_LIST", "BUILD_SET", "BUILD_MAP", "BUILD_CONST_KEY_MAP", "BUILD_STRING",
    "BUILD_SLICE", "LIST_APPEND", "SET_ADD", "MAP_ADD", "LIST_EXTEND", "SET_UPDATE",
    "DICT_UPDATE", "DICT_MERGE", "UNPACK_SEQUENCE",
    "RETURN_VALUE", "GET_ITER", "YIELD_VALUE", "GET_YIELD_FROM_ITER", "GET_AWAITABLE",
    "GET_AITER", "GET_ANEXT", "END_ASYNC_FOR", "BEFORE_WITH", "BEFORE_ASYNC_WITH",
    "WITH_EXCEPT_START", "RAISE_VARARGS", "RERAISE", "PUSH_EXC_INFO", "POP_EXCEPT",
    "CHECK_EXC_MATCH", "CHECK_EG_MATCH",
    "GET_LEN", "MATCH_MAPPING", "MATCH_SEQUENCE", "MATCH_KEYS", "MATCH_CLASS",
)
NAMED = (
    "STORE_ATTR", "DELETE_ATTR", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_NAME", "STORE_NAME",
    "DELETE_NAME", "IMPORT_NAME", "IMPORT_FROM",
)
# fmt: on


def function_attributes(arg: int) -> tuple[str, ...]:
    """The attributes that MAKE_FUNCTION finds on the stack, in their order there."""
    return tuple(a for bit, a in enumerate(FUNCTION_ATTRIBUTES) if arg >> bit & 1)


def format_value(arg: int) -> tuple[str | None, bool]:
    """The conversion, and whether a format specification is on the stack."""
    return CONVERSIONS[arg & 3], bool(arg & 4)


COMMON: dict[str, Rule] = {
    **{op: plain(op) for op in PLAIN},
    **{op: name(op) for op in NAMED},
    "NOP": drop,
    "RESUME": drop,
    "LOAD_CONST": const,
    "BINARY_OP": meaning("BINARY_OP", BINARY.__getitem__),
    "IS_OP": meaning("IS_OP", ("is", "is not").__getitem__),
    "CONTAINS_OP": meaning("CONTAINS_OP", ("in", "not in").__getitem__),
    "UNPACK_EX": meaning("UNPACK_EX", lambda arg: (arg & 0xFF, arg >> 8)),
    "CALL": call,
    "CALL_FUNCTION_EX": meaning("CALL_FUNCTION_EX", lambda arg: bool(arg & 1)),
    "JUMP_FORWARD": forward("JUMP"),
    "JUMP_BACKWARD": backward("JUMP"),
    "JUMP_BACKWARD_NO_INTERRUPT": backward("JUMP"),
}
