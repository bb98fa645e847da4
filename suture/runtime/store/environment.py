"""What must be the same in two processes for one to use what the other compiled.

All of it goes into the name of an entry: another Python, torch, suture, device, configuration or
setting of torch looks for another entry and finds none.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from suture import _core, config, version
from suture.runtime.chain import Chain
from suture.runtime.points import Options
from suture.runtime.store.fingerprints import code_digest, digest
from suture.runtime.store.literals import Unstorable
from suture.runtime.store.references import write_frames
from suture.torch_private import inductor_code, settings, torchdynamo

FORMAT = 6
# What else goes into the key: each gives JSON, or None where nothing can be kept.
ALSO: list[Callable[[], Any]] = []
# Options that change nothing of what is compiled.
_UNASKED = frozenset({"cache_dir", "cache_size", "logs", "trace_dir", "repro_dir"})
_VARIABLES = ("TORCH", "PYTORCH", "CUDA", "NVIDIA_TF32", "OMP_", "MKL_", "ATEN_", "TRITON",
    "PYTHONHASHSEED",
)  # fmt: skip


def key_of(options: Options, chain: Chain) -> str:
    """The name under which variants of a point are kept; raises Unstorable where they cannot be."""
    return digest([FORMAT, _machine(), *_place(options, chain)])


def place_key(options: Options, chain: Chain) -> str:
    """The same without the machine and the versions, which a file for other machines says once."""
    return digest([FORMAT, *_place(options, chain)])


def _place(options: Options, chain: Chain) -> list[Any]:
    return [_settings(), _asked(options), write_frames(chain, code_digest)]


def hashes_are_told() -> bool:
    """Whether the key says what hashes of texts are: PYTHONHASHSEED does, where it is obeyed."""
    seed = os.environ.get("PYTHONHASHSEED", "random")
    return seed.isdecimal() and not sys.flags.ignore_environment


def described_machine() -> dict[str, Any]:
    """The machine and the versions, by name, for a file that others load. suture counts by what its
    files say, wherever they are."""
    python, machine, torch_version, commit, own, _, capability, devices, variables = _machine()
    return {
        "Python": python,
        "the machine": machine,
        "torch": torch_version,
        "torch's commit": commit,
        "suture": own,
        "suture's files": _own_content(),
        "the processor's capability": capability,
        "GPUs": devices,
        "environment variables": [list(pair) for pair in variables],
    }


def _own_content() -> str:
    root = Path(_core.__file__).parent
    found = [p for p in sorted(root.rglob("*")) if p.suffix in (".py", ".so")]
    sums = [[str(p.relative_to(root)), hashlib.sha256(p.read_bytes()).hexdigest()] for p in found]
    return digest(sums)


@functools.cache
def _machine() -> list[Any]:
    """What cannot change while the process runs."""
    return [
        sys.version,
        platform.machine(),
        torch.__version__,
        torch.version.git_version,
        version.VERSION,
        _own_files(),
        torch.backends.cpu.get_cpu_capability(),
        _devices(),
        sorted((k, v) for k, v in os.environ.items() if k.startswith(_VARIABLES)),
    ]


def _own_files() -> str:
    """suture as it is on disk: two builds of one version are told apart."""
    root = Path(_core.__file__).parent
    found = []
    for folder, _, names in os.walk(root):
        for name in names:
            if name.endswith((".py", ".so")):
                about = os.stat(os.path.join(folder, name))
                found.append((os.path.join(folder, name), about.st_size, about.st_mtime_ns))
    return digest(sorted(found))


def _devices() -> list[Any]:
    if not torch.cuda.is_available():
        return []
    return [
        [torch.cuda.get_device_name(i), list(torch.cuda.get_device_capability(i))]
        for i in range(torch.cuda.device_count())
    ]


def _settings() -> list[Any]:
    """Options of suture and settings of torch that may be read while compiling."""
    marks = [ask() for ask in ALSO]
    if None in marks:
        raise Unstorable("the program has marked functions in a way that has no name")
    marks.append(_marked())
    ours = {name: v for name, v in config.snapshot().items() if name not in _UNASKED}
    return [ours, marks, settings.compiled_in(), _distributed()]


def _marked() -> list[Any]:
    """What the program has marked in torch's tables. A function that is made when another one runs
    may be one of several of that name: it has none of its own."""
    marked = torchdynamo.marked_by_programs()
    found = []
    for table, one in marked or ():
        home, name = getattr(one, "__module__", None), getattr(one, "__qualname__", "<")
        code = getattr(one, "__code__", None)
        if "<" in name or type(home) is not str:
            marked = None
        found.append([table, home, name, None if code is None else code_digest(code)])
    if marked is None:
        raise Unstorable("the program has marked functions in a way that has no name")
    return sorted(found, key=repr)


def _distributed() -> list[Any]:
    """How many ranks there are. Which of them this one is does not count, so that one may compile
    for all; a variant that depends on it has a guard that says so."""
    if not torch.distributed.is_available() or not torch.distributed.is_initialized():
        return []
    return [torch.distributed.get_world_size()]


def _asked(options: Options) -> list[Any]:
    backend = options.backend
    if not backend.can_be_kept():
        raise Unstorable(f"graphs of the backend {backend.name} cannot be kept")
    changed = inductor_code.changed_settings() if not backend.is_eager() else []
    asked = backend.compiler.asked() if backend.is_inductor() else []
    if changed is None or asked is None:
        raise Unstorable("the options of Inductor have no name")
    if backend.guard_filter_fn is not None or options.shapes is not None or backend.kwargs:
        raise Unstorable("the options of this compile have no name")
    return [backend.name, asked, changed, options.fullgraph, options.dynamic]
