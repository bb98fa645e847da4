"""The ways into a compiled graph. One is chosen for each graph, by what its backend tells of it.

| way | legal where |
| --- | --- |
| `Direct` | Inductor made it, nothing has to be done around it, no derivative is needed |
| `Training` | AOTAutograd made an autograd function of it, nothing has to be done around that |
| `Plain`, by `Measured` | few operations, which change nothing and are faster one by one |
| `Wrapped` | always: what the backend gave |
| `Around` | one of these, with modes put back, autocast off, or views taken after it |
| `Background` | until one of the others is compiled, where a thread does that |

docs/decisions/0010-ways-into-a-graph.md says what the wrappers that are left out guarantee, and why
it holds without them. `suture.code` shows which way a variant takes.
"""

from suture.runtime.callers.background import Background
from suture.runtime.callers.caller import (
    Around,
    Before,
    Caller,
    Run,
    Situation,
    WithoutAutocast,
    Wrapped,
    followed,
    innermost,
)
from suture.runtime.callers.direct import Direct
from suture.runtime.callers.plain import Measured
from suture.runtime.callers.training import Training

__all__ = [
    "Around", "Background", "Before", "Caller", "Direct", "Measured", "Run", "Situation",
    "Training", "WithoutAutocast", "Wrapped", "followed", "innermost",
]  # fmt: skip
