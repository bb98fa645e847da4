"""Where marks are kept: by identity, weakly, with the location where each was set.

Also the packages that the user named. `changed` tells `lookup` that its cache is stale.
"""

from __future__ import annotations

import importlib.util
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from types import CodeType
from typing import Any

from suture import config
from suture.rules.errors import ConflictingMarks, RuleError, UnknownName
from suture.rules.packages import PackageRule, PackageTable
from suture.rules.verdict import (
    CONSTANT,
    IN_GRAPH,
    INLINE,
    RUN,
    SPECIAL,
    Kind,
    Origin,
    Verdict,
    location,
)
from suture.rules.wrapped import canonical, has_code, home


@dataclass(frozen=True, slots=True)
class Mark:
    """One mark on one object."""

    name: str
    where: str
    reason: str = ""
    recursive: bool = True
    target: Any = None


# Mark -> (kind, what is said, handler for SPECIAL).
MEANING: dict[str, tuple[Kind, str, str]] = {
    "disable": (RUN, "the program disables it", ""),
    "disallow_in_graph": (RUN, "the program keeps it out of graphs", ""),
    "allow_in_graph": (IN_GRAPH, "the program allows it as one node", ""),
    "nonstrict_trace": (SPECIAL, "one node, whose body the backend traces", "nonstrict_trace"),
    "dont_skip_tracing": (INLINE, "the program wants it traced", ""),
    "forbid_in_graph": (SPECIAL, "the program forbids it while tracing", "forbidden"),
    "assume_constant_result": (
        CONSTANT,
        "the program says that its result never changes",
        "assume_constant_result",
    ),
    "substitute_in_graph": (INLINE, "the program gives a function to trace instead", ""),
    "ignore": (SPECIAL, "the program says that its calls do nothing while tracing", "ignored"),
}

_ORIGINS = {
    "disable": Origin.DISABLED,
    "disallow_in_graph": Origin.DISALLOWED,
    "forbid_in_graph": Origin.FORBIDDEN,
}

_IN_TURN = {"allow_in_graph", "disallow_in_graph"}
_marks: dict[int, tuple[Callable[[], Any], Mark]] = {}
_codes: dict[int, tuple[Callable[[], Any], Mark]] = {}
_user_packages = PackageTable()
_options = vars(config)  # a missing option reads as empty, and reading stays cheap
_stale = [False]
_config_seen: list[tuple[str, str] | None] = [None]


def set_mark(obj: Any, mark: Mark) -> None:
    """File a mark. A second, different one on the same object is an error that names both; only
    what is allowed may be disallowed later, and the other way round: the last one counts."""
    obj = canonical(obj)
    other = get_mark(obj)
    differs = other is not None and (other.name, other.target) != (mark.name, mark.target)
    if other is not None and differs and {other.name, mark.name} != _IN_TURN:
        raise ConflictingMarks(describe(obj), mark.name, mark.where, other.name, other.where)
    _file(_marks, obj, mark)
    if has_code(obj) and mark.name != "substitute_in_graph":
        _file(_codes, obj.__code__, mark)
    _stale[0] = True


def _file(table: dict[int, tuple[Callable[[], Any], Mark]], obj: Any, mark: Mark) -> None:
    key = id(obj)
    try:
        ref: Callable[[], Any] = weakref.ref(obj, lambda _: table.pop(key, None))
    except TypeError:
        ref = _Strong(obj)
    table[key] = (ref, mark)


class _Strong:
    """A reference like weakref's to an object that cannot have weak ones."""

    def __init__(self, obj: Any) -> None:
        self.obj = obj

    def __call__(self) -> Any:
        return self.obj


def run_frames_of(code: CodeType, where: str) -> None:
    """Frames of this code that start on their own are run by Python."""
    _file(_codes, code, Mark("disable", where, recursive=False))


def get_mark(obj: Any) -> Mark | None:
    """The mark on exactly this object, or None."""
    entry = _marks.get(id(obj))
    return entry[1] if entry is not None and entry[0]() is obj else None


def unmark(obj: Any) -> None:
    """Take the mark on `obj` back; nothing happens if there is none."""
    obj = canonical(obj)
    if get_mark(obj) is not None:
        del _marks[id(obj)]
        _codes.pop(id(getattr(obj, "__code__", None)), None)
        _stale[0] = True


def verdict_of(obj: Any) -> Verdict | None:
    """The verdict that the mark on `obj` means, or None."""
    mark = get_mark(obj)
    if mark is None:
        return None
    kind, reason, handler = MEANING[mark.name]
    said = f"{reason}: {mark.reason}" if mark.reason else reason
    return Verdict(
        kind,
        said,
        f"mark {mark.name}",
        mark.where,
        handler or describe(obj),
        mark.target,
        origin=_origin(mark),
    )


def verdict_of_code(code: CodeType) -> Verdict | None:
    """The verdict on a frame of a marked function that starts on its own: traced if the mark says
    so, run by Python under every other mark."""
    entry = _codes.get(id(code))
    if entry is None or entry[0]() is not code:
        return None
    mark = entry[1]
    kind = INLINE if MEANING[mark.name][0] is INLINE else RUN
    rule = f"mark {mark.name}"
    return Verdict(
        kind, MEANING[mark.name][1], rule, mark.where, code.co_qualname, origin=_origin(mark)
    )


def _origin(mark: Mark) -> Origin:
    return _ORIGINS.get(mark.name, Origin.MARK)


def described_marks() -> list[list[str]] | None:
    """All marks and rules of the program by name, in order; None if one of them says that a result
    never changes: that is known of this process only."""
    found = []
    if any(mark.name == "assume_constant_result" for _, mark in _marks.values()):
        return None
    # Code may outlive its function. Its mark then says who runs its frames, nothing of results.
    for ref, mark in [*_marks.values(), *_codes.values()]:
        target = describe(mark.target) if mark.target is not None else ""
        found.append([describe(ref()), mark.name, str(mark.recursive), target])
    packages = [[name, rule.kind.value] for name, rule in _user_packages.rules.items()]
    return sorted(found) + sorted(packages)


def describe(obj: Any) -> str:
    """A name for messages: "package.module.function"."""
    name = getattr(obj, "__qualname__", None)
    if not isinstance(name, str):
        return f"an object of {describe(type(obj))}"
    module = getattr(obj, "__module__", None) or home(obj)
    return f"{module}.{name}" if module else name


def inline_package(name: str) -> None:
    """Trace into everything that is defined in the module or package `name`."""
    _name_package(INLINE, name, "the program wants it traced", location())


def run_package(name: str) -> None:
    """Python runs everything that is defined in the module or package `name`."""
    _name_package(RUN, name, "the program has Python run it", location())


def forget_package(name: str) -> None:
    """Take back what `inline_package` or `run_package` said about `name`."""
    _user_packages.rules.pop(name, None)
    _stale[0] = True


def _name_package(kind: Kind, name: str, reason: str, where: str) -> None:
    if not isinstance(name, str):
        raise RuleError(f"a package is named by a string, not by {name!r} (at {where})")
    other = _user_packages.rules.get(name)
    if other is not None and other.kind is not kind:
        raise RuleError(
            f"two rules disagree on the package {name}: {kind.value} at {where}, "
            f"but {other.kind.value} at {other.where}"
        )
    if not _exists(name):
        raise UnknownName(name, where, _packages_that_exist())
    _user_packages.rules[name] = PackageRule(kind, name, reason, where)
    _stale[0] = True


def _exists(name: str) -> bool:
    import sys

    if name in sys.modules:
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _packages_that_exist() -> list[str]:
    import pkgutil
    import sys

    return sorted(set(sys.modules) | {module.name for module in pkgutil.iter_modules()})


def package_rule(module: str) -> PackageRule | None:
    """What the user said about the package of `module`: by a call, or by suture.config."""
    return _user_packages.find(module)


def _configured() -> tuple[str, str]:
    return _options.get("inline_packages", ""), _options.get("run_packages", "")


def changed() -> bool:
    """Whether a mark or a package rule was set since the last time this was asked."""
    given = _configured()
    if given != _config_seen[0]:
        _read_config(given)
    was = _stale[0]
    _stale[0] = False
    return was


def _read_config(given: tuple[str, str]) -> None:
    before = _config_seen[0] or ("", "")
    for old in before:
        for name in filter(None, (part.strip() for part in old.split(","))):
            forget_package(name)
    _config_seen[0] = given
    for kind, text in zip((INLINE, RUN), given):
        option = "inline_packages" if kind is INLINE else "run_packages"
        for name in filter(None, (part.strip() for part in text.split(","))):
            _name_package(kind, name, f"suture.config.{option} names it", f"suture.config.{option}")
    _stale[0] = True
