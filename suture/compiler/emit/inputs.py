"""The expressions that read a graph's inputs in front of its call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from suture.compiler.emit.writer import Writer
from suture.runtime.sources import Source

_ROOTS = ("slot", "const")


def read(writer: Writer, source: Source) -> str:
    """A source as an expression that is before everything else in the body."""
    return _spelled(writer, source, {}, [])


class InputReads:
    """Reads of many sources. What several of them go through is read once: an optimizer has three
    tensors below `state[p]`, and each lookup calls the `__hash__` of a tensor.

    `lines` assign such a base to a name; `release` deletes the names after the graph's call, so
    that a variant keeps no object alive that the program may drop at a break.
    """

    def __init__(self, writer: Writer, sources: Iterable[Source]) -> None:
        self._writer = writer
        self._names: dict[int, str] = dict.fromkeys(_shared(sources), "")
        self.lines: list[str] = []

    def read(self, source: Source) -> str:
        return _spelled(self._writer, source, self._names, self.lines)

    def release(self) -> list[str]:
        names = [name for name in self._names.values() if name]
        return [f"del {', '.join(names)}"] if names else []


def _shared(sources: Iterable[Source]) -> list[int]:
    """The ids of sources through which several ways lead, without roots, which cost nothing."""
    uses = Counter[int]()
    for source in sources:
        base = source.base
        while base is not None and base.kind not in _ROOTS:
            uses[id(base)] += 1
            if uses[id(base)] > 1:  # what is below it is read for it
                break
            base = base.base
    return [key for key, count in uses.items() if count > 1]


def _spelled(writer: Writer, source: Source, names: dict[int, str], lines: list[str]) -> str:
    if source.kind == "slot":
        return str(writer.params[source.arg])
    if source.kind == "const":
        return writer.constant(source.arg, source.name)
    assert source.base is not None  # slots and constants are the roots
    name = names.get(id(source))
    if name:
        return name
    base = _spelled(writer, source.base, names, lines)
    if source.kind == "pick":
        text = f"{base}[{_spelled(writer, source.arg, names, lines)}]"
    else:
        text = writer.step(source, base)
    if name is None:
        return text
    names[id(source)] = name = writer.fresh("base")
    lines.append(f"{name} = {text}")
    return name
