"""What guards read by functions of suture, in words: `number_in(x)` is "the number in x"."""

from __future__ import annotations

import re

# By the names of the functions (`suture.runtime.reads`, `.iterators` and others): what a person
# calls their result. "{}" alone is a value that has no other name than what it is read from.
_WORDS = {
    "left_of": "items left in {}",
    "coming_of": "items to come in {}",
    "position_of": "position in {}",
    "rest_of_range": "the rest of {}",
    "number_of": "the next number of {}",
    "count_of": "the count of {}",
    "step_of": "the step of {}",
    "sequence_of": "{}",
    "inner_of": "{}",
    "inners_of": "{}",
    "dict_of": "{}",
    "number_in": "the number in {}",
    "number_in_scalar": "the number in {}",
    "tensor_over": "{}",
    "storage_of": "the storage of {}",
    "offset_of": "{}.storage_offset()",
    "is_view": "{}._is_view()",
    "dereferenced": "{}()",
    "members_in_order": "list({})",
    "behind_proxy": "what {} stands for",
    "mapping_behind": "dict({})",
    "value_of_variable": "{}.get()",
    "__index__": "int({})",
    "__pos__": "{}",
    "plain_bytes": "bytes({})",
    "__str__": "str({})",
}
_OF_WHAT_IS_LOOPED_OVER = frozenset(
    {"left_of", "coming_of", "sequence_of", "inner_of", "rest_of_range"}
)
_CALL = re.compile(r"(?<![\w.])(" + "|".join(_WORDS) + r")\(")


def in_words(text: str) -> str:
    """A text about guards, with each read said in words, the innermost first."""
    out, at = "", 0
    while (found := _CALL.search(text, at)) is not None:
        end = _closing(text, found.end())
        if end is None:
            break
        inside = in_words(text[found.end() : end])
        if found[1] in _OF_WHAT_IS_LOOPED_OVER and inside.startswith("iter("):
            inside = inside[len("iter(") : -1]
        said = _WORDS[found[1]].replace("{}", without_parentheses(inside))
        out += text[at : found.start()] + said
        at = end + 1
    return out + text[at:]


def without_parentheses(text: str) -> str:
    """A text without parentheses around all of it."""
    whole = text.startswith("(") and _closing(text, 1) == len(text) - 1
    return without_parentheses(text[1:-1]) if whole else text


def _closing(text: str, at: int) -> int | None:
    """Where the parenthesis closes that was opened before `at`."""
    depth = 1
    for index in range(at, len(text)):
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        if depth == 0:
            return index
    return None
