"""Hints for one occurrence of a break: what its fields name decides what helps.

An entry such as "call of a function written in C" covers a clock, a file and a random number, and
what a user should do differs. A row here names an entry, one of its fields and what that holds; its
hints come before those of the entry, or instead of the first of them, where they say the same of
just this case.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    """`hints` where `pattern` is found in the field `field` of a break of that number."""

    number: str
    field: str
    pattern: re.Pattern[str]
    hints: tuple[str, ...]
    replaces: int = 0  # how many hints of the entry, its first ones, are said better here


def _case(number: str, field: str, pattern: str, *hints: str, replaces: int = 0) -> Case:
    return Case(number, field, re.compile(pattern), hints, replaces)


_CLOCK = (
    "Measure around the compiled function: what a graph takes cannot be seen from inside it.",
    "If the time is only logged, put both readings and the log into one function under "
    "`suture.disable`.",
)
_FILE = (
    "Read or write the file before or after the compiled function, and pass what was read as an "
    "argument.",
)
_RANDOM = ("Draw with torch (`torch.rand(())`), which goes into the graph, or pass the number in.",)
_CACHE = (
    "Call it before the compiled function and pass the result in, or keep the result where the "
    "function finds it (an attribute, a buffer of the module).",
    "Without the cache the function is captured, and computed in each call.",
)
_LOG = (
    "Log after the compiled function has returned, or put it into a function under "
    "`suture.disable`: the graph then breaks once, at that call.",
)
_SIZE = (
    "Keep a mask instead of what it selects: `torch.where(mask, a, b)` has a shape that is known.",
    "A loop over what `nonzero` finds is a loop over data: compute all rows at once and index with "
    "the mask at the end.",
)

_TEXT = (
    "Pass what the function computes from the text (a number, a flag, a tensor), or compile one "
    "function for each text.",
)
_OBJECT = (
    "Make the object once and pass the same one to each call: another object is another guard.",
)

CASES: tuple[Case, ...] = (
    _case("GB0039", "guard", r"== ['\"]", *_TEXT),
    _case("GB0039", "guard", r" is the \w+ it was|: was another ", *_OBJECT),
    _case(
        "GB0177", "function", r"^(time\.)?(perf_counter|time|monotonic|process_time)(_ns)?$",
        *_CLOCK,
    ),
    _case(
        "GB0177", "function", r"^(\w+\.)?(open|listdir|stat|scandir|read|write|getcwd|mkdir)$",
        *_FILE,
    ),
    _case("GB0177", "function", r"^(\w+\.)?(random|randrange|getrandbits|urandom)$", *_RANDOM),
    _case("GB0177", "function", r"^the cache around ", *_CACHE),
    _case("GB0156", "method", r"^(read|write|readline|readlines|close|flush|seek)$", *_FILE),
    _case("GB0156", "method", r"^(debug|info|warning|error|critical|exception|log)$", *_LOG),
    _case("GB0007", "module", r"^(logging|warnings|loguru|absl)\b", *_LOG),
    _case("GB0007", "module", r"^random\b", *_RANDOM),
    _case("GB0007", "module", r"^(os|pathlib|shutil|tempfile|json|pickle|csv|io)\b", *_FILE),
    _case("GB0007", "qualname", r"^(save|load)$", *_FILE),
    _case(
        "GB0007", "qualname", r"^(tqdm|wandb|SummaryWriter)\b",
        "Keep progress bars and trackers in the loop that calls the compiled function.",
    ),
    _case(
        "GB0059", "builtin", r"^print$",
        "Print after the compiled function has returned, or print shapes and dtypes, which are "
        "known while tracing.",
        replaces=1,
    ),
    _case("GB2010", "expression", r"\brandom\.\w+\(", *_RANDOM),
    _case("GB2010", "origin", r"\b(nonzero|unique|masked_select|argwhere)\b", *_SIZE),
    _case(
        "GB2010", "origin", r"\bitem\b",
        "Compare tensors, not numbers: `torch.where(x > limit, a, b)` needs no `item()`.",
    ),
    _case("GB0124", "method", r"^tolist$", "Keep the values in a tensor; index it with tensors."),
    _case(
        "GB0123", "call", r"backward",
        "Leave `backward()` and the optimizer's step outside and compile the forward and the loss; "
        "the backward graph is compiled with them.",
    ),
)  # fmt: skip


def hints(number: str, fields: Mapping[str, str]) -> tuple[tuple[str, ...], int]:
    """The hints for a break with these fields, and how many of the entry's they replace; () and 0
    where none of the cases is it."""
    found = [
        case
        for case in CASES
        if case.number == number and case.pattern.search(fields.get(case.field, ""))
    ]
    said = tuple(hint for case in found for hint in case.hints)
    return said, max((case.replaces for case in found), default=0)
