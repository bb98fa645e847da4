"""AOTAutograd compiles the backward graph when it is first needed, long after the forward one. It
tells so to TorchDynamo's callbacks; where it does not, nobody hears of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from suture.torch_private.table import loaded


class Listener:
    """`begin(id)` and `end(id)` are called around the compilation of a backward graph, with the
    compile id of its forward graph as text."""

    def __init__(self, begin: Callable[[str], None], end: Callable[[str], None]) -> None:
        self._begin, self._end = begin, end

    def listen(self) -> None:
        """Hear of what is compiled from now on. Calling it again changes nothing."""
        module = loaded("torch._dynamo.callback")
        handler = getattr(module, "callback_handler", None)
        if handler is None or not hasattr(handler, "start_callbacks"):
            return
        if self.started not in handler.start_callbacks:
            handler.start_callbacks.append(self.started)
            handler.end_callbacks.append(self.ended)

    def started(self, told: Any) -> None:
        """Called by torch."""
        if _is_backward(told):
            self._begin(str(told.compile_id))

    def ended(self, told: Any) -> None:
        """Called by torch."""
        if _is_backward(told):
            self._end(str(told.compile_id))


def _is_backward(told: Any) -> bool:
    return getattr(getattr(told, "callback_trigger", None), "name", "") == "LAZY_BACKWARD"
