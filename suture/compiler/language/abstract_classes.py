"""What abstract classes say about other classes, and how a guard checks that again."""

from __future__ import annotations

import abc
import weakref
from typing import Any

from suture.compiler.core import Trace


class Answers:
    """A predicate for guards: the abstract classes still say what they said while tracing.

    Asking is one comparison as long as no abstract class of the process has got a new member;
    then each question is asked again.
    """

    __slots__ = ("__name__", "known_answers", "token")

    def __init__(self) -> None:
        self.__name__ = "abstract_classes_say_the_same"
        self.known_answers: dict[tuple[int, int], tuple[Any, Any, bool]] = {}
        self.token = abc.get_cache_token()

    def note(self, cls: type, kind: type) -> None:
        """Remember what `kind` says about `cls`."""
        key = (id(cls), id(kind))
        if key not in self.known_answers:
            self.known_answers[key] = (weakref.ref(cls), weakref.ref(kind), issubclass(cls, kind))

    def __call__(self) -> bool:
        token = abc.get_cache_token()
        if token == self.token:
            return True
        for cls, kind, answer in self.known_answers.values():
            one, other = cls(), kind()
            if one is not None and other is not None and issubclass(one, other) is not answer:
                return False
        self.token = token
        return True


def guard_abstract(trace: Trace, cls: type, kind: type) -> None:
    """Require that the abstract class `kind` says of `cls` what it says now."""
    answers = trace.outside.abstract_answers
    if answers is None:
        answers = trace.outside.abstract_answers = Answers()
        trace.guards.add(None, "torch_state", (answers, True, "abstract classes"))
    answers.note(cls, kind)
