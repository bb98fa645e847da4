"""Which modules of CPython's suite are run: all that run plainly by themselves."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

_SCREEN = "needs a display: all of it is skipped, or it is not imported, without one"
_NET = "needs the network: nearly all of it is skipped without"
_SYSTEM = "needs another system, or an extension that is not built: all of it is skipped"
_ITSELF = "tests CPython's build or its sources, which are not installed"
_DEBUGGER = "puts a tracer or a profiler over the code that it runs, or drives a debugger"
_LONG = "needs gigabytes of memory or disk"
_PROCESSES = "takes minutes plainly: it waits, or runs processes where nothing is compiled"
_BUILT_ON = "replaces parts of the interpreter that runs it, or looks into its memory"

LEFT_OUT: dict[str, str] = {
    name: reason
    for reason, names in {
        _SCREEN: "tix tk ttk_guionly",
        _NET: "smtpnet urllib2net urllibnet xmlrpc_net",
        _SYSTEM: (
            "devpoll dtrace gdb kqueue launcher msilib nis ossaudiodev winconsoleio winreg"
            " winsound startfile _osx_support embed crashers"
        ),
        _ITSELF: (
            "asdl_parser check_c_globals clinic distutils lib2to3 peg_generator regrtest sundry"
        ),
        _DEBUGGER: "bdb cprofile pdb profile pstats sys_setprofile sys_settrace trace",
        _LONG: "bigaddrspace bigmem largefile zipfile64",
        _PROCESSES: (
            "asyncio c_locale_coercion capi cmd_line cmd_line_script compileall"
            " concurrent_futures faulthandler multiprocessing_fork multiprocessing_forkserver"
            " multiprocessing_main_handling multiprocessing_spawn socket subprocess utf8_mode venv"
        ),
        _BUILT_ON: "ctypes frozen import importlib tracemalloc",
    }.items()
    for name in names.split()
    for name in (f"test_{name}",)
}


def all_modules() -> list[str]:
    """The names of all modules and packages of tests but those left out, in order."""
    spec = importlib.util.find_spec("test")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("this Python was installed without its tests")
    folder = Path(next(iter(spec.submodule_search_locations)))
    names = {path.stem for path in folder.glob("test_*.py")}
    names |= {path.parent.name for path in folder.glob("test_*/__init__.py")}
    return sorted(name for name in names if name not in LEFT_OUT and not _asks(folder, name))


def _asks(folder: Path, name: str) -> bool:
    """Whether a module says itself, at its start, that it needs what is not there."""
    path = folder / f"{name}.py"
    return path.exists() and _NEEDS.search(path.read_text(errors="replace")) is not None


_NEEDS = re.compile(r"^(?:support\.)?requires\(['\"](?:network|gui|audio)", re.MULTILINE)
