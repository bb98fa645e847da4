"""Finding a break by number, by word, and by a word that is nearly right; best first.

The site's search (site/static/search.js) scores in the same way.
"""

from __future__ import annotations

import difflib
import functools
import re
from dataclasses import dataclass

from suture.breaks import catalog
from suture.breaks.cases import CASES
from suture.breaks.registry import BreakType, Status

_WORD = re.compile(r"[a-z][a-z0-9_]*|\d+")
_NUMBER = re.compile(r"(?:gb)?\s*0*(\d{1,4})", re.I)


@dataclass(frozen=True, slots=True)
class Found:
    """What a search found, best first. `instead` are the words that were taken for words that
    nothing has, as (asked, taken) pairs; `exact` is true if a number was asked for."""

    entries: tuple[BreakType, ...]
    instead: tuple[tuple[str, str], ...] = ()
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Texts:
    """The words of an entry by how much a hit there says."""

    heading: str
    names: str
    rest: str


@functools.cache
def texts() -> dict[str, Texts]:
    """The texts of every entry, in small letters."""
    out = {}
    for entry in catalog.entries():
        cases = " ".join(
            f"{case.pattern.pattern} {' '.join(case.hints)}"
            for case in CASES
            if case.number == entry.number
        )
        rest = " ".join((entry.explanation, *entry.hints, entry.note, cases))
        family = catalog.family_of(entry).replace("_", " ")
        names = f"{entry.number} {entry.type} {entry.message} {family}"
        out[entry.number] = Texts(entry.heading.lower(), names.lower(), rest.lower())
    return out


@functools.cache
def vocabulary() -> frozenset[str]:
    """Every word that some entry has."""
    parts = (f"{one.heading} {one.names} {one.rest}" for one in texts().values())
    return frozenset(word for text in parts for word in _WORD.findall(text))


def search(query: str) -> Found:
    """The entries that a query means: the one of its number, or those that have all its words.

    A word that no entry has is taken for the nearest one that some entry has.
    """
    number = _NUMBER.fullmatch(query.strip())
    if number is not None:
        wanted = f"GB{int(number.group(1)):04}"
        hit = tuple(entry for entry in catalog.entries() if entry.number == wanted)
        return Found(hit, exact=bool(hit))
    words = query.lower().split()
    instead = []
    for index, word in enumerate(words):
        if not any(word in f"{t.heading} {t.names} {t.rest}" for t in texts().values()):
            near = difflib.get_close_matches(word, sorted(vocabulary()), n=1, cutoff=0.7)
            if near:
                instead.append((word, near[0]))
                words[index] = near[0]
    scored = [(score(entry, words), entry) for entry in catalog.entries()] if words else []
    best = sorted((one for one in scored if one[0] > 0), key=lambda one: (-one[0], one[1].number))
    return Found(tuple(entry for _, entry in best), tuple(instead))


def score(entry: BreakType, words: list[str]) -> int:
    """How well an entry fits; 0 if one of the words is nowhere in it. What can happen counts more
    than what is only on record."""
    found = texts()[entry.number]
    total = 0
    for word in words:
        whole = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
        best = 0
        for weight, text in ((8, found.heading), (4, found.names), (1, found.rest)):
            if word in text:
                best = max(best, 2 * weight if whole.search(text) else weight)
        if not best:
            return 0
        total += best + 2 * found.heading.startswith(word)
    return 2 * total + (entry.status is Status.BREAK)
