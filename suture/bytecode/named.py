"""What a code object names, read off its bytes: much cheaper than decoding it.

It is asked about code that nothing may ever be traced in.
"""

from __future__ import annotations

import dis
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType

# An operation, the name and the constant that go with it, its number and its argument.
Step = tuple[str, str, object, int, int]


@dataclass(frozen=True, slots=True)
class Named:
    """What one code object names, without the code objects inside it.

    loads        each global that is read, with the attributes that are taken from it at once
    imports      each import: the module, its level, and what is taken from it (() for the module)
    attributes   all attributes that are read
    computed     whether `getattr` is used with a name that is not a constant
    """

    loads: tuple[tuple[str, ...], ...]
    imports: tuple[tuple[str, int, tuple[str, ...]], ...]
    attributes: frozenset[str]
    computed: bool


def named(code: CodeType) -> Named:
    """What `code` names."""
    loads: list[tuple[str, ...]] = []
    imports: list[tuple[str, int, tuple[str, ...]]] = []
    attributes: set[str] = set()
    computed = False
    steps = list(_steps(code))
    for at, (op, name, *_) in enumerate(steps):
        if op in _ATTRIBUTES:
            attributes.add(name)
        elif op in _GLOBALS:
            loads.append((name, *_taken(steps, at + 1)))
            if name == "getattr":
                found = _constant_name(steps, at + 1)
                computed = computed or found is None
                attributes.add(found or "")
        elif op == "IMPORT_NAME":
            level = steps[at - 2][2]
            level = level if type(level) is int else 1  # what is not known counts as relative
            imports.append((name, level, _imported(steps, at)))
    return Named(tuple(loads), tuple(imports), frozenset(attributes), computed)


def _steps(code: CodeType) -> Iterator[Step]:
    """The instructions: the operation, and the name or the constant that it loads."""
    raw, names, consts = code.co_code, code.co_names, code.co_consts
    extended = 0
    for at in range(0, len(raw), 2):
        op = raw[at]
        if op == _EXTENDED:
            extended = (extended | raw[at + 1]) << 8
            continue
        arg, extended = raw[at + 1] | extended, 0
        if op in _WITH_NAME:
            yield dis.opname[op], names[arg >> _SHIFTS.get(op, 0)], None, op, arg
        elif op == _CONSTANT:
            yield "LOAD_CONST", "", consts[arg], op, arg
        elif op == _SMALL_INT:
            yield "LOAD_SMALL_INT", "", arg, op, arg
        elif op not in _SILENT:
            yield dis.opname[op], "", None, op, arg


def _taken(steps: list[Step], at: int) -> tuple[str, ...]:
    """The attributes that are taken at once from what was loaded."""
    found = []
    while at < len(steps) and steps[at][0] in _ATTRIBUTES:
        found.append(steps[at][1])
        at += 1
    return tuple(found)


def _imported(steps: list[Step], at: int) -> tuple[str, ...]:
    """What an import takes from its module; each is stored at once. `import a.b as c` takes nothing
    from `a.b`: it looks for that module in its package."""
    found: list[str] = []
    if type(steps[at - 1][2]) is not tuple:
        return ()
    at += 1
    while at < len(steps) and (steps[at][0] == "IMPORT_FROM" or steps[at][0].startswith("STORE_")):
        found += [steps[at][1]] if steps[at][0] == "IMPORT_FROM" else []
        at += 1
    return tuple(found)


def _constant_name(steps: list[Step], at: int) -> str | None:
    """The attribute that a call of `getattr` asks for, whose arguments begin at `at`; None if that
    is computed. It is the constant behind which there are two values on the stack, up to the call;
    what comes next leaves it alone."""
    depth, name = 0, None
    for place in range(at, len(steps)):
        op, _, const, number, arg = steps[place]
        if op in _CALLS and depth == arg:
            return name
        if number in _JUMPS or op in _MOVING:
            return None
        depth += dis.stack_effect(number, arg if number >= dis.HAVE_ARGUMENT else None)
        if depth < 1:
            return None
        if depth == 2:
            kept = type(const) is str and _leaves_alone(steps[place + 1 : place + 2])
            name = const if kept and type(const) is str else None
    return None


def _leaves_alone(following: list[Step]) -> bool:
    """Whether the next step uses none of the values on the stack."""
    op = following[0][0] if following else ""
    if op.startswith("BUILD_"):
        return following[0][4] == 0
    return op in _CALLS or op.startswith(_PUSHING)


_PUSHING = (
    "LOAD_CONST", "LOAD_FAST", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLOSURE",
    "LOAD_SMALL_INT", "LOAD_COMMON_CONSTANT",
)  # fmt: skip
_CALLS = ("PRECALL",) if "PRECALL" in dis.opmap else ("CALL",)  # once for each call
_ATTRIBUTES = frozenset({"LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR"})
_GLOBALS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
_EXTENDED = dis.opmap["EXTENDED_ARG"]
_CONSTANT = dis.opmap["LOAD_CONST"]
_SMALL_INT = dis.opmap.get("LOAD_SMALL_INT")  # from 3.14 on
_WITH_NAME = frozenset(
    dis.opmap[name]
    for name in (*_ATTRIBUTES, *_GLOBALS, "IMPORT_NAME", "IMPORT_FROM")
    if name in dis.opmap
)
_MOVING = frozenset({"SWAP", "COPY"})
_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))
_SILENT = frozenset(dis.opmap[name] for name in ("CACHE", "PUSH_NULL", "NOP"))
# The lowest bits of these arguments are flags.
_SHIFTS = {
    dis.opmap[name]: shift
    for name, shift in (
        ("LOAD_GLOBAL", 1),
        ("LOAD_ATTR", 1 if sys.version_info >= (3, 12) else 0),
        ("LOAD_SUPER_ATTR", 2),
        ("IMPORT_NAME", 2 if sys.version_info >= (3, 15) else 0),
    )
    if name in dis.opmap
}
