"""TORCH_LOGS and torch._logging.set_logs: torch's topics about capture are suture's.

The others (`output_code`, `aot_graphs`, `dynamic`, ...) are about parts of torch that work below
suture as they do below TorchDynamo, and torch logs them itself.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping

from suture import config, logs

# torch's topic: suture's topics.
TOPICS: Mapping[str, tuple[str, ...]] = {
    "graph_breaks": ("breaks",),
    "recompiles": ("recompiles",),
    "recompiles_verbose": ("recompiles",),
    "guards": ("guards",),
    "verbose_guards": ("guards",),
    "graph": ("graphs",),
    "graph_code": ("graphs",),
    "graph_code_verbose": ("graphs",),
    "graph_sizes": ("graphs",),
    "bytecode": ("code",),
    "trace_source": ("trace",),
    "trace_call": ("trace",),
    "trace_bytecode": ("trace",),
    "dynamo": ("breaks", "recompiles"),
    "all": ("breaks", "recompiles"),
}
# torch shows breaks that the program asked for too; suture tells of those at DEBUG.
_FULL = frozenset({"graph_breaks", "trace_source", "trace_call", "trace_bytecode"})


def start() -> Callable[[], None]:
    """Log what TORCH_LOGS asks for, besides what SUTURE_LOGS does, also into the file of
    TORCH_LOGS_OUT. Gives what closes the file again."""
    text = os.environ.get("TORCH_LOGS", "")
    items = filter(None, (part.strip() for part in text.split(",")))
    apply({item.lstrip("+-"): _level(item) for item in items})
    path = os.environ.get("TORCH_LOGS_OUT")  # torch writes its own records there too
    if not path:
        return lambda: None
    file, logger = logging.FileHandler(path, delay=True), logging.getLogger("suture")
    file.setFormatter(logging.Formatter("[%(name)s] %(message)s"))
    logger.addHandler(file)

    def stop() -> None:
        logger.removeHandler(file)
        file.close()

    return stop


def apply(wanted: Mapping[str, int]) -> None:
    """Show these topics of torch's at these levels."""
    found: dict[str, bool | int | str] = {}
    for name, level in wanted.items():
        for topic in TOPICS.get(name, ()):
            found[topic] = logging.DEBUG if name in _FULL else level
    if found:
        logs.set_logs(config.logs, **found)


def from_keywords(topics: Mapping[str, object]) -> dict[str, int]:
    """What `torch._logging.set_logs(graph_breaks=True, dynamo=logging.DEBUG)` asks for."""
    levels: dict[str, int] = {}
    for name, value in topics.items():
        if value is True:
            levels[name] = logging.INFO
        elif isinstance(value, int) and value:
            levels[name] = min(value, logging.INFO) if name not in ("dynamo", "all") else value
    return levels


def _level(item: str) -> int:
    if item.startswith("-"):
        return logging.ERROR
    return logging.DEBUG if item.startswith("+") else logging.INFO
