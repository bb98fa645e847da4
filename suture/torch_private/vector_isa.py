"""Which vector instructions Inductor's kernels for processors use.

Inductor compiles and loads a small program for each instruction set that the processor has, and
then takes the first that worked. While suture compiles, it tries them in the same order and stops
at the first that works. The program is compiled with the header that kernels share and that is
compiled already, or will be for the first kernel; most of its time is spent in headers.
"""

from __future__ import annotations

import contextlib
import os
import platform
import threading
from collections.abc import Callable, Iterator
from typing import Any

from suture.torch_private.replacement import Replacement
from suture.torch_private.table import Topic, is_missing

NAMES = Topic(
    __name__,
    "trying one instruction set instead of all",
    "2.11-2.15",
    {
        "isas": "torch._inductor.cpu_vec_isa",
        "options": "torch._inductor.config",
        "codecache": "torch._inductor.codecache",
    },
)


def first_alone() -> Replacement:
    """In a block of it Inductor tries no more instruction sets than it takes to find the one it
    uses. Which one that is stays the same. Belongs to the whole process, and may be nested."""
    return _FIRST_ALONE


def _one_by_one() -> tuple[Any, dict[str, Any]] | None:
    """The module that tries instruction sets, and what stands for its function."""
    isas = NAMES.get("isas")
    if is_missing(isas) or not _is_as_known(isas):
        return None
    return isas, {"valid_vec_isa_list": _stopping_early(isas, isas.valid_vec_isa_list)}


_FIRST_ALONE = Replacement(_one_by_one)


def _is_as_known(isas: Any) -> bool:
    """Whether instruction sets are filtered, in their order, from a list of candidates."""
    asks = getattr(getattr(isas, "valid_vec_isa_list", None), "__wrapped__", None)
    names = getattr(getattr(asks, "__code__", None), "co_names", ())
    candidates = getattr(isas, "supported_vec_isa_list", None)
    return "supported_vec_isa_list" in names and type(candidates) is list


def _stopping_early(isas: Any, everything: Any) -> Callable[[], list[Any]]:
    """What stands in for torch's function: a list that begins with the one that is used."""

    def first_that_works() -> list[Any]:
        with _asking:
            if not _first_is_taken() or everything.cache_info().currsize:  # all were tried before
                found: list[Any] = everything()
                return found
            if not _found:
                _found.append(_first(isas, everything))
            return _found[0]

    return first_that_works


_asking = threading.Lock()
_found: list[list[Any]] = []


def _first_is_taken() -> bool:
    """Whether Inductor takes the first of the list: nobody asks for a width or a capability. Only
    where the list is filtered from candidates, which is so on one family of processors."""
    width = getattr(getattr(NAMES.get("options"), "cpp", None), "simdlen", 0)
    named = os.getenv("ATEN_CPU_CAPABILITY")
    return width is None and not named and platform.machine() in ("x86_64", "AMD64")


def _first(isas: Any, everything: Any) -> list[Any]:
    """torch's own function, with one candidate after the other."""
    candidates = isas.supported_vec_isa_list
    try:
        with _tried_as_kernels(isas):
            for one in candidates:
                isas.supported_vec_isa_list = [one]
                found = everything.__wrapped__()
                if found:
                    if len(found) == 1 and found[0] is one:
                        return [one]
                    break
    finally:
        isas.supported_vec_isa_list = candidates
    all_of_them: list[Any] = everything()
    return all_of_them


# ---- one try


# Instruction sets whose options of the compiler are known before they are tried. Those of others
# depend on further tries, and a header would be compiled for each.
_FIXED = ("avx512 avx512_vnni", "avx2")


@contextlib.contextmanager
def _tried_as_kernels(isas: Any) -> Iterator[None]:
    """Meanwhile torch's programs are compiled like kernels, where they can be. One that fails so is
    compiled as torch does."""
    base: Any = getattr(isas, "VecISA", None)
    if not hasattr(base, "_avx_code") or not hasattr(base, "_probe_load"):
        yield
        return
    real = base.check_build
    works: set[tuple[str, str]] = set()

    def check_build(self: Any, code: str) -> bool:
        if code == base._avx_code:
            works.update((str(self), one) for one in _work_as_kernels(isas, self))
        return (str(self), code) in works or bool(real(self, code))

    base.check_build = check_build
    try:
        yield
    finally:
        base.check_build = real


def _work_as_kernels(isas: Any, isa: Any) -> list[str]:
    """torch's programs that were compiled and loaded with this instruction set."""
    options = NAMES.get("options")
    if str(isa) not in _FIXED or not getattr(options, "cpp_cache_precompile_headers", False):
        return []
    codes = [isas.VecISA._avx_code]
    if hasattr(isa, "_avx512_vnni_code"):
        codes.append(isa._avx512_vnni_code)
    try:
        return codes if isa._probe_load(_compiled(isa, _PREFIX + "\n".join(codes))) else []
    except Exception:  # whatever it is: torch's own try says what holds
        return []


_PREFIX = "#include <torch/csrc/inductor/cpp_prefix.h>\n"


def _compiled(isa: Any, code: str) -> str:
    """The path of a library that is compiled as kernels are, for this instruction set."""
    codecache = NAMES.get("codecache")
    picks = codecache.pick_vec_isa
    codecache.pick_vec_isa = lambda: isa
    try:
        loads = codecache.CppPythonBindingsCodeCache.load_async(code)
    finally:
        codecache.pick_vec_isa = picks
    parts = dict(zip(loads.__code__.co_freevars, loads.__closure__))
    parts["worker_fn"].cell_contents()
    path: str = parts["binary_path"].cell_contents
    return path
