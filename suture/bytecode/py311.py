"""CPython 3.11: how its instructions become canonical ones."""

from __future__ import annotations

from .common import COMMON, COMPARE, format_value, function_attributes
from .decoder import Rule, Walk, backward, forward, keyword_names, meaning, name, plain, prefix

# Of a callable and the NULL next to it on the stack, which one is deeper.
NULL_FIRST = True

# Which method of a manager `with` looks for first.
EXIT_FIRST = False


def load_global(walk: Walk, arg: int) -> None:
    """Bit 0 of the argument: with a NULL below the value."""
    if arg & 1:
        walk.emit("PUSH_NULL", 0)
    walk.emit("LOAD_GLOBAL", arg, walk.names[arg >> 1])


def load_classderef(walk: Walk, arg: int) -> None:
    """A free variable in a class body: the class's own names come first."""
    walk.emit("LOAD_LOCALS", 0)
    walk.emit("LOAD_FROM_DICT_OR_DEREF", arg, arg)


def and_pop(op: str) -> Rule:
    """The canonical instruction leaves None on the stack, this Python's leaves nothing."""

    def rule(walk: Walk, arg: int) -> None:
        walk.emit(op, arg)
        walk.emit("POP_TOP", 0)

    return rule


RULES: dict[str, Rule] = {
    **COMMON,
    "UNARY_POSITIVE": plain("UNARY_POSITIVE"),
    "LIST_TO_TUPLE": plain("LIST_TO_TUPLE"),
    "ASYNC_GEN_WRAP": plain("ASYNC_GEN_WRAP"),
    "PREP_RERAISE_STAR": plain("PREP_RERAISE_STAR"),
    "PRINT_EXPR": and_pop("PRINT_EXPR"),
    "IMPORT_STAR": and_pop("IMPORT_STAR"),
    "LOAD_GLOBAL": load_global,
    "LOAD_CLOSURE": plain("LOAD_CLOSURE"),
    "LOAD_CLASSDEREF": load_classderef,
    "LOAD_ATTR": name("LOAD_ATTR"),
    "LOAD_METHOD": name("LOAD_METHOD"),
    "COMPARE_OP": meaning("COMPARE_OP", COMPARE.__getitem__),
    "MAKE_FUNCTION": meaning("MAKE_FUNCTION", function_attributes),
    "FORMAT_VALUE": meaning("FORMAT_VALUE", format_value),
    "KW_NAMES": keyword_names,
    "PRECALL": prefix,
    "FOR_ITER": forward("FOR_ITER"),
    "SEND": forward("SEND"),
    "JUMP_IF_FALSE_OR_POP": forward("JUMP_IF_FALSE_OR_POP"),
    "JUMP_IF_TRUE_OR_POP": forward("JUMP_IF_TRUE_OR_POP"),
    **{
        f"POP_JUMP_{way}_IF_{test}": rule(f"POP_JUMP_IF_{test}")
        for way, rule in (("FORWARD", forward), ("BACKWARD", backward))
        for test in ("TRUE", "FALSE", "NONE", "NOT_NONE")
    },
}
