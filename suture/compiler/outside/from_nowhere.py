"""What of Python's own library gives objects that nobody passed to it.

All else of the library works on what it is given, and code names what it takes.
"""

from __future__ import annotations

import sys

COMPUTING = frozenset({"torch", "numpy", "suture"})  # packages that make what goes into graphs
# Of the library: what gives objects that nobody passed to it, or whose names no code has.
FROM_NOWHERE = frozenset(
    {
        "builtins.eval", "builtins.exec", "builtins.globals",
        "builtins.__import__", "builtins.breakpoint", "sys._getframe", "sys._current_frames",
        "sys.modules", "sys.exc_info", "sys.exception", "gc.get_objects", "gc.get_referrers",
        "gc.get_referents", "gc.garbage", "contextvars.copy_context", "_contextvars.copy_context",
        "traceback.walk_stack", "traceback.walk_tb", "inspect.currentframe", "inspect.stack",
        "inspect.trace", "inspect.getouterframes", "inspect.getinnerframes", "inspect.getmodule",
        "inspect.getclosurevars", "inspect.getcallargs", "pickle.load", "pickle.loads",
        "_pickle.load", "_pickle.loads", "pickle.Unpickler", "_pickle.Unpickler",
        "pickle._Unpickler", "pickle._loads", "pickle._load", "threading.current_thread",
        "threading.main_thread", "threading.enumerate", "_asyncio.current_task",
        "asyncio.tasks.current_task", "asyncio.tasks.all_tasks",
    }
)  # fmt: skip
MODULES_FROM_NOWHERE = frozenset(
    {
        "importlib", "_imp", "imp", "pkgutil", "runpy", "ctypes", "_ctypes", "shelve", "code",
        "codeop", "pdb", "bdb", "multiprocessing", "concurrent", "__main__",
    }
)  # fmt: skip
# Code that comes at attributes without naming them.
REFLECTING = frozenset(
    {
        "vars", "__dict__", "__getattribute__", "__reduce__", "__reduce_ex__", "__getstate__",
        "asdict", "astuple", "attrgetter", "methodcaller", "getmembers", "getattr_static",
        "getmembers_static",
    }
)  # fmt: skip
# Attributes through which code comes at what nobody passed to it.
TELLING = frozenset(
    {
        "f_back", "f_globals", "f_locals", "tb_frame", "gi_frame", "cr_frame", "ag_frame",
        "__globals__", "__subclasses__", "__builtins__",
    }
)  # fmt: skip
# Classes of the library that call methods of derived classes under names that they compute. Those
# of unittest are left out: what runs tests is nothing to compile, and they have many.
DISPATCHING = frozenset({"ast.NodeVisitor", "cmd.Cmd", "http.server.BaseHTTPRequestHandler"})


def top(module: object) -> str:
    """The package that a module belongs to."""
    return str(module).partition(".")[0]


def only_works(module: object, name: object) -> bool:
    """Whether this is code of the library which does nothing but its work."""
    package = top(module)
    known = package in sys.stdlib_module_names and package not in MODULES_FROM_NOWHERE
    return known and f"{module}.{name}" not in FROM_NOWHERE
