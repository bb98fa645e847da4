"""The core under test, and words to describe frames: slots by name, instructions by what they do.

The core is loaded by its path, so that these tests run without torch and on every Python.
"""

from __future__ import annotations

import dis
import importlib.util
import inspect
import os
import sys
import sysconfig
import types
from pathlib import Path

NAME = "suture._core"
BUILT = Path(__file__).parents[2] / "suture" / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}"


def load_core():
    """The core as other code sees it; SUTURE_CORE names another build of it."""
    if NAME in sys.modules:
        return sys.modules[NAME]
    path = os.environ.get("SUTURE_CORE", str(BUILT))
    spec = importlib.util.spec_from_file_location(NAME, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.modules[NAME] = module
    return module


core = load_core()


def slot_names(code):
    """Names of the local slots in order: locals, other cells, free variables."""
    cells = tuple(name for name in code.co_cellvars if name not in code.co_varnames)
    return code.co_varnames + cells + code.co_freevars


def slots(fn, **values):
    """The tuple of local slots with these values, UNBOUND elsewhere."""
    names = slot_names(fn.__code__)
    assert set(values) <= set(names), names
    return tuple(values.get(name, core.UNBOUND) for name in names)


def exit_slots(leave):
    """What the stack of a block holds for the bound __exit__ that leaves it."""
    return (leave, core.UNBOUND) if sys.version_info >= (3, 14) else (leave,)


def loop_slots(iterator):
    """What the stack of a loop holds for its iterator."""
    return (iterator, core.UNBOUND) if sys.version_info >= (3, 15) else (iterator,)


def inner_code(fn):
    """The first code object inside a function."""
    return next(c for c in fn.__code__.co_consts if isinstance(c, types.CodeType))


def offsets_of(fn, opname, argval=None):
    """Byte offsets of the instructions of that name (and argument), borrowing or not."""
    return [
        i.offset
        for i in dis.get_instructions(fn)
        if i.opname.removesuffix("_BORROW") == opname and argval in (None, i.argval)
    ]


def offset_of(fn, opname, argval=None):
    """The first of them."""
    return offsets_of(fn, opname, argval)[0]


def line_offset(fn, text):
    """Byte offset at which the first line containing `text` starts."""
    lines, first = inspect.getsourcelines(fn)
    number = first + next(i for i, line in enumerate(lines) if text in line)
    return min(offset for offset, line in dis.findlinestarts(fn.__code__) if line == number)
