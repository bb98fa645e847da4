"""Kernels that Triton compiled for Inductor: what their launch needs, and launching them again.

torch has a launcher in C++ that takes a kernel's binary file and its arguments, without Triton and
without a compiler. `launch_of` is what Inductor hands to it, as data; `loaded_kernel` makes a
function of that in another process.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

_FIRST = ["grid_0", "grid_1", "grid_2", "stream"]  # of the arguments that Inductor's launcher takes
_loaded: dict[tuple[str, str, int], Any] = {}  # binaries stay loaded as long as the process runs


class NotStatic(Exception):
    """Why a kernel is launched by more than its binary and plain arguments."""


@dataclass(frozen=True)
class Launch:
    """How one kernel is launched.

    `code` defines `run`, which takes what Inductor's code gives to the kernel, computes the grid
    and calls `suture_launch(suture_function, ...)`. `name` is the function in the binary.
    """

    name: str
    code: str
    shared: int
    device: int
    binary: bytes


def launch_of(kernel: Any) -> Launch | None:
    """How a kernel of Inductor's code is launched; None while it is not known which of several
    configurations is the fastest, which is measured at its first run. NotStatic if the launch
    cannot be described."""
    launchers, results = getattr(kernel, "launchers", None), getattr(kernel, "compile_results", ())
    if launchers is None or not results:
        raise NotStatic(f"{type(kernel).__name__} is no kernel of Triton's that is compiled")
    if kernel.inductor_meta.get("coordinate_descent_tuning"):
        raise NotStatic("a kernel is tuned further when it runs")
    if len(launchers) != 1:
        return None
    result = next((r for r in results if r.config is launchers[0].config), None)
    if result is None or not getattr(launchers[0], "_is_static", False) or torch.version.hip:
        raise NotStatic("a kernel is launched by Triton itself")
    try:
        return _launch(result)
    except (AttributeError, TypeError, OSError, RuntimeError) as error:
        raise NotStatic(f"this torch launches kernels in another way: {error}") from error


def _launch(result: Any) -> Launch:
    kernel = result.kernel
    if getattr(kernel, "global_scratch_size", 0) or getattr(kernel, "profile_scratch_size", 0):
        raise NotStatic("a kernel needs memory of its own")
    if getattr(kernel, "_has_tensordesc", False) or getattr(kernel, "device_agnostic", False):
        raise NotStatic("a kernel takes more than tensors and numbers")
    given, taken = _arguments(result)
    types = kernel.arg_tys
    for scratch in (kernel.has_global_scratch, kernel.has_profile_scratch):
        if scratch:
            types, taken = types + "O", [*taken, "None"]
    if len(types) != len(taken):
        raise NotStatic("a kernel takes other arguments than its types say")
    grid = _grid(result)
    passed = "".join(f"{one}, " for one in taken)
    lines = [
        f"def run({', '.join([*given, 'stream'])}):",
        *[f"    {line}" for line in grid.prefix],
        f"    suture_grid = ({grid.x_grid}), ({grid.y_grid}), ({grid.z_grid})",
        f"    suture_launch(suture_function, *suture_grid, {int(kernel.num_warps)},"
        f" {int(kernel.shared)}, {types!r}, ({passed}), stream)",
    ]
    device = result.compile_meta.get("device") or 0
    return Launch(
        str(kernel.name), "\n".join(lines), int(kernel.shared), int(device), _binary(result)
    )


def _arguments(result: Any) -> tuple[list[str], list[str]]:
    """The names that the launcher of Inductor takes, and those of them that go to the kernel."""
    heard: list[tuple[list[str], list[str]]] = []

    def listen(_: Any, given: Any, taken: Any, pre_runner_lines: Any = None) -> Any:
        if pre_runner_lines or list(taken[:4]) != _FIRST:
            raise NotStatic("a kernel is launched in steps")
        heard.append((list(given), list(taken[4:])))
        return lambda: None  # it is given attributes

    result._gen_launcher_code = listen
    try:
        result.make_launcher()
    finally:
        del result._gen_launcher_code
    ((given, taken),) = heard
    return given, taken


def _grid(result: Any) -> Any:
    from torch._inductor.runtime.triton_heuristics import GridExpr

    return GridExpr.from_meta(result.inductor_meta, result.config)


def _binary(result: Any) -> bytes:
    before = result.kernel.cubin_path
    result.reload_cubin_path()
    path = Path(result.kernel.cubin_path)
    result.kernel.cubin_path = before
    return path.read_bytes()


def loaded_kernel(path: str, launch: dict[str, Any]) -> Callable[..., Any]:
    """What launches a kernel whose binary is in a file: takes what Inductor's code gives to it."""
    c = getattr(torch._C, "_StaticCudaLauncher", None)
    if c is None:
        raise LookupError("this torch launches kernels in another way")
    name, shared, device = str(launch["name"]), int(launch["shared"]), int(launch["device"])
    key = path, name, device
    if key not in _loaded:
        with torch.cuda.device(device):
            # the function, then registers and spills; newer releases put the module first
            _loaded[key] = c._load_kernel(path, name, shared, device)[-3]
    namespace = {"suture_launch": c._launch_kernel, "suture_function": _loaded[key]}
    exec(compile(launch["code"], f"<suture {name}>", "exec", dont_inherit=True), namespace)
    run: Callable[..., Any] = namespace["run"]
    return run
