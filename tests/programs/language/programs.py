"""Random programs over the language core: tensors, containers, objects, closures, exceptions,
generators, and breaks anywhere. `programs()` is a hypothesis strategy of source texts."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

PRELUDE = """
import torch
import suture


class Box:
    count = 0

    def __init__(self, value):
        self.value = value
        self.log = []

    def put(self, value):
        self.value, old = value, self.value
        self.log.append(len(self.log))
        return old

    @property
    def size(self):
        return len(self.log)

    def __enter__(self):
        self.log.append("in")
        return self

    def __exit__(self, kind, exc, tb):
        self.log.append(kind.__name__ if kind else "out")
        return kind is KeyError

    def __add__(self, other):
        return self.value + other

    def __len__(self):
        return len(self.log)


def steps(n, t):
    for i in range(n):
        got = yield t * i
        if got:
            t = t + got


def helper(t, *args, scale=2, **more):
    return t * scale + len(args) + sum(more.values())
"""


class Maker:
    """Writes one function. `tensors`, `numbers`, `lists` are names bound so far."""

    prelude = PRELUDE
    head = "def fn(x, n, items, table, box):"
    kinds = (
        "tensor tensor number list dict box break print if if for for while try with closure"
        " generator tensor_branch comprehension unpack text jump delete walrus match"
    ).split()

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.tensors = ["x"]
        self.numbers = ["n"]
        self.lists = ["items"]
        self.made = 0
        self.left = 14  # statements that may still be written
        self.loops = 0

    def pick(self, *options: Any) -> Any:
        return self.draw(st.sampled_from(options))

    def name(self, kind: str) -> str:
        self.made += 1
        return f"{kind}{self.made}"

    # ---- expressions

    def tensor(self, depth: int = 2) -> str:
        t = self.pick(*self.tensors)
        if depth == 0:
            return str(t)
        n = self.number(0)
        return str(
            self.pick(
                t,
                f"torch.tanh({self.tensor(depth - 1)})",
                f"({self.tensor(depth - 1)} + {self.tensor(depth - 1)})",
                f"({t} * 0.5 - {n})",
                f"{t}.abs().clamp(max=3)",
                f"helper({t}, {n}, scale=0.5, k={n})",
                f"(box.value if isinstance(box.value, torch.Tensor) else {t})",
                f"(lambda u, k={n}: u - k)({t})",
                f"sum([{t} for _ in range(2)])",
                f"max([{t}.sin(), {t}.cos()], key=lambda u: u.dim())",
            )
        )

    def number(self, depth: int = 1) -> str:
        n = self.pick(*self.numbers, "2", "3", "-1")
        if depth == 0:
            return str(n)
        items = self.pick(*self.lists)
        return str(
            self.pick(
                n,
                f"({self.number(0)} + {n})",
                f"({n} % 5)",
                f"(7 // {n})",
                f"len({items})",
                f"{items}[{n}]",
                f"table.get('a', {n})",
                "table['b']",
                "box.size",
                f"sum(i for i in range({n} % 4))",
                f"({n} if {self.condition()} else {self.number(0)})",
                f"{self.pick(*self.tensors)}.shape[0]",
            )
        )

    def condition(self) -> str:
        n = self.pick(*self.numbers)
        return str(
            self.pick(
                f"{n} > 1",
                f"{n} % 2 == 0",
                f"1 < {n} <= 3",
                f"{n} in {self.pick(*self.lists)}",
                "'c' in table",
                "not items",
                "box.size and n",
                "len(box) > 1 or n == 2",
            )
        )

    # ---- statements

    def block(self, indent: str, at_most: int = 3) -> list[str]:
        kept = list(self.tensors), list(self.numbers), list(self.lists)
        out: list[str] = []
        for _ in range(self.draw(st.integers(1, at_most))):
            if self.left <= 0:
                break
            self.left -= 1
            out += self.statement(indent)
        self.tensors, self.numbers, self.lists = kept
        return out or [f"{indent}pass"]

    def statement(self, indent: str) -> list[str]:
        return [*getattr(self, "s_" + self.pick(*self.kinds))(indent)]

    def s_tensor(self, i: str) -> list[str]:
        line = f"{self.tensor()}"
        target = self.pick("old", "new", "box")
        if target == "box":
            return [f"{i}box.value = {line}"]
        if target == "new":
            name = self.name("t")
            self.tensors.append(name)
            return [f"{i}{name} = {line}"]
        return [f"{i}{self.pick(*self.tensors)} = torch.tanh({line})"]

    def s_number(self, i: str) -> list[str]:
        if self.pick(True, False):
            return [f"{i}{self.pick(*self.numbers)} {self.pick('=', '+=')} {self.number()} % 7"]
        name = self.name("k")
        line = f"{i}{name} = {self.number()}"
        self.numbers.append(name)
        return [line]

    def s_list(self, i: str) -> list[str]:
        items, n = self.pick(*self.lists), self.number(0)
        if self.pick(True, False, False):
            name = self.name("l")
            line = f"{i}{name} = [*{items}, {n}]"
            self.lists.append(name)
            return [line]
        act = self.pick(
            f"{items}.append({n})",
            f"{items}.pop()",
            f"{items}.extend([{n}, 1])",
            f"{items}.sort()",
            f"{items}[0] = {n}",
            f"{items} += [{n}]",
            f"{items}.insert(0, {n})",
            f"{items}.remove({n})",
            f"{items}.reverse()",
        )
        return [i + act]

    def s_dict(self, i: str) -> list[str]:
        n = self.number(0)
        act = self.pick(
            f"table['c'] = {n}",
            "table.pop('a', None)",
            f"table.update(d={n})",
            f"table.setdefault('e', []).append({n})",
            "del table['b']",
            f"table = {{**table, 'f': {n}}}",
        )
        return [i + act]

    def s_box(self, i: str) -> list[str]:
        act = self.pick(
            f"box.put({self.tensor(1)})",
            f"box.extra = {self.number()}",
            "box.count += 1",
            f"box.log.append({self.number(0)})",
            f"box = Box({self.tensor(1)})",
            "del box.log[:]",
            f"x = box + {self.tensor(0)}",
        )
        return [i + act]

    def s_break(self, i: str) -> list[str]:
        return [f"{i}suture.graph_break()"]

    def s_print(self, i: str) -> list[str]:
        return [f"{i}print('at', {self.number(0)}, len({self.pick(*self.lists)}))"]

    def s_if(self, i: str) -> list[str]:
        out = [f"{i}if {self.condition()}:", *self.block(i + "    ")]
        if self.pick(True, False):
            out += [f"{i}elif {self.condition()}:", *self.block(i + "    ", 2)]
        if self.pick(True, False):
            out += [f"{i}else:", *self.block(i + "    ", 2)]
        return out

    def s_tensor_branch(self, i: str) -> list[str]:
        out = [f"{i}if {self.tensor(1)}.sum() > {self.number(0)}:", *self.block(i + "    ", 2)]
        return [*out, f"{i}else:", *self.block(i + "    ", 2)]

    def s_for(self, i: str) -> list[str]:
        k = self.name("i")
        head = self.pick(
            f"for {k} in range({self.number(0)} % 4):",
            f"for {k} in list({self.pick(*self.lists)})[:3]:",
            f"for {k}, _ in enumerate('ab'):",
            f"for {k}, _ in zip(range(3), table):",
            f"for {k} in sorted({{3, 1, 2}}):",
            f"for {k} in reversed([1, 2]):",
        )
        out = [i + head]
        self.numbers.append(k)
        self.loops += 1
        out += self.block(i + "    ")
        self.loops -= 1
        self.numbers.remove(k)
        if self.pick(True, False, False):
            out += [f"{i}else:", *self.block(i + "    ", 1)]
        return out

    def s_while(self, i: str) -> list[str]:
        k = self.name("w")
        self.loops += 1
        body = self.block(i + "    ", 2)
        self.loops -= 1
        return [f"{i}{k} = 0", f"{i}while {k} < 3:", f"{i}    {k} += 1", *body]

    def s_jump(self, i: str) -> list[str]:
        if self.loops:
            return [f"{i}if {self.condition()}:", f"{i}    {self.pick('break', 'continue')}"]
        return [f"{i}if {self.condition()}:", f"{i}    return {self.tensor(1)}, box, items"]

    def s_try(self, i: str) -> list[str]:
        kind = self.pick("ValueError", "KeyError", "IndexError", "ZeroDivisionError")
        inner = i + "    "
        out = [f"{i}try:", *self.block(inner)]
        if self.pick(True, False):
            out += [f"{inner}if {self.condition()}:", f"{inner}    raise {kind}('k')"]
        handler = self.pick(kind, "Exception", "(KeyError, IndexError)")
        out += [f"{i}except {handler} as err:", f"{inner}box.log.append(type(err).__name__)"]
        out += self.block(inner, 2)
        if self.pick(True, False, False):
            out.append(f"{inner}raise")
        if self.pick(True, False):
            out += [f"{i}else:", *self.block(inner, 1)]
        if self.pick(True, False):
            out += [f"{i}finally:", *self.block(inner, 2)]
        return out

    def s_with(self, i: str) -> list[str]:
        manager = self.pick("box", "Box(0)", "torch.no_grad()")
        out = [f"{i}with {manager}:", *self.block(i + "    ")]
        if self.pick(True, False, False):
            out += [f"{i}    if {self.condition()}:", f"{i}        raise KeyError('w')"]
        return out

    def s_closure(self, i: str) -> list[str]:
        f, t = self.name("f"), self.name("t")
        base = self.pick(*self.tensors)
        out = [f"{i}{t} = {base}", f"{i}def {f}(a, b=2):", f"{i}    nonlocal {t}"]
        if self.pick(True, False):
            out.append(f"{i}    suture.graph_break()")
        out += [f"{i}    {t} = {t} + a * b", f"{i}    return {t}.sum()"]
        out += [f"{i}{t} = {t} + {f}({self.number(0)})"]
        self.tensors.append(t)
        return out

    def s_generator(self, i: str) -> list[str]:
        base, t = self.pick(*self.tensors), self.name("t")
        call = f"steps({self.number(0)} % 3, {base})"
        make = self.pick(
            f"{t} = sum({call}, {base})",
            f"{t} = next({call}, {base})",
            f"{t} = torch.stack([{base}, *{call}]).sum(0)",
            f"{t} = [u for u in {call}][-1]",
        )
        self.tensors.append(t)
        return [i + make]

    def s_comprehension(self, i: str) -> list[str]:
        n = self.pick(*self.numbers)
        if self.pick(True, False):
            name = self.name("l")
            line = f"{i}{name} = [j * {n} for j in {self.pick(*self.lists)} if j != 2]"
            self.lists.append(name)
            return [line]
        return [f"{i}table = {{k: v for k, v in table.items() if k != 'a'}}"]

    def s_unpack(self, i: str) -> list[str]:
        a, b = self.name("k"), self.name("l")
        line = f"{i}{a}, *{b} = {self.pick(*self.lists)}"
        self.numbers.append(a)
        self.lists.append(b)
        return [line]

    def s_text(self, i: str) -> list[str]:
        return [f"{i}box.log.append(f'{{{self.number(0)}:>3}}|{{len(box)}}')"]

    def s_delete(self, i: str) -> list[str]:
        name = self.name("d")
        return [f"{i}{name} = {self.tensor(1)}", f"{i}del {name}"]

    def s_walrus(self, i: str) -> list[str]:
        k = self.name("k")
        out = [f"{i}if ({k} := {self.number()}) > 2:", *self.block(i + "    ", 1)]
        self.numbers.append(k)
        return out

    def s_match(self, i: str) -> list[str]:
        subject = self.pick(*self.lists, *self.numbers, "box")
        inner = i + "        "
        out = [f"{i}match {subject}:"]
        for case in ("[a, *_]", "0 | 2", "Box(value=v)"):
            out += [f"{i}    case {case}:", *self.block(inner, 1)]
        return [*out, f"{i}    case _:", f"{inner}pass"]

    def function(self) -> str:
        lines = self.block("    ", 6)
        tail = "    return x, n, items, table, box"
        return "\n".join([self.prelude, "", self.head, *lines, tail, ""])


@st.composite
def programs(draw: Any) -> str:
    """The source of a module with a function `fn(x, n, items, table, box)`."""
    return Maker(draw).function()
