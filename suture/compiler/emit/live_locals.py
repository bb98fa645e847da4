"""Which local variables a frame keeps after an exit: those it reads, and those with finalizers."""

from __future__ import annotations

import types

from suture.compiler.core import Frame, Lazy
from suture.compiler.language.dropped import waits
from suture.compiler.outside.namespaces import looks_at_locals
from suture.runtime.reads import is_empty_cell


def needed(frame: Frame, index: int) -> set[int]:
    """The slots of a frame that continues at an instruction which must keep their values."""
    if _is_watched(frame):
        return {i for i, value in enumerate(frame.locals) if value is not None}
    waiting = (i for i, value in enumerate(frame.locals) if waits(value))
    kept = {*frame.code.live(index), *waiting}
    if frame.resumed:  # a generator is handed all that its frame holds, whatever that is
        kept.update(i for i, value in enumerate(frame.locals) if type(value) is Lazy)
    return kept


def _is_watched(frame: Frame) -> bool:
    """Whether the frame names a function that looks at the local variables of its caller."""
    held = [frame.fn.globals.get(name) for name in frame.code.code.co_names]
    for value in frame.locals:
        value = getattr(value, "contents", value)
        held += [getattr(value, "fn", None), getattr(value, "value", None)]
    fn = getattr(frame.fn, "fn", None)
    cells = fn.__closure__ or () if isinstance(fn, types.FunctionType) else ()
    held += [cell.cell_contents for cell in cells if not is_empty_cell(cell)]
    return any(map(looks_at_locals, held))
