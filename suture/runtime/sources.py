"""Where a value came from.

A source names a value that can be read again at the next call: an argument slot of the
point, a global, an attribute, an item. The same object serves three readers: the guard
program (how to reach the value in C), the emitter (how to spell it in Python), and people
(``path()``).

Children are interned on their parent, so within one trace equal sources are one object and
``is`` compares them.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable
from typing import Any

# kind -> (text template for people, expression template for the emitter).
# {b} is the base, {a} the argument. Kinds without an expression are reached through guards only.
KINDS: dict[str, tuple[str, str | None]] = {
    "slot": ("L[{a!r}]", None),
    "const": ("{a}", None),
    "attr": ("{b}.{a}", "{b}.{a}"),
    "dict": ("{b}.__dict__", "{b}.__dict__"),
    "item": ("{b}[{a}]", "{b}[{a}]"),
    "index": ("{b}[{a}]", "{b}[{a}]"),
    "cell": ("{b}", "{b}.cell_contents"),
    "type": ("type({b})", "type({b})"),
    "getitem": ("{b}[{a}]", "{b}[{a}]"),
    "key": ("list({b})[{a}]", "list({b})[{a}]"),
    "call": ("{a.__name__}({b})", "{a}({b})"),
    "closure": ("{b}.__closure__[{a}]", "{b}.__closure__[{a}]"),
    "default": ("{b}.__defaults__[{a}]", "{b}.__defaults__[{a}]"),
    "kwdefault": ("{b}.__kwdefaults__[{a!r}]", "{b}.__kwdefaults__[{a!r}]"),
    "code": ("{b}.__code__", "{b}.__code__"),
    "mro_attr": ("{b}.{a}", None),
    "pick": ("{b}[{a}]", "{b}[{a}]"),
}


class Source:
    """Where a value can be read. ``base`` is None for roots: argument slots and pinned objects.
    ``stored`` is the builtin type whose items are meant, where the object's class derives from it
    and has a way of its own to give items."""

    __slots__ = (
        "__weakref__", "_children", "_dict", "_path", "arg", "base", "kind", "name", "stored",
    )  # fmt: skip

    def __init__(self, kind: str, base: Source | None, arg: Any, name: str = "") -> None:
        self.kind = kind
        self.base = base
        self.arg = arg
        self.name = name
        self.stored: type | None = None
        self._children: dict[tuple[str, Any], Source] = {}
        self._path: str | None = None
        self._dict: Source | None = None

    def child(self, kind: str, arg: Any = None) -> Source:
        """The source `arg` below this one; the same object each time it is asked for."""
        key = (kind, arg if kind != "item" and kind != "getitem" else (type(arg), arg))
        found = self._children.get(key)
        if found is None:
            found = self._children[key] = Source(kind, self, arg)
        return found

    def attr(self, name: str) -> Source:
        return self.child("attr", name)

    def instance_dict(self) -> Source:
        if self._dict is None:
            self._dict = self.child("dict")
        return self._dict

    def item(self, key: Any) -> Source:
        return self.child("item", key)

    def index(self, i: int) -> Source:
        return self.child("index", i)

    def pick(self, index: Source) -> Source:
        """The item of this list or tuple at the int that `index` leads to; of this dict under the
        int or the text."""
        return self.child("pick", index)

    def cell(self) -> Source:
        return self.child("cell")

    def type(self) -> Source:
        return self.child("type")

    def call(self, fn: Callable[[Any], Any]) -> Source:
        return self.child("call", fn)

    def root(self) -> Source:
        """The argument slot or pinned object that this source starts from."""
        at = self
        while at.base is not None:
            at = at.base
        return at

    def path(self) -> str:
        """The source as a person would write it; also its name across traces of one point."""
        if self._path is None:
            self._path = self._spelled()
        return self._path

    def _spelled(self) -> str:
        if self.kind == "slot":
            return f"L[{self.name!r}]"
        if self.kind == "const":
            return self.name
        template = KINDS[self.kind][0]
        base = self.base
        assert base is not None  # only roots have none
        arg = key_text(self.arg) if self.kind in ("item", "getitem") else self.arg
        if self.kind == "pick":
            arg = self.arg.path()
        return template.format(b=base.path(), a=arg)

    def __repr__(self) -> str:
        return f"<source {self.path()}>"


def slot(index: int, name: str) -> Source:
    """Argument slot `index` of the point's state."""
    return Source("slot", None, index, name)


def pinned(obj: Any, name: str) -> Source:
    """An object the variant holds on to: a module's globals, a class, a torch module."""
    return Source("const", None, obj, name)


# ---- keys of containers, spelled

_LITERALS = (str, int, float, bool, bytes, complex, type(None), type(...))
_numbers = itertools.count(1)
_numbered: dict[int, tuple[weakref.ref[Any], int]] = {}


def key_text(key: Any) -> str:
    """A key as a person would write it: a literal as itself, any other object by its class and a
    number that it keeps. The object's own repr is code of the program, and may say something else
    at the next call, as that of a parameter does after each step of an optimizer."""
    kind = type(key)
    if kind in _LITERALS:
        return repr(key)
    if kind is tuple:
        return f"({', '.join(map(key_text, key))}{',' * (len(key) == 1)})"
    if issubclass(kind, type):
        return str(key.__qualname__)
    return f"<{kind.__name__} {_number_of(key)}>"


def _number_of(obj: Any) -> int:
    """The number of an object; its address if it cannot be watched for its end."""
    at = id(obj)
    known = _numbered.get(at)
    if known is not None and known[0]() is obj:
        return known[1]
    try:
        seen = weakref.ref(obj, lambda _: _numbered.pop(at, None))
    except TypeError:
        return at
    number = next(_numbers)
    _numbered[at] = (seen, number)
    return number
