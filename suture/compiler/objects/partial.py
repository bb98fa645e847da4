"""functools.partial."""

from __future__ import annotations

import functools
from typing import Any

from suture.bytecode.language import PLACEHOLDER
from suture.compiler import abstract
from suture.compiler.abstract import declared
from suture.compiler.core import Mutable, Trace, Value
from suture.compiler.emitting import Emitter
from suture.compiler.objects.constant import Constant
from suture.compiler.objects.dict_ import Dict
from suture.compiler.objects.tuple_ import Tuple
from suture.runtime.sources import Source


def is_placeholder(value: Value) -> bool:
    """Whether a value is functools.Placeholder."""
    return PLACEHOLDER is not None and value.python_type() is type(PLACEHOLDER)


class Partial(Mutable):
    """functools.partial made or found while tracing."""

    __slots__ = ("args", "attrs", "cls", "fn", "holes", "keywords", "table", "value")

    def __init__(
        self,
        fn: Value,
        args: list[Value],
        keywords: dict[str, Value],
        source: Source | None = None,
        value: Any = None,
    ) -> None:
        super().__init__(source)
        self.fn = fn
        self.args = args
        self.keywords = keywords
        self.table: Value | None = None  # `keywords` as the program has seen it, and may change it
        self.value = value  # the real one, or None if it is made in the region
        self.cls = functools.partial
        self.attrs: dict[str, Any] = {}
        # Where its arguments have a placeholder, which a call fills.
        self.holes = [i for i, arg in enumerate(args) if is_placeholder(arg)]

    def python_type(self) -> type:
        return self.cls

    def getattr(self, trace: Trace, name: str) -> Value:
        if name == "func":
            return self.fn
        if name == "args":
            return Tuple(self.args)
        if name == "keywords":
            return self._table(trace)
        if name == "__class__":
            return abstract.wrap(trace, self.cls, None)
        if name == "__dict__":
            return abstract.instance_dict(trace, self)
        return partial_attribute(trace, self, name)

    def setattr(self, trace: Trace, name: str, value: Value) -> None:
        if self.source is not None or name in ("func", "args", "keywords", "__dict__"):
            super().setattr(trace, name, value)
        self.touch(trace)
        self.attrs[name] = value

    def call(self, trace: Trace, args: list[Value], kwargs: dict[str, Value]) -> Value:
        count = len(self.holes)
        if len(args) < count:
            text = f"expected at least {count}, got {len(args)}"
            text = f"missing positional arguments in 'partial' call; {text}"
            abstract.raise_(trace, TypeError, text)
        held = list(self.args)
        for hole, arg in zip(self.holes, args):
            held[hole] = arg
        keywords = {**self.keywords_now(trace), **kwargs}
        return abstract.tail_call(trace, self.fn, [*held, *args[count:]], keywords)

    def _table(self, trace: Trace) -> Value:
        """`keywords`, always the same dict."""
        if self.table is None:
            if self.value is not None and self.source is not None:
                self.table = abstract.wrap(trace, self.value.keywords, self.source.attr("keywords"))
            else:
                self.table = _Keywords(self)
        return self.table

    def keywords_now(self, trace: Trace) -> dict[str, Any]:
        """What each call is given, with what the program has put into the table since."""
        if self.table is None:
            return self.keywords
        pairs = abstract.dict_pairs(trace, self.table)
        return {abstract.constant_value(trace, key): value for key, value in pairs}

    def rebuild(self, emit: Emitter) -> str:
        parts = [emit.value(self.fn), *(emit.value(a) for a in self.args)]
        if self.table is None:
            parts += [f"{k}={emit.value(v)}" for k, v in self.keywords.items()]
        made = f"{emit.constant(self.cls, 'partial')}({', '.join(parts)})"
        if not self.attrs and self.table is None:
            return made
        already = emit.made(self)
        if already is not None:  # by what it holds, which holds it
            return str(already)
        name = str(emit.begin(self, made))
        if self.table is not None:
            emit.value(self.table)
        for attr, value in self.attrs.items():
            put = emit.constant(setattr, "put_attribute")
            emit.line(f"{put}({name}, {attr!r}, {emit.value(value)})")
        return name


class _Keywords(Dict):
    """`keywords` of a partial that the region makes."""

    __slots__ = ("owner",)

    def __init__(self, owner: Partial) -> None:
        super().__init__({k: (Constant(k), v) for k, v in owner.keywords.items()})
        self.owner = owner

    def rebuild(self, emit: Emitter) -> str:
        owner = emit.value(self.owner)
        already = emit.made(self)
        if already is not None:  # its owner has made it
            return str(already)
        name = str(emit.begin(self, f"{owner}.keywords"))
        self._fill(emit, name)
        return name


# ---- declared here, as in `abstract`: other rooms have the bodies


@declared
def partial_attribute(trace: Trace, obj: Value, name: str) -> Value:
    """`obj.name` for a functools.partial: what was set on it, then what its class has."""
