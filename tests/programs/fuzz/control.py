"""Programs whose flow goes all ways, as texts: blocks that are left by return, break, continue and
exceptions, managers that swallow, functions that write variables of others, generators that are
sent to and thrown into. What happens is noted in `LOG`, which is compared behind each call.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.programs.fuzz import heads

ERRORS = ("ValueError", "KeyError", "IndexError", "ZeroDivisionError", "TypeError")
CAUGHT = (*ERRORS, "Exception", "(KeyError, IndexError)", "(ValueError, TypeError)", "LookupError")


class Flow:
    """The lines of one function. `kinds` of statements are methods that begin with `s_`."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.depth = 1
        self.tensors, self.numbers, self.lists = ["x", "y"], ["n"], ["items"]
        self.made = 0
        self.left = self.random.randint(5, 16)
        self.loops = 0
        self.handlers = 0
        self.tries = 0  # blocks around this place that may catch what is raised
        self.kinds = [name for name in dir(self) if name.startswith("s_")]

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def chance(self, of: float) -> bool:
        return self.random.random() < of

    def name(self, kind: str) -> str:
        self.made += 1
        return f"{kind}{self.made}"

    def line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    # ---- expressions

    def t(self) -> str:
        return self.random.choice(self.tensors)

    def k(self) -> str:
        return self.random.choice([*self.numbers, "1", "2", "-1"])

    def tensor(self) -> str:
        t, k = self.t(), self.k()
        return self.pick(
            t, t, f"({t} + {k})", f"({t} * 0.5)", f"{t}.sin()", f"({t} - {self.t()})",
            f"{t}.relu()",
            f"({t} if {self.condition()} else {self.t()})", f"torch.where({t} > 0, {t}, {k})",
            f"(lambda u, *a, s={k}: u + s + len(a))({t}, {k})", f"{t}.flip(0)",
        )  # fmt: skip

    def number(self) -> str:
        k, items = self.k(), self.random.choice(self.lists)
        return self.pick(
            k, f"{k} + {self.k()}", f"{k} % 3", f"7 // {k}", f"len({items})", f"{items}[{k}]",
            "SHARED['k']", "LEVEL", f"SHARED.get('z', {k})", f"note({k})", f"{k} * 2 - 1",
            f"sum(i * {k} for i in range(3))", f"(note(1) and {k} or note(2))", f"{self.t()}.dim()",
            f"int({self.t()}.sum() > {k})",
        )  # fmt: skip

    def condition(self) -> str:
        k = self.k()
        return self.pick(
            f"{k} > 1", f"{k} % 2", f"0 < {k} <= note({self.k()}) < 9",
            f"not {self.pick(*self.lists)}",
            f"{k} == 2 or note({k}) > 1", f"'k' in SHARED and {k} != 3", f"{k} in (1, 3)",
            "LEVEL > 1", f"len({self.pick(*self.lists)}) > 2",
        )  # fmt: skip

    def text(self) -> str:
        k = self.k()
        return self.pick(
            f"f'{{{k}:>4}}|{{{k}!r}}'", f"f'{{{k}=}}'", f"'%s-%d' % ({k}, {self.k()})",
            f"'{{0}}{{a:03d}}'.format({k}, a={self.k()})", f"f'{{LEVEL:{{{k}}}}}'",
            f"f'{{{self.t()}.shape}}'", f"str({k}).zfill(3)",
            f"', '.join(map(str, {self.pick(*self.lists)}))",
        )  # fmt: skip

    # ---- blocks

    def body(self, at_most: int = 3, more: Callable[[], None] | None = None) -> None:
        """Statements one level deeper; names bound there are kept now and then, bound or not."""
        kept = list(self.tensors), list(self.numbers), list(self.lists)
        self.depth += 1
        before = len(self.lines)
        for _ in range(self.random.randint(1, at_most)):
            if self.left > 0:
                self.statement()
        if more is not None:
            more()
        if len(self.lines) == before:
            self.line("pass")
        self.depth -= 1
        if not self.chance(0.1):
            self.tensors, self.numbers, self.lists = kept

    def statement(self) -> None:
        self.left -= 1
        getattr(self, self.random.choice(self.kinds))()

    def s_tensor(self) -> None:
        made = self.tensor()
        if self.chance(0.5):
            name = self.name("t")
            self.tensors.append(name)
        else:
            name = self.pick(self.t(), "SHARED['t']", "x")
        self.line(f"{name} = {made}")

    s_tensor_2 = s_tensor

    def s_number(self) -> None:
        made = self.number()
        name = self.name("k") if self.chance(0.6) else self.random.choice(self.numbers)
        self.line(f"{name} {self.pick('=', '+=') if name in self.numbers else '='} {made}")
        if name not in self.numbers:
            self.numbers.append(name)

    def s_list(self) -> None:
        items, k = self.pick(*self.lists), self.number()
        self.line(
            self.pick(
                f"{items}.append({k})",
                f"{items}[0] = {k}",
                f"{items}[1:2] = [{k}, {k}]",
                f"del {items}[-1:]",
                f"{items} += [{k}]",
                f"{items}.insert(1, {k})",
                f"note({items}.pop())",
                f"{items}[0] += {k}",
                f"{items}[::2] = {items}[::2]",
                f"{items} = {items}[::-1]",
                f"{items}.extend(i for i in ({k}, 2))",
            )  # fmt: skip
        )

    def s_note(self) -> None:
        self.line(f"note({self.pick(self.number(), self.text(), self.tensor())})")

    def s_break_graph(self) -> None:
        self.line("suture.graph_break()")

    def s_world(self) -> None:
        k = self.number()
        self.line(
            self.pick(
                f"LEVEL = {k}",
                f"LEVEL += {k}",
                f"SHARED['k'] = {k}",
                "SHARED.pop('z', None)",
                f"SHARED['z'] = {k}",
                f"SHARED.setdefault('l', []).append({k})",
                f"Box.count += {k}",
                "del SHARED['k']",
                f"note(SHARED | {{'q': {k}}})",
            )  # fmt: skip
        )

    def s_if(self) -> None:
        self.line(f"if {self.condition()}:")
        self.body()
        if self.chance(0.4):
            self.line(f"elif {self.condition()}:")
            self.body(2)
        if self.chance(0.5):
            self.line("else:")
            self.body(2)

    def s_data(self) -> None:
        self.line(f"if {self.tensor()}.sum() > {self.k()}:")
        self.body(2)

    def s_for(self) -> None:
        k, items = self.name("k"), self.pick(*self.lists)
        self.line(
            self.pick(
                f"for {k} in range({self.k()} % 4):",
                f"for {k} in {items}[:3]:",
                f"for {k}, _ in enumerate('abc'):",
                f"for {k} in [i for i in (1, 2) if i]:",
                f"for {k}, *_ in zip((1, 2), 'ab', {items}):",
                f"for {k} in (j + 1 for j in range(2)):",
                f"for {k} in iter([1, 2, 3].pop, 1):",
                f"for {k} in map(note, (1, 2)):",
                "for SHARED['k'] in range(2):" if self.chance(0.3) else f"for {k} in (3, 1):",
            )  # fmt: skip
        )
        if k in self.lines[-1]:
            self.numbers.append(k)
        self.loops += 1
        self.body(3, self.jump if self.chance(0.5) else None)
        self.loops -= 1
        if k in self.numbers and not self.chance(0.3):
            self.numbers.remove(k)
        if self.chance(0.3):
            self.line("else:")
            self.body(2)

    def s_while(self) -> None:
        w = self.name("w")
        self.line(f"{w} = 0")
        begins = f"while {w} < 3:", f"while ({w} := {w} + 1) < 4:", f"while {w} <= n and {w} < 4:"
        self.line(self.pick(*begins))
        self.line(f"    {w} += 1")
        self.loops += 1
        self.body(2, self.jump if self.chance(0.4) else None)
        self.loops -= 1
        if self.chance(0.3):
            self.line("else:")
            self.body(1)

    def jump(self) -> None:
        """Leave where one is, perhaps only under a condition."""
        if self.chance(0.7):
            self.line(f"if {self.condition()}:")
            self.depth += 1
            self._jump()
            self.depth -= 1
        else:
            self._jump()

    def _jump(self) -> None:
        error = f"raise {self.pick(*ERRORS)}({self.pick('1', repr('why'), self.k())})"
        ways = [f"return {self.tensor()}"]
        if self.tries or self.chance(0.2):
            ways += [error, error]
        if self.loops:
            ways += ["break", "continue", "break"]
        if self.handlers:
            ways += ["raise", f"{error} from None", f"{error} from caught"]
        self.line(self.random.choice(ways))

    def s_jump(self) -> None:
        self.line(f"if {self.condition()}:")
        self.depth += 1
        self._jump()
        self.depth -= 1

    def s_try(self) -> None:
        self.line("try:")
        self.tries += 1
        self.body(3, self.jump if self.chance(0.6) else None)
        self.tries -= 1
        handled = self.chance(0.75)
        if handled:
            for _ in range(self.random.randint(1, 2)):
                self.handler()
            if self.chance(0.3):
                self.line("else:")
                self.body(2)
        if not handled or self.chance(0.5):
            self.line("finally:")
            self.body(2, self.jump if self.chance(0.3) else None)

    s_try_2 = s_try

    def handler(self) -> None:
        self.line(f"except {self.pick(*CAUGHT)} as caught:")
        self.line("    note((type(caught).__name__, str(caught), caught.__context__ is None))")
        if self.chance(0.2):
            self.line("    caught.add_note('seen')")
        self.handlers += 1
        self.body(2, self.jump if self.chance(0.4) else None)
        self.handlers -= 1

    def s_with(self) -> None:
        kinds = self.pick("KeyError", "ValueError, TypeError", "IndexError", "ZeroDivisionError")
        manager = self.pick(
            f"Swallow({kinds})", f"Swallow({kinds}) as m", f"around({self.t()}, ({kinds},)) as x",
            f"contextlib.suppress({kinds})", "torch.no_grad()", "contextlib.ExitStack() as stack",
            f"Swallow(), Swallow({kinds}) as m", f"contextlib.nullcontext({self.t()}) as x",
        )  # fmt: skip
        self.line(f"with {manager}:")
        if "stack" in manager:
            self.line(f"    stack.enter_context(Swallow({kinds}))")
            self.line(f"    stack.callback(note, {self.k()})")
        self.tries += 1
        self.body(3, self.jump if self.chance(0.5) else None)
        self.tries -= 1

    def s_function(self) -> None:
        """An inner function that reads and writes variables of this one."""
        f, t, k, seen = self.name("f"), self.t(), self.random.choice(self.numbers), self.name("l")
        self.line(f"{seen} = {self.pick('[]', '{}', 'set()', 'collections.deque(maxlen=2)')}")
        add = {"[": "append({})", "{": "setdefault({0}, {0})", "s": "add({})", "c": "append({})"}
        add_it = add[self.lines[-1].split("= ")[1][0]]
        if self.chance(0.2):
            self.line("@logged")
        self.line(f"def {f}(a, b={self.k()}, *rest, c=1, **more):")
        self.line("    global LEVEL")
        kept = self.tensors, self.numbers, self.lists, self.loops, self.handlers
        self.tensors, self.numbers = ["a", t], ["b", "c", k]
        self.loops = self.handlers = 0
        written = [name for name in (t, k) if self.chance(0.6)]
        if written:
            self.line(f"    nonlocal {', '.join(written)}" if self.depth == 1 else "    pass")
        self.tensors = ["a", t] if self.depth == 1 else ["a"]
        self.numbers = ["b", "c", k] if self.depth == 1 else ["b"]
        self.lists = ["local"]
        self.line("    local = [1, 2, b]")
        self.line(f"    {seen}.{add_it.format('b')}" if self.depth == 1 else "    note(b)")
        self.body(3, self.jump if self.chance(0.3) else None)
        self.line(f"    return {self.tensor()}")
        self.tensors, self.numbers, self.lists, self.loops, self.handlers = kept
        made = self.name("t")
        calls = (
            f"{f}({self.t()})", f"{f}({self.t()}, {self.k()}, 1, c=2)",
            f"{f}(*[{self.t()}], **{{'c': 3}})", f"[{f}(u) for u in ({self.t()}, x)][-1]",
            f"functools.partial({f}, b={self.k()})({self.t()})",
        )  # fmt: skip
        for _ in range(self.random.randint(1, 2)):
            self.line(f"{made} = {self.pick(*calls)}")
        self.tensors.append(made)
        self.line(f"note(sorted({seen}))")

    def s_generator(self) -> None:
        g, made = self.name("g"), self.name("t")
        self.line(f"def {g}(a, b={self.k()}):")
        kept = self.tensors, self.numbers, self.lists, self.loops, self.handlers
        self.tensors, self.numbers, self.lists = ["a"], ["b"], ["local"]
        self.loops = self.handlers = 0
        self.depth += 1
        self.line("global LEVEL")
        self.line("local = [1, 2, b]")
        self.line("try:")
        self.line(f"    got = yield a + {self.k()}")
        self.line("    note(got)")
        self.body(2)
        ends = "a = yield a * 2", "yield from (a, a + 1)", "yield b", "return a"
        self.line(f"    {self.pick(*ends)}")
        handled = self.chance(0.6)
        if handled:
            self.line(f"except {self.pick(*CAUGHT)} as caught:")
            self.line(f"    {self.pick('yield a - 1', 'note(str(caught))', 'return a', 'raise')}")
        if not handled or self.chance(0.5):
            self.line("finally:")
            self.line(f"    {self.pick('note(99)', 'return a', 'LOG.append(b)')}")
        self.depth -= 1
        self.tensors, self.numbers, self.lists, self.loops, self.handlers = kept
        it = self.name("it")
        self.line(f"{it} = {g}({self.t()}, {self.k()})")
        self.line(f"{made} = next({it}, x)")
        for _ in range(self.random.randint(0, 3)):
            kinds, thrown = f"{self.pick(*ERRORS)}, StopIteration", self.pick(*ERRORS)
            self.line(
                self.pick(
                    f"with contextlib.suppress(StopIteration): {made} = {it}.send({self.k()})",
                    f"with contextlib.suppress({kinds}): {made} = {it}.throw({thrown}('t'))",
                    f"{it}.close()",
                    f"{made} = next({it}, None)",
                    f"note([*{it}])",
                    f"for {made} in {it}: break",
                    f"note(list(zip({it}, 'ab')))",
                )  # fmt: skip
            )
        self.line(f"note({made})")

    def s_match(self) -> None:
        pair = f"({self.k()}, {self.t()})"
        self.line(f"match {self.pick(*self.lists, *self.numbers, 'SHARED', pair, 'Box(2)')}:")
        cases = (
            "[a, *rest] if len(rest) > 1", "[a, b]", "{'k': a, **rest}", "0 | 1", "int(a)",
            "Box(value=a)", "(int() as a, torch.Tensor())", "[]", "{'z': [*_]}",
        )  # fmt: skip
        for case in self.random.sample(cases, 3):
            self.line(f"    case {case}:")
            self.depth += 1
            self.body(1)
            self.depth -= 1
        self.line("    case _:")
        self.line("        note('none')")

    def s_scopes(self) -> None:
        k, items = self.k(), self.pick(*self.lists)
        made = self.name("l")
        self.line(
            f"{made} = "
            + self.pick(
                f"[f() for f in [lambda: i + {k} for i in range(3)]]",
                "[(i, j) for i in (1, 2) for j in range(i)]",
                f"[q for i in range(3) if (q := i + {k}) > 1]",
                f"list({{i: j for i, j in zip('ab', {items})}})",
                f"sorted({{str(i) for i in {items}}})",
                f"[[i * j for j in (1, {k})] for i in range(2)]",
                "[*map(lambda i, u=n: i + u, (1, 2))]",
                f"[i for i in {items} if note(i)]",
                f"list(filter(None, [{k}, 0, 1]))",
                "[n for n in range(2)] + [n]",
            )  # fmt: skip
        )
        self.line(f"note({made})")
        self.lists.append(made)

    def s_unpack(self) -> None:
        a, b, items = self.name("k"), self.name("l"), self.pick(*self.lists)
        self.line(
            self.pick(
                f"{a}, *{b} = {items}",
                f"*{b}, {a} = {items}",
                f"({a}, *{b}), _ = {items}, 1",
                f"{a}, {b} = {self.k()}, [*{items}, 1]",
                f"{a} = ({b} := [*{items}])[0]",
                f"[{a}, *{b}, _] = {items}",
                f"{a}, {b} = 1, list(dict(enumerate({items})))",
            )  # fmt: skip
        )
        self.numbers.append(a)
        self.lists.append(b)

    def s_box(self) -> None:
        box = self.name("box")
        self.line(f"{box} = Box({self.pick(self.tensor(), self.k())})")
        for _ in range(self.random.randint(1, 3)):
            self.line(
                self.pick(
                    f"{box}.seen = {self.k()}",
                    f"{box}.seen += 1",
                    f"del {box}.seen",
                    f"{box} += {self.k()}",
                    f"note({box}.seen)",
                    f"{box}.count += 1",
                    f"{box}.other = {self.t()}",
                    f"note('yes' if {box} else 'no')",
                    f"note(getattr({box}, 'other', None))",
                    f"note({box}.nothing)",
                    f"note(({box} and {self.k()}) is not None)",
                )  # fmt: skip
            )
        self.line(f"note(({box}.value, {box}._seen, {box}.count, Box.count))")

    def s_delete(self) -> None:
        name = self.name("d")
        self.line(f"{name} = {self.tensor()}")
        self.line(f"del {name}")
        if self.tries and self.chance(0.3):
            self.line(f"note({name})")

    def s_assert(self) -> None:
        told = self.condition() if self.tries else f"{self.condition()} or True"
        self.line(f"assert {told}, {self.text()}")

    def s_item(self) -> None:
        made = self.name("k")
        t = self.t()
        forms = f"int({t}.sum().item())", f"{t}.argmax().item()", f"len({t}.tolist())"
        self.line(f"{made} = {self.pick(*forms)}")
        self.numbers.append(made)


def control(seed: int) -> str:
    flow = Flow(seed)
    while flow.left > 0:
        flow.statement()
    names = ", ".join(["x", "y", "n", "items"])
    body = "\n".join(flow.lines)
    head = f"{heads.CONTROL}\n\ndef fn(x, y, n, items):\n    global LEVEL\n"
    return f"{head}{body}\n    return {names}\n"
