"""Which modules of CPython's suite are run: all that run plainly by themselves."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

_SCREEN = "needs a display, or Tcl and Tk"
_NET = "needs the network, or servers on this machine"
_SYSTEM = "needs another "
_PROCESSES = "runs programs in processes of its own, where nothing is compiled"
_ITSELF = "tests the machinery of CPython's tests, or its build"
_DEBUGGER = "puts a tracer or a profiler over the code that it runs, or drives a debugger"
_LONG = "needs gigabytes of memory or disk"
_BUILT_ON = "replaces parts of the interpreter that runs it, or looks into its memory"

LEFT_OUT: dict[str, str] = {
    name: reason
    for reason, names in {
        _SCREEN: "curses idle tcl tix tk ttk_guionly ttk_textonly turtle readline",
        _NET: (
            "asynchat asyncore docxmlrpc ftplib httplib httpservers imaplib nntplib poplib"
            " robotparser smtpd smtplib smtpnet socket socketserver ssl telnetlib timeout urllib2"
            " urllib2_localnet urllib2net urllib_response urllibnet xmlrpc xmlrpc_net"
            " asyncio wsgiref"
        ),
        _SYSTEM: (
            "devpoll dtrace kqueue launcher msilib nis ossaudiodev winconsoleio winreg winsound"
            " startfile _osx_support"
        ),
        _PROCESSES: (
            "capi cmd_line cmd_line_script compileall concurrent_futures doctest doctest2 embed"
            " ensurepip eintr faulthandler fork1 gdb multiprocessing_fork"
            " multiprocessing_forkserver multiprocessing_main_handling multiprocessing_spawn"
            " popen crashers repl runpy site subprocess threadsignals utf8_mode venv wait3 wait4"
            " zipapp"
        ),
        _ITSELF: (
            "asdl_parser c_locale_coercion check_c_globals clinic distutils future_stmt lib2to3"
            " peg_generator regrtest sundry"
        ),
        _DEBUGGER: "bdb cprofile pdb profile pstats sys_setprofile sys_settrace trace",
        _LONG: "bigaddrspace bigmem largefile zipfile64",
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
