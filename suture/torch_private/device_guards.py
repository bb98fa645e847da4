"""What fake modes need of devices that this machine lacks, for as long as the process lives."""

from __future__ import annotations

import functools
import threading
from typing import Any

import torch

from suture.torch_private import releases
from suture.torch_private.table import Topic

NAMES = Topic(
    __name__,
    "a first compilation in a thread that ends",
    "2.11-2.15",
    {"ensure_guard": "torch._C._ensureCUDADeviceGuardSet"},
)


def __getattr__(name: str) -> Any:
    return NAMES.get(name)


@functools.cache
def keep() -> None:
    """Called before the first fake mode is entered.

    Where there is no GPU, a torch that was built for GPUs makes a guard for the device when the
    first fake mode is entered. Torch 2.11 frees it when the thread ends that did this, and goes on
    using it: it crashes. So a thread that does not end makes it.
    """
    if not releases.guards_end_with_threads() or torch.cuda.is_available():
        return
    ensure_guard = NAMES.get("ensure_guard")
    if threading.current_thread() is threading.main_thread():
        ensure_guard()
        return
    made = threading.Event()

    def stay() -> None:
        ensure_guard()
        made.set()
        threading.Event().wait()

    threading.Thread(target=stay, name="suture device guard", daemon=True).start()
    made.wait()
