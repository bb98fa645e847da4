"""torch's minifier of graphs."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
from collections.abc import Callable
from typing import Any

import torch.fx

from suture.torch_private.table import Topic

NAMES = Topic(
    __name__,
    "`suture minify` of the graph inside of a script",
    "2.13",
    {"minifier": "torch._functorch.fx_minifier.minifier"},
)


def __getattr__(name: str) -> Any:
    return NAMES.get(name)


def minified(
    module: torch.fx.GraphModule, inputs: list[Any], fails: Callable[[Any, Any], bool]
) -> tuple[torch.fx.GraphModule, list[Any]]:
    """The smallest graph found, with its inputs, for which `fails` still holds."""
    minifier = NAMES.get("minifier")
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as scratch, contextlib.redirect_stdout(io.StringIO()):
        os.chdir(scratch)  # it leaves files behind in the current folder
        try:
            graph, kept = minifier(module, inputs, fails, dump_state=_nothing)
        finally:
            os.chdir(here)
    return graph, list(kept)


def _nothing(module: Any, inputs: Any) -> None:
    """Steps in between are not written."""
