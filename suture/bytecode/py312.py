"""CPython 3.12: how its instructions become canonical ones."""

from __future__ import annotations

from .common import COMMON, COMPARE, format_value, function_attributes
from .decoder import Rule, Walk, drop, forward, keyword_names, meaning, name, plain
from .py311 import load_global

# Of a callable and the NULL next to it on the stack, which one is deeper.
NULL_FIRST = True

# Which method of a manager `with` looks for first.
EXIT_FIRST = False

# FOR_ITER jumps to END_FOR and SEND to END_SEND, which clear away the iterator. The canonical
# instructions have done so when they jump, hence they jump past it.
BEHIND_LOOP = 1
BEHIND_SEND = 1

# The argument of CALL_INTRINSIC_1 and of CALL_INTRINSIC_2; none of them is 0.
INTRINSICS_1 = (
    None,
    "PRINT_EXPR",
    "IMPORT_STAR",
    "STOPITERATION_ERROR",
    "ASYNC_GEN_WRAP",
    "UNARY_POSITIVE",
    "LIST_TO_TUPLE",
    "TYPEVAR",
    "PARAMSPEC",
    "TYPEVARTUPLE",
    "SUBSCRIPT_GENERIC",
    "TYPEALIAS",
)
INTRINSICS_2 = (
    None,
    "PREP_RERAISE_STAR",
    "TYPEVAR_WITH_BOUND",
    "TYPEVAR_WITH_CONSTRAINTS",
    "SET_FUNCTION_TYPE_PARAMS",
    "SET_TYPEPARAM_DEFAULT",  # from 3.13 on
)


def load_attr(walk: Walk, arg: int) -> None:
    """Bit 0 of the argument: with a pair, to be called."""
    walk.emit("LOAD_METHOD" if arg & 1 else "LOAD_ATTR", arg, walk.names[arg >> 1])


def load_super_attr(walk: Walk, arg: int) -> None:
    """Bit 0: with a pair; bit 1 says that super had its two arguments in the source."""
    walk.emit("LOAD_SUPER_METHOD" if arg & 1 else "LOAD_SUPER_ATTR", arg, walk.names[arg >> 2])


def return_const(walk: Walk, arg: int) -> None:
    """A constant and a return in one."""
    walk.emit("LOAD_CONST", arg, walk.consts[arg])
    walk.emit("RETURN_VALUE", 0)


def intrinsic(names: tuple[str | None, ...]) -> Rule:
    """The argument says which instruction it is."""

    def rule(walk: Walk, arg: int) -> None:
        op = names[arg]
        if op is None:
            raise walk.unknown()
        walk.emit(op, arg)

    return rule


RULES: dict[str, Rule] = {
    **COMMON,
    **{
        op: plain(op)
        for op in (
            "BINARY_SLICE",
            "CLEANUP_THROW",
            "END_SEND",
            "LOAD_CLOSURE",
            "LOAD_FAST_AND_CLEAR",
            "LOAD_FAST_CHECK",
            "LOAD_FROM_DICT_OR_DEREF",
            "LOAD_LOCALS",
            "STORE_SLICE",
        )
    },
    **{
        f"POP_JUMP_IF_{test}": forward(f"POP_JUMP_IF_{test}")
        for test in ("TRUE", "FALSE", "NONE", "NOT_NONE")
    },
    "END_FOR": drop,
    "LOAD_GLOBAL": load_global,
    "LOAD_FROM_DICT_OR_GLOBALS": name("LOAD_FROM_DICT_OR_GLOBALS"),
    "LOAD_ATTR": load_attr,
    "LOAD_SUPER_ATTR": load_super_attr,
    "COMPARE_OP": meaning("COMPARE_OP", lambda arg: COMPARE[arg >> 4]),
    "MAKE_FUNCTION": meaning("MAKE_FUNCTION", function_attributes),
    "FORMAT_VALUE": meaning("FORMAT_VALUE", format_value),
    "KW_NAMES": keyword_names,
    "CALL_INTRINSIC_1": intrinsic(INTRINSICS_1),
    "CALL_INTRINSIC_2": intrinsic(INTRINSICS_2),
    "RETURN_CONST": return_const,
    "FOR_ITER": forward("FOR_ITER", BEHIND_LOOP),
    "SEND": forward("SEND", BEHIND_SEND),
}
