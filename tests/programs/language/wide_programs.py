"""Random programs over more of the language, which also change what lies outside of them: globals,
counters in closures, tensors in place and through views. `wide_programs()` gives source texts."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.programs.language.programs import PRELUDE, Maker

WIDE = (
    PRELUDE
    + """
import collections
import contextlib
import dataclasses
import functools

LEVEL = 1
SHARED = {"k": 1}
COUNTS = collections.Counter()
RECENT = collections.deque(maxlen=3)


def counter(value=0):
    def tick(by):
        nonlocal value
        value += by
        return value

    def reset(to):
        nonlocal value
        value = to

    return tick, reset


tick, reset = counter()


@dataclasses.dataclass
class Point:
    x: int
    t: object = None
    tags: list = dataclasses.field(default_factory=list)


class Level:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, obj, kind=None):
        return self if obj is None else getattr(obj, self.name, 0)

    def __set__(self, obj, value):
        if value > 4:
            raise ValueError(f"too high: {value}")
        setattr(obj, self.name, value)


class Account:
    level = Level()
    __slots__ = ("__dict__", "held")

    @property
    def twice(self):
        return self.level * 2

    @twice.setter
    def twice(self, value):
        self.level = value // 2

    def __getattr__(self, name):
        if name.startswith("dyn_"):
            return len(name)
        raise AttributeError(name)


class Stack(list):
    def push(self, value):
        self += [value]
        return self


def talk(t):
    heard = []
    try:
        while True:
            try:
                got = yield t
                heard.append(got)
                t = t + (got or 0)
            except KeyError:
                t = -t
    finally:
        RECENT.append(len(heard))


def both(t, n):
    got = yield from steps(n, t)
    yield t
    return got


def guarded(n, t):
    try:
        if n % 3 == 0:
            raise KeyError(n)
        return t + 1
    except KeyError:
        return t - 1
    finally:
        SHARED["guarded"] = n
        if n % 4 == 2:
            return t * 0.5


class Pause:
    def __await__(self):
        yield "pause"
        return 2


async def walk(t, n):
    for i in range(n % 3):
        t = t + i * await Pause()
    return t


def drive(work):
    turns = 0
    try:
        while True:
            work.send(None)
            turns += 1
    except StopIteration as stop:
        return stop.value * turns if turns else stop.value
"""
)


class WideMaker(Maker):
    """Writes one function with a larger grammar."""

    prelude = WIDE
    kinds = (
        *Maker.kinds,
        *(
            "in_place view globals dataclass account slice set views send nested finally_return"
            " suppress while_else star counter await_ local_class item cause partial stack"
        ).split(),
    )

    def s_in_place(self, i: str) -> list[str]:
        t, n = self.pick(*self.tensors), self.number(0)
        act = self.pick(
            f"{t}.add_({n})", f"{t}[0] = {n}", f"{t}[1:] *= 0.5", f"{t} += {n}",
            f"{t}.clamp_(-3, 3)", f"{t}.copy_({self.pick(*self.tensors)}.flip(0))",
            f"{t}[:2].mul_(0.5)", f"{t}.fill_({n}).sin_()",
        )  # fmt: skip
        return [i + act]

    def s_view(self, i: str) -> list[str]:
        t, name = self.pick(*self.tensors), self.name("t")
        made = self.pick(
            f"{t}[:]", f"{t}.view(-1)", f"{t}.view(3, 1).squeeze(1)", f"{t}.detach()",
            f"{t}.clone()", f"{t}.reshape(3)", f"{t}.flip(0)", f"{t}.expand(3)",
        )  # fmt: skip
        self.tensors.append(name)
        return [f"{i}{name} = {made}"]

    def s_globals(self, i: str) -> list[str]:
        n = self.number(0)
        act = self.pick(
            f"LEVEL = LEVEL + {n}", f"SHARED['k'] = {n}", f"COUNTS[{n}] += 1",
            f"RECENT.append({n})", f"SHARED.setdefault('s', []).append({n})",
            f"x = x * LEVEL + SHARED.get('k', {n})", f"COUNTS.update([{n}, 1])",
            "RECENT.rotate(1)", "SHARED.pop('guarded', None)",
        )  # fmt: skip
        return [i + act]

    def s_dataclass(self, i: str) -> list[str]:
        p, k = self.name("p"), self.name("k")
        out = [f"{i}{p} = Point({self.number(0)}, {self.tensor(0)})"]
        out.append(
            i
            + self.pick(
                f"{p}.x += {self.number(0)}",
                f"{p}.tags.append({self.number(0)})",
                f"{p} = dataclasses.replace({p}, x={self.number(0)})",
                f"{p}.t = {p}.t + 1",
            )  # fmt: skip
        )
        out += [f"{i}match {p}:", f"{i}    case Point(0 | 1, tags=[]):"]
        out += [*self.block(i + "        ", 1), f"{i}    case Point(x={k}, t=torch.Tensor()):"]
        out += [f"{i}        box.log.append({k})"]
        return [*out, f"{i}box.value = {p}.t", f"{i}box.log.append({p} == Point({p}.x, {p}.t))"]

    def s_account(self, i: str) -> list[str]:
        a, n = self.name("a"), self.number(0)
        act = self.pick(
            f"{a}.level = {n}", f"{a}.twice = {n}", f"{a}.level += {a}.twice", f"del {a}._level",
            f"{a}.held = {self.tensor(0)}", f"x = x + {a}.dyn_abc", f"{a}.missing",
        )  # fmt: skip
        return [f"{i}{a} = Account()", i + act, f"{i}box.log.append({a}.level + {a}.twice)"]

    def s_slice(self, i: str) -> list[str]:
        items, n = self.pick(*self.lists), self.number(0)
        act = self.pick(
            f"{items}[1:2] = [{n}, {n}]", f"del {items}[::2]", f"{items}[:0] = {items}[1:2]",
            f"{items}[-1:] = range({n} % 3)", f"{items} = {items}[::-1]",
            f"{items}[::2] = [{n}] * len({items}[::2])", f"{items} = ({items} * 2)[:5]",
        )  # fmt: skip
        return [i + act]

    def s_set(self, i: str) -> list[str]:
        s, items, n = self.name("s"), self.pick(*self.lists), self.number(0)
        act = self.pick(
            f"{s} |= {{{n}}}", f"{s}.discard({n})", f"{s} -= {{1, 2}}", f"{s}.remove({n})",
            f"{s} &= set({items})", f"{s} ^= {{{n}, 9}}",
        )  # fmt: skip
        made = f"{i}{s} = set({items}) | {{{n}}}"
        return [made, i + act, f"{i}box.log.append(sorted({s}))"]

    def s_views(self, i: str) -> list[str]:
        k = self.name("k")
        act = self.pick(
            "box.log.append(sorted(table.keys() & {'a', 'c'}))",
            f"for {k} in list(table): table[{k}] = table[{k}]",
            "box.log.append(list(reversed(table.items()))[0][0])",
            "box.log.append(table.keys() - SHARED.keys() == {'a', 'b'})",
            "table |= {'g': 1}",
            f"box.log.append([{k} for {k}, v in zip(table, table.values()) if v])",
        )
        return [i + act]

    def s_send(self, i: str) -> list[str]:
        g, t = self.name("g"), self.name("t")
        out = [f"{i}{g} = talk({self.tensor(0)})", f"{i}{t} = next({g})"]
        for _ in range(self.draw(st.integers(1, 3))):
            act = self.pick(
                f"{g}.send({self.number(0)})", f"{g}.throw(KeyError('t'))", f"next({g})",
                f"{g}.throw(ValueError('out'))",
            )  # fmt: skip
            out.append(f"{i}{t} = {act}")
        if self.pick(True, False):
            out.append(f"{i}{g}.close()")
        self.tensors.append(t)
        return out

    def s_nested(self, i: str) -> list[str]:
        t = self.name("t")
        call = f"both({self.pick(*self.tensors)}, {self.number(0)} % 3)"
        self.tensors.append(t)
        return [f"{i}{t} = sum({call}, {self.pick(*self.tensors[:-1])})"]

    def s_finally_return(self, i: str) -> list[str]:
        t = self.name("t")
        line = f"{i}{t} = guarded({self.number(0)}, {self.tensor(0)})"
        self.tensors.append(t)
        return [line]

    def s_suppress(self, i: str) -> list[str]:
        kinds = self.pick("KeyError", "IndexError, ValueError", "ZeroDivisionError", "Exception")
        return [f"{i}with contextlib.suppress({kinds}):", *self.block(i + "    ", 2)]

    def s_while_else(self, i: str) -> list[str]:
        k = self.name("w")
        self.loops += 1
        body = self.block(i + "    ", 2)
        self.loops -= 1
        out = [f"{i}{k} = {self.number(0)} % 4", f"{i}while {k} > 0:", f"{i}    {k} -= 1", *body]
        return [*out, f"{i}else:", *self.block(i + "    ", 1)]

    def s_star(self, i: str) -> list[str]:
        t, items = self.name("t"), self.pick(*self.lists)
        call = self.pick(
            f"helper({self.tensor(0)}, *{items}, **{{'scale': 0.5, 'k': {self.number(0)}}})",
            f"helper(*[{self.tensor(0)}], *{items}[:1], **SHARED)",
            f"(lambda a, *b, c=1, **d: a * c + len(b))({self.tensor(0)}, *{items}, c=2)",
        )
        self.tensors.append(t)
        return [f"{i}{t} = {call}"]

    def s_counter(self, i: str) -> list[str]:
        k = self.name("k")
        line = f"{i}{k} = tick({self.number(0)}) % 6"
        self.numbers.append(k)
        return [line]

    def s_await_(self, i: str) -> list[str]:
        t = self.name("t")
        line = f"{i}{t} = drive(walk({self.tensor(0)}, {self.number(0)}))"
        self.tensors.append(t)
        return [line]

    def s_local_class(self, i: str) -> list[str]:
        c, t = self.name("C"), self.name("t")
        base = self.pick("Box", "Point", "Account")
        args = {"Box": "2", "Point": "1", "Account": ""}[base]
        out = [f"{i}class {c}({base}):", f"{i}    def grow(self, u, k={self.number(0)}):"]
        out += [f"{i}        self.grown = k", f"{i}        return u + k + n"]
        self.tensors.append(t)
        return [*out, f"{i}{t} = {c}({args}).grow({self.pick(*self.tensors[:-1])})"]

    def s_item(self, i: str) -> list[str]:
        k, t = self.name("k"), self.pick(*self.tensors)
        made = self.pick(
            f"int({t}.sum().item()) % 5", f"len({t}.tolist())", f"int({t}[0]) % 4",
            f"{t}.argmax().item()", f"int(bool(({t} > 0).any()))",
        )  # fmt: skip
        self.numbers.append(k)
        return [f"{i}{k} = {made}"]

    def s_cause(self, i: str) -> list[str]:
        link = self.pick("from err", "from None", "")
        out = [f"{i}try:", f"{i}    try:", *self.block(i + "        ", 2)]
        out += [f"{i}    except Exception as err:", f"{i}        raise LookupError('l') {link}"]
        out += [f"{i}except LookupError as late:"]
        return [*out, f"{i}    box.log.append(type(late.__cause__ or late.__context__).__name__)"]

    def s_partial(self, i: str) -> list[str]:
        t = self.name("t")
        line = f"{i}{t} = functools.partial(helper, scale={self.number(0)})({self.tensor(0)}, 1)"
        self.tensors.append(t)
        return [line]

    def s_stack(self, i: str) -> list[str]:
        s = self.name("s")
        act = self.pick(f"{s} *= 2", f"{s}.pop()", f"{s} += (1,)", f"{s}[1:] = [5]")
        made = f"{i}{s} = Stack({self.pick(*self.lists)}).push({self.number(0)})"
        return [made, i + act, f"{i}box.log.append((type({s}).__name__, list({s})))"]

    def function(self) -> str:
        self.left = 18
        text = super().function()
        return text.replace(self.head, f"{self.head}\n    global LEVEL", 1)


@st.composite
def wide_programs(draw: Any) -> str:
    """The source of a module with a function `fn(x, n, items, table, box)`, globals and `reset`."""
    return WideMaker(draw).function()
