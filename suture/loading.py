"""The compiler as units see it, loaded at the first miss."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable
from typing import Any

from suture import _core, backends, events, rules
from suture.errors import RaisedWhileCompiling
from suture.runtime import torch_state
from suture.runtime.points import PointData, Variant
from suture.runtime.signals import interruptible
from suture.runtime.store import environment
from suture.torch_private.torchdynamo import hide


def load_pipeline() -> Any:
    """The compiler's pipeline. It is imported without the modes of the program, which would see
    what modules do while they are imported, and without interruption. A thread that comes while
    another one imports it waits."""
    found = sys.modules.get(_PIPELINE)
    if found is None or getattr(found.__spec__, "_initializing", False):
        active = _core.set_hook_active(False)
        try:
            with (
                events.phase("import"),
                interruptible(),
                torch_state.without_function_modes(),
            ):
                found = importlib.import_module(_PIPELINE)
        except RaisedWhileCompiling as error:
            raise error.raised from None
        finally:
            _core.set_hook_active(active)
    return found


_PIPELINE = "suture.compiler.pipeline"


class _Compiler:
    """What units ask of the compiler (`suture.runtime.points.Compiler`)."""

    def answer(self, unit: Any, point: _core.Point, state: tuple[Any, ...]) -> Callable[..., Any]:
        if _PIPELINE not in sys.modules and not _has_room():
            interpreting: Callable[..., Any] = point.data.interpreting
            return interpreting
        made: Callable[..., Any] = load_pipeline().answer(unit, point, state)
        return made

    def explain(self, data: PointData, variant: Variant, state: tuple[Any, ...]) -> str:
        return str(load_pipeline().explain_miss(data, variant, state))

    def learn_from_rank(
        self, unit: Any, data: PointData, sizes: dict[str, list[int]], numbers: dict[str, Any]
    ) -> None:
        load_pipeline().history_of(unit, data).learn_from_rank(sizes, numbers)

    def stored(self, unit: Any, point: _core.Point, state: tuple[Any, ...]) -> Any:
        from suture.runtime.store.lookup import variant_for

        return variant_for(unit, point, state)

    def report_mode(self, point: _core.Point) -> None:
        if _has_room():
            load_pipeline().report_mode(point)

    def configure(self, backend: Any) -> Any:
        return backends.configure(backend)


def _has_room() -> bool:
    """Whether the stack has room for an import: one that fails half way cannot be repeated."""
    depth = 0
    frame: types.FrameType | None = sys._getframe()
    while frame is not None:
        frame, depth = frame.f_back, depth + 1
    return depth + _ROOM < sys.getrecursionlimit()


_ROOM = 300  # frames that importing the compiler takes, and more
COMPILER = _Compiler()
environment.ALSO.append(rules.described_marks)  # what the compiler makes depends on them
hide(_Compiler.answer.__code__)
hide(_Compiler.report_mode.__code__)
