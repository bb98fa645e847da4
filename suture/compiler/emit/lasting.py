"""Which local variables a frame keeps behind an exit: those it reads, and those waited for."""

from __future__ import annotations

import types
import weakref

import torch

from suture.compiler.core import Frame
from suture.compiler.objects import Generator
from suture.compiler.outside.namespaces import looks_at_locals
from suture.runtime.reads import is_empty_cell


def needed(frame: Frame, index: int) -> set[int]:
    """The slots of a frame that goes on at an instruction which must keep their values."""
    if _is_watched(frame):
        return {i for i, value in enumerate(frame.locals) if value is not None}
    waiting = (i for i, value in enumerate(frame.locals) if waits(value))
    return {*frame.code.live(index), *waiting}


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


def waits(value: object) -> bool:
    """Whether a local variable holds an object that does something when it is freed, which is when
    the frame ends and not before: a generator that has begun, an open file, a temporary folder."""
    if isinstance(value, Generator):
        return value.started and value.frame is not None
    real = getattr(value, "value", None)
    if type(real) is types.CellType:
        real = None if is_empty_cell(real) else real.cell_contents
    kind = type(real)
    if real is None or issubclass(kind, _LASTING):
        return False
    if issubclass(kind, types.GeneratorType) or hasattr(kind, "__del__"):
        return True
    return bool(kind.__weakrefoffset__) and weakref.getweakrefcount(real) > 0


# Objects whose end nobody waits for, though there may be weak references to them.
_LASTING = (torch.Tensor, torch.nn.Module, types.FunctionType, types.ModuleType, type)
