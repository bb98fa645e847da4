"""What abstract classes say about other classes, and how a guard checks that again."""

from __future__ import annotations

from suture.breaks import Break, objects
from suture.compiler.core import Trace
from suture.runtime.predicates import Answers


def guard_abstract(trace: Trace, cls: type, kind: type) -> None:
    """Require that the abstract class `kind` says of `cls` what it says now."""
    if id(cls) in trace.guards.anew:  # of the class at the next call it may say something else
        raise Break(objects.UNKNOWN_OBJECT, operation="isinstance", object=cls.__qualname__)
    answers = trace.outside.abstract_answers
    if answers is None:
        answers = trace.outside.abstract_answers = Answers()
        trace.guards.add(None, "torch_state", (answers, True, "abstract classes"))
    answers.note(cls, kind)
