"""What happens at a miss that gives no variant."""

from __future__ import annotations

import enum


class Uncompiled(enum.Enum):
    """A compiler's answer other than a variant."""

    INTERPRET = "the frames continue in the interpreter"
    THIS_CALL_PLAINLY = "the function is called as it is, and the next call is compiled"


INTERPRET = Uncompiled.INTERPRET
THIS_CALL_PLAINLY = Uncompiled.THIS_CALL_PLAINLY
