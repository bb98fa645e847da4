"""Kernels for processors that Inductor has written, several in one library.

Inductor compiles each kernel of a graph to a library of its own. Most of the C++ compiler's time is
the same for each: it reads the precompiled header and links. While suture compiles, the kernels of
a graph are put together in as many libraries as Inductor would compile at once, or in more if there
are many kernels. Where such a library fails its kernels are compiled as Inductor does.
"""

from __future__ import annotations

import functools
import logging
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

from suture.torch_private.replacement import Replacement
from suture.torch_private.table import Topic, is_missing

NAMES = Topic(
    __name__,
    "compiling several kernels for processors at once",
    "2.11-2.15",
    {
        "compiling": "torch._inductor.async_compile",
        "codecache": "torch._inductor.codecache",
    },
)

_MOST = 16  # kernels of one library
_PREFIX = "#include <torch/csrc/inductor/cpp_prefix.h>"


def together() -> Replacement:
    """In a block of it Inductor compiles the kernels of one graph together. Belongs to the whole
    process, and may be nested. Inductor is imported if it is not yet."""
    return _TOGETHER


def _is_as_known(compiling: Any) -> bool:
    """Whether kernels are handed over as text, by methods that can be replaced."""
    methods = vars(getattr(compiling, "AsyncCompile", object))
    cache = getattr(NAMES.get("codecache"), "CppPythonBindingsCodeCache", None)
    named = getattr(methods.get("cpp_pybinding"), "__code__", None)
    return (
        "wait" in methods
        and named is not None
        and named.co_varnames[: named.co_argcount] == ("self", "argtypes", "source_code")
        and getattr(cache, "entry_function", None) == "kernel"
        and all(hasattr(compiling, name) for name in ("get_compile_threads", "LambdaFuture"))
    )


def _collecting() -> tuple[Any, dict[str, Any]] | None:
    """The class whose methods hand kernels over, and methods that collect them."""
    compiling = NAMES.get("compiling")
    if is_missing(compiling) or not _is_as_known(compiling):
        return None
    asynchronous = compiling.AsyncCompile
    before = asynchronous.cpp_pybinding, asynchronous.wait

    def cpp_pybinding(self: Any, argtypes: list[str], source_code: str) -> Any:
        if not _may_be_put_together(source_code):
            return before[0](self, argtypes, source_code)
        batch = vars(self).setdefault("_suture_batch", _Batch())
        return batch.add(argtypes, source_code)

    def wait(self: Any, scope: dict[str, Any]) -> Any:
        if NAMES.get("compiling").get_compile_threads() <= 1:  # torch waits for nothing
            for name, value in list(scope.items()):
                if getattr(value, "_suture_kernel", False):
                    scope[name] = value.result()
        return before[1](self, scope)

    return asynchronous, {"cpp_pybinding": cpp_pybinding, "wait": wait}


_TOGETHER = Replacement(_collecting)


def _may_be_put_together(source: str) -> bool:
    """Whether a kernel is one function that includes one header and defines no macros; and nobody
    reads along."""
    directives = re.findall(r"^[ \t]*#[^\n]*", source, re.MULTILINE)
    others = {one.strip() for one in directives if not one.split("#")[1].startswith("pragma ")}
    log = getattr(NAMES.get("compiling"), "kernel_code_log", None)
    written = isinstance(log, logging.Logger) and log.isEnabledFor(logging.INFO)
    return others == {_PREFIX} and source.count('extern "C"') == 1 and not written


@dataclass(slots=True, eq=False)
class _Kernel:
    """One kernel with the code that calls it from Python, as Inductor would compile it."""

    text: str
    options: tuple[tuple[Any, ...], dict[str, Any]]
    module: Callable[[], ModuleType] | None = None

    def alone(self, **more: Any) -> Callable[[], ModuleType]:
        """What gives its library, compiled on its own."""
        args, kwargs = self.options
        cache = NAMES.get("codecache").CppPythonBindingsCodeCache
        compiled: Callable[[], ModuleType] = cache.load_async(self.text, *args, **kwargs, **more)
        return compiled


@dataclass(slots=True, eq=False)
class _Batch:
    """The kernels of one graph. They are compiled when the first of them is asked for, and that is
    when all are there."""

    kernels: list[_Kernel] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, argtypes: list[str], source: str) -> Any:
        """The kernel, as something to wait for."""
        codecache = NAMES.get("codecache")
        added: list[_Kernel] = []

        def load_async(_: Any, text: str, *args: Any, **kwargs: Any) -> Callable[[], Any]:
            kwargs.pop("submit_fn", None)
            added.append(_Kernel(text, (args, kwargs)))
            return lambda: self.library_of(added[0])

        members = {"load_async": classmethod(load_async), "cache": {}}
        collecting: Any = type("Collecting", (codecache.CppPythonBindingsCodeCache,), members)
        made = collecting.load_pybinding_async(argtypes, source)
        self.kernels.extend(added)
        future = NAMES.get("compiling").LambdaFuture(made)
        future._suture_kernel = True
        return future

    def library_of(self, kernel: _Kernel) -> ModuleType:
        with self.lock:
            if kernel.module is None:
                self._compile([one for one in self.kernels if one.module is None])
        assert kernel.module is not None  # was just set
        return kernel.module()

    def _compile(self, kernels: list[_Kernel]) -> None:
        """Start compiling them all; `module` of each waits for its library."""
        compiling = NAMES.get("compiling")
        at_once = max(compiling.get_compile_threads(), 1)
        submit = compiling.AsyncCompile.submit if at_once > 1 else None
        for group in _groups(kernels, at_once):
            if len(group) == 1:
                group[0].module = group[0].alone(submit_fn=submit)
                continue
            whole = _Kernel(put_together([one.text for one in group]), group[0].options)
            library = _Library(whole.alone(submit_fn=submit))
            for number, kernel in enumerate(group):
                kernel.module = functools.partial(library.part, number, kernel)


@dataclass(slots=True, eq=False)
class _Library:
    """A library of several kernels, loaded when it is asked for."""

    load: Callable[[], ModuleType]
    fails: bool = False

    def part(self, number: int, kernel: _Kernel) -> ModuleType:
        """One kernel of it; that kernel on its own if the library fails."""
        name = f"part_{number}"
        try:
            whole = None if self.fails else self.load()
        except Exception:  # then an error is that of the kernel itself
            whole, self.fails = None, True
        if whole is None:
            return kernel.alone()()
        part: ModuleType = getattr(whole, name)
        part.__file__, part.__name__ = whole.__file__, name
        return part


def _groups(kernels: Sequence[_Kernel], at_once: int) -> Iterator[list[_Kernel]]:
    """The kernels that share a library: those compiled with the same options, in libraries of about
    the same length."""
    needs = getattr(NAMES.get("codecache"), "_resolve_needs_vec_isa", None)
    alike: dict[Any, list[_Kernel]] = {}
    for kernel in kernels:
        vectors = None if needs is None else needs("cpu", kernel.text, None)
        alike.setdefault((vectors, repr(kernel.options)), []).append(kernel)
    for same in alike.values():
        fewest = -(-len(same) // _MOST)
        count = min(len(same), max(at_once, fewest))
        groups: list[list[_Kernel]] = [[] for _ in range(count)]
        lengths = [0] * count
        for kernel in sorted(same, key=lambda one: -len(one.text)):
            at = min((i for i in range(count) if len(groups[i]) < _MOST), key=lengths.__getitem__)
            groups[at].append(kernel)
            lengths[at] += len(kernel.text)
        yield from groups


# ---- the text of a library


_HOISTED = re.compile(r"^[ \t]*#[ \t]*(?:include|define)\b[^\n]*\n", re.MULTILINE)


def put_together(texts: Sequence[str]) -> str:
    """One module with a part for each of these modules: `part_0` and so on. Each has a namespace of
    its own, in which nothing is included: headers come first."""
    heads: dict[str, None] = {}
    parts = []
    for number, text in enumerate(texts):
        heads |= dict.fromkeys(one.strip() for one in _HOISTED.findall(text))
        names = (("kernel", f"kernel_{number}"), ("PyInit_kernel", f"init_part_{number}"))
        parts += [f"#define {name} {other}" for name, other in names]
        parts += [f"namespace part_{number} {{", _HOISTED.sub("", text), "}"]
        parts += [f"#undef {name}" for name, _ in names]
    inits = [
        f'    if (!made || add(made, "part_{i}", part_{i}::init_part_{i}()) < 0) return fail(made);'
        for i in range(len(texts))
    ]
    return "\n".join([*heads, *parts, _BEGIN, *inits, _END])


_BEGIN = """
static int add(PyObject* whole, const char* name, PyObject* part) {
    if (!part) return -1;
    int added = PyObject_SetAttrString(whole, name, part);
    Py_DECREF(part);
    return added;
}

static PyObject* fail(PyObject* whole) {
    Py_XDECREF(whole);
    return nullptr;
}

static struct PyModuleDef whole_module = {PyModuleDef_HEAD_INIT, "kernel", NULL, -1, NULL};

PyMODINIT_FUNC PyInit_kernel(void) {
    PyObject* made = PyModule_Create(&whole_module);
"""
_END = """
#ifdef Py_GIL_DISABLED
    PyUnstable_Module_SetGIL(made, Py_MOD_GIL_NOT_USED);
#endif
    return made;
}
"""


def part_of(kernel: Any) -> tuple[str, str] | None:
    """The path of the library that a loaded kernel is in, and the name of its part ("" where the
    library has one kernel); None if it is in none."""
    module = getattr(kernel, "__self__", None)
    path, name = getattr(module, "__file__", None), str(getattr(module, "__name__", ""))
    if type(path) is not str:
        return None
    return path, name if name.startswith("part_") else ""
