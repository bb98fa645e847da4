"""Libraries that fill a table of their own when they first meet a tensor.

Such a table is read by whatever is compiled of the library, so that its first entry is a reason to
compile all of that again, and what makes the entry is a break as well. The library is asked before
the first region of the program is traced instead, as soon as it has been imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType

import torch


def _einops(module: ModuleType) -> None:
    """Its table of backends, by the class of tensor."""
    for made in (torch.empty(0), torch.nn.Parameter(torch.empty(0), requires_grad=False)):
        module.get_backend(made)


# What is called once with the module of this name, when it is there. It must not change anything
# that a program sees, except how soon it is done.
FIRST_CALLS: dict[str, Callable[[ModuleType], None]] = {"einops.einops": _einops}


def make_first_calls() -> None:
    """Make the calls for what has been imported since."""
    for name in [name for name in FIRST_CALLS if name in sys.modules]:
        call = FIRST_CALLS.pop(name)
        try:
            call(sys.modules[name])
        except Exception:  # a release that is made in another way fills its table as it does
            continue
