"""The lines, names and constants of a variant under construction."""

from __future__ import annotations

import builtins
import keyword
import re
from typing import Any

import torch
import torch.fx

from suture import _core
from suture.compiler.core import Frame
from suture.compiler.objects import Dict, Lazy, List, Null, Set
from suture.compiler.objects.deque import Deque
from suture.runtime.sources import KINDS, Source
from suture.runtime.store.stand_ins import MadeFrames, MadeOperation

_NOT_WORD = re.compile(r"\W+")


class Writer:
    """Collects the body of a variant. Implements `Emitter`, what values need.

    `value` gives an expression for a value; the same object always gets the same name, so
    identities survive.
    """

    def __init__(
        self,
        params: list[str],
        reserved: tuple[str, ...] = (),
        anew: dict[int, tuple[Any, Source]] | None = None,
    ) -> None:
        self.anew = anew or {}  # objects that are others in each call, read at their sources
        self.lines: list[str] = []  # making objects
        self.writes: list[str] = []  # changing objects that existed before
        self.positions: list[str] = []  # moving iterators over what is up to date by now
        self.tail: list[str] = []  # leaving
        self.current = self.lines
        self.namespace: dict[str, Any] = {"UNBOUND": _core.UNBOUND}
        self.indent = "    "
        self.outputs: list[Any] = []  # fx nodes the graph returns
        self.made_inputs: dict[Any, str] = {}  # fx node of an input that is made here -> name
        self._output_names: dict[Any, str] = {}
        self._names: set[str] = {
            "UNBOUND", "graph", "parameters", *params, *reserved
        }  # fmt: skip
        self._numbers: dict[str, int] = {}  # the highest number behind each name
        self._constants: dict[int, str] = {}
        self._made: dict[int, str] = {}
        self.params = params
        # what constants that a variant makes are made of
        self.described: dict[str, MadeFrames | MadeOperation] = {}
        self._sources: dict[int, str] = {}
        self._keep: list[Any] = []

    # ---- names and lines

    def fresh(self, hint: str) -> str:
        base = _NOT_WORD.sub("_", hint).strip("_") or "v"
        if base[0].isdigit() or base in _RESERVED:
            base = "v_" + base
        name, n = base, self._numbers.get(base, 1)
        while name in self._names:
            n += 1
            name = f"{base}_{n}"
        self._numbers[base] = n
        self._names.add(name)
        return name

    def line(self, text: str) -> None:
        """One more line of whatever is being written. While a value is being made that is always
        the part that makes objects, so that all is read before anything is changed."""
        self.current.append(self.indent + text)

    def last(self, text: str) -> None:
        """A line that moves an iterator: when all that it may go over holds what it should."""
        self.positions.append(self.indent + text)

    def constant(self, value: object, hint: str = "const") -> str:
        """A global of the variant bound to `value`."""
        found = self._constants.get(id(value))
        if found is None and id(value) in self.anew:
            return self.source(self.anew[id(value)][1])
        if found is None:
            found = self.fresh(hint)
            self.namespace[found] = value
            self._constants[id(value)] = found
            self._keep.append(value)
        return found

    def bind_name(self, value: object, name: str) -> None:
        """Say that a local of the variant is meant where `value` is read."""
        self._constants[id(value)] = name
        self._keep.append(value)

    def assign(self, expression: str, hint: str) -> str:
        name = self.fresh(hint)
        self.lines.append(f"{self.indent}{name} = {expression}")
        return name

    # ---- values

    def value(self, variable: Any) -> str:
        """An expression for the real object of a value."""
        if type(variable) is Lazy:
            return self.lazy(variable)
        if variable is None or isinstance(variable, Null):
            return "UNBOUND"
        name = self._made.get(id(variable))
        if name is not None:
            return name
        if variable.source is not None:
            text = self.source(variable.source)
        else:
            saved, self.current = self.current, self.lines
            text = variable.rebuild(self)
            self.current = saved
            name = self._made.get(id(variable))
            if name is not None:
                return name
            if not text.isidentifier() and not _is_plain(text):
                text = self.assign(text, "v")
        self._made[id(variable)] = text
        self._keep.append(variable)
        return text

    def lazy(self, lazy: Lazy) -> str:
        if lazy.source is None:
            return self.constant(lazy.value, "held")
        return self.source(lazy.source)

    def is_made(self, variable: Any) -> bool:
        """Whether the value has a name already."""
        return id(variable) in self._made

    def kept(self) -> list[Any]:
        """The values that have a name, and the constants."""
        return self._keep

    def begin(self, variable: Any, made: str) -> str:
        """Make an empty object for a value before what it holds, which may hold it too."""
        name = self.assign(made, "v")
        self._made[id(variable)] = name
        self._keep.append(variable)
        return name

    def made(self, variable: Any) -> str | None:
        """What a value is called, if it has been made already."""
        return self._made.get(id(variable))

    def named(self, variable: Any, name: str) -> None:
        """Say what a value is called before what it holds is made."""
        self._made[id(variable)] = name
        self._keep.append(variable)

    def source(self, source: Source) -> str:
        """The value at a source, read once into a name, before anything is changed."""
        found = self._sources.get(id(source))
        if found is not None:
            return found
        text: str
        if source.kind == "slot":
            text = self.params[source.arg]
        elif source.kind == "const":
            text = self.constant(source.arg, source.name)
        else:
            assert source.base is not None  # slots and constants are the roots
            text = self.assign(self.step(source, self.source(source.base)), _hint(source))
        self._sources[id(source)] = text
        self._keep.append(source)
        return text

    def step(self, source: Source, base: str) -> str:
        """One step from `base`, an expression, to the source below it."""
        kind, arg = source.kind, source.arg
        if kind in ("attr", "mro_attr"):
            return f"{base}.{arg}"
        if kind in ("item", "getitem", "index"):
            plain = type(arg) in (int, str, bool, type(None))
            key = repr(arg) if plain else self.constant(arg, "key")
            stored = source.base.stored if source.base is not None else None
            return f"{stored.__name__}.__getitem__({base}, {key})" if stored else f"{base}[{key}]"
        if kind == "pick":
            return f"{base}[{self.source(arg)}]"
        if kind == "call":
            return f"{self.constant(arg, 'read')}({base})"
        template = KINDS[kind][1]
        assert template is not None  # every kind but the roots can be spelled
        return template.format(b=base, a=arg)

    # ---- the graph's results

    def graph_output(self, variable: Any) -> str:
        return self.graph_output_of(variable.node)

    def graph_output_of(self, node: torch.fx.Node) -> str:
        """The name of a node's value in the variant: a result of the graph."""
        name = self._output_names.get(node)
        if name is None:
            name = self._output_names[node] = self.fresh(node.name)
            self.outputs.append(node)
        return name

    def replace_output(self, node: torch.fx.Node, other: torch.fx.Node) -> str:
        """Let the graph return another node in the place of this one, under its name."""
        self.outputs[self.outputs.index(node)] = other
        name = self._output_names[other] = self._output_names.pop(node)
        return name

    def made_input(self, node: torch.fx.Node) -> str:
        """The name of an input of the graph that the variant makes itself."""
        name = self.made_inputs.get(node)
        if name is None:
            name = self.made_inputs[node] = self.fresh(node.name)
        return name

    def name_of_output(self, node: torch.fx.Node) -> str:
        return self._output_names[node]

    def output_names(self) -> list[str]:
        return [self._output_names[node] for node in self.outputs]

    # ---- containers from outside

    def replace_dict(self, variable: Dict, name: str) -> None:
        """Bring a real dict up to date, keeping it the same object. The dict may be the builtin
        part of an object whose class has an `update` of its own: only the type's own is used."""
        if variable.kind is not dict:
            self.fill_storage(variable, name)
            return
        changes = variable.difference()
        if changes is None:
            items = [(self.value(k), self.value(v)) for k, v in variable.entries.values()]
            inner = ", ".join(f"({k}, {v})" for k, v in items)
            self.line(f"dict.clear({name}); dict.update({name}, [{inner}])")
            return
        for key in changes[0]:
            self.line(f"dict.__delitem__({name}, {self.value(key)})")
        for key, value in changes[1]:
            self.line(f"dict.__setitem__({name}, {self.value(key)}, {self.value(value)})")

    def fill_storage(self, storage: Any, name: str) -> None:
        """The builtin part of an object, through the builtin type's own methods."""
        if isinstance(storage, Dict):
            kind = self.constant(storage.kind, storage.kind.__name__)
            changes = storage.difference()  # iterators over it stay valid
            pairs = list(storage.entries.values()) if changes is None else changes[1]
            items = [(self.value(k), self.value(v)) for k, v in pairs]
            if changes is None:
                self.line(f"{kind}.clear({name})")
            for gone in changes[0] if changes is not None else ():
                self.line(f"{kind}.__delitem__({name}, {self.value(gone)})")
            for key, value in items:
                self.line(f"{kind}.__setitem__({name}, {key}, {value})")
            if storage.factory is not None:
                self.line(f"{name}.default_factory = {self.value(storage.factory)}")
        elif isinstance(storage, Deque):
            storage.write_back(self, name)
        elif isinstance(storage, List):
            inner = ", ".join(self.value(i) for i in storage.items)
            self.line(f"list.__setitem__({name}, slice(None), [{inner}])")
        elif isinstance(storage, Set):
            storage.write_back(self, name)

    def generator(self, variable: Any) -> str:
        """A real generator, suspended where the traced one is."""
        frame = variable.frame
        if frame is None:
            return f"{self.constant(_ended, 'ended')}()"
        if not variable.started:
            return self._fresh_generator(frame)
        inst = frame.code.instructions[max(frame.ip - 1, 0)]
        slots = ", ".join(self.value(v) for v in frame.locals)
        stack = ", ".join(self.value(v) for v in frame.stack)
        suspend = self.constant(_core.suspend, "suspend")
        handled = f", {self.value(frame.handled)}" if frame.code.handled(frame.ip) else ""
        fn = self.value(frame.fn)
        return (
            f"{suspend}({fn}, {inst.lasti}, ({slots}{',' if slots else ''}),"
            f" ({stack}{',' if stack else ''}){handled})"
        )

    def _fresh_generator(self, frame: Frame) -> str:
        """A generator that nobody has asked for a value: the function is called."""
        code = frame.code.code
        at = code.co_argcount
        names = code.co_varnames
        args = [self.value(v) for v in frame.locals[:at]]
        keywords = [
            f"{names[i]}={self.value(frame.locals[i])}"
            for i in range(at, at + code.co_kwonlyargcount)
        ]
        at += code.co_kwonlyargcount
        if code.co_flags & 0x04:
            args.append(f"*{self.value(frame.locals[at])}")
            at += 1
        if code.co_flags & 0x08:
            keywords.append(f"**{self.value(frame.locals[at])}")
        return f"{self.value(frame.fn)}({', '.join([*args, *keywords])})"


def _hint(source: Source) -> str:
    return source.arg if isinstance(source.arg, str) else source.kind


def _ended() -> Any:
    """A generator that is exhausted."""
    made = (None for _ in ())
    next(made, None)
    return made


def _is_plain(text: str) -> bool:
    """Text that may be repeated: literals and names. An attribute may be another object each time
    it is read."""
    if _ATTRIBUTE.match(text):
        return False
    return ("(" not in text and "[" not in text and "{" not in text) or text == "()"


_ATTRIBUTE = re.compile(r"[^\W\d]\w*\.")


# Names that a variant may use as they are: no value of the program gets one of them.
_RESERVED = frozenset((*keyword.kwlist, *dir(builtins), "jump", "run"))
