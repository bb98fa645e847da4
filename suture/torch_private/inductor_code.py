"""The code that Inductor writes: what it imports of Inductor, and how its libraries are loaded."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from typing import Any

from suture.torch_private.table import Topic, is_missing, loaded

NAMES = Topic(
    __name__,
    "running what Inductor compiled in an earlier process",
    "2.11-2.15",
    {
        "tensor_data": "torch._C._dynamo.guards._torchinductor_pyobject_tensor_data_ptr",
        "assert_size_stride": "torch._C._dynamo.guards.assert_size_stride",
    },
)


def __getattr__(name: str) -> Any:
    return NAMES.get(name)


# Modules whose options change what Inductor makes of a graph.
_CONFIGURED = ("torch._inductor.config", "torch._functorch.config")
_ADDRESS = "_TORCHINDUCTOR_PYOBJECT_TENSOR_DATA_PTR"


def changed_settings() -> list[list[str]] | None:
    """The options of Inductor and AOTAutograd that the program has changed, as text; None if this
    torch does not say. Those of a module that is not imported have not been changed."""
    found = []
    for name in _CONFIGURED:
        module = loaded(name)
        if module is None:
            continue
        options, is_default = getattr(module, "_config", None), getattr(module, "_is_default", None)
        if options is None or is_default is None:
            return None
        for key, option in options.items():
            if not is_default(key) and getattr(module, key) != getattr(option, "default", None):
                found.append([name, key, repr(getattr(module, key))])
    return sorted(found)


def load_kernel(path: str, name: str, part: str) -> Any:
    """The function of a kernel that Inductor compiled for processors: in a library that is known by
    `name`, of that part of it (`kernel_libraries`), if it has parts."""
    address = NAMES.get("tensor_data")
    if is_missing(address):
        raise LookupError("this torch loads kernels in another way")
    os.environ[_ADDRESS] = str(address)
    whole = f"suture_kernel_{name}.kernel"
    if whole not in sys.modules:
        loader = importlib.machinery.ExtensionFileLoader(whole, path)
        spec = importlib.util.spec_from_file_location(whole, path, loader=loader)
        assert spec is not None  # a loader was given
        module = importlib.util.module_from_spec(spec)
        loader.exec_module(module)
        sys.modules[whole] = module
    library = sys.modules[whole]
    return (getattr(library, part) if part else library).kernel


def within_alignment(call: Any) -> tuple[Any, list[int], list[int]]:
    """What Inductor put around code for a GPU: the code, the positions of inputs that are copied
    where their memory begins at an odd place, and those of them that the code writes to."""
    code = getattr(call, "__code__", None)
    names = ("inputs_to_check", "model", "mutated_input_idxs")
    if code is None or not set(names) <= set(code.co_freevars):
        return call, [], []
    cells = dict(zip(code.co_freevars, call.__closure__))
    checked, model, written = (cells[name].cell_contents for name in names)
    return model, sorted(checked), sorted(written)


def extern_kernels() -> Any:
    """The table of operations that generated code calls by name; None if Inductor is not loaded."""
    return getattr(loaded("torch._inductor.select_algorithm"), "extern_kernels", None)
