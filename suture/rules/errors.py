"""What is wrong with a rule. Each message names both locations that disagree."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from suture.errors import UserError


class RuleError(UserError, ValueError):
    """A rule or a mark that cannot hold. Raised where it is written, not where it is used."""


class UnknownName(RuleError):
    """A rule, or a question, about something that does not exist."""

    def __init__(self, name: str, where: str = "", known: Iterable[str] = ()) -> None:
        near = difflib.get_close_matches(name, list(known), n=3, cutoff=0.6)
        at = f" (rule at {where})" if where else ""
        hint = f"; did you mean {' or '.join(near)}?" if near else ""
        super().__init__(f"there is no {name}{at}{hint}")
        self.name = name
        self.near = near


class ConflictingRules(RuleError):
    """Two rules on one object that say different things."""

    def __init__(self, name: str, other_name: str, rule: Any, other: Any) -> None:
        super().__init__(
            f"two rules disagree on {name}: {rule.kind.value} at {rule.where}, "
            f"but {other.kind.value} at {other.where} (as {other_name})"
        )


class ConflictingMarks(RuleError):
    """Two marks on one function that exclude each other."""

    def __init__(self, name: str, mark: str, where: str, other: str, other_where: str) -> None:
        super().__init__(
            f"{name} is marked {mark} at {where}, but was marked {other} at {other_where}; "
            f"take one of the two away"
        )


class SignatureMismatch(RuleError):
    """A substitute that cannot be called as its original is called."""

    def __init__(self, original: str, where: str, replacement: str, at: str, detail: str) -> None:
        super().__init__(f"{replacement} ({at}) cannot stand for {original} ({where}): {detail}")
