"""One handler per instruction, by family. Importing this package fills the table."""

from suture.tracer.opcodes import (  # noqa: F401
    building,
    calls,
    control,
    exceptions,
    generators,
    names,
    operators,
)
from suture.tracer.opcodes.table import HANDLERS, Handler, op

__all__ = ["HANDLERS", "Handler", "op"]
