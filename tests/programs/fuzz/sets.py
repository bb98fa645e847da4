"""Programs that make sets of sets, as texts: which members there are, and in which order."""

from __future__ import annotations

import random

# Numbers that meet in small hash tables: the order depends on how a table came about.
_MEMBERS = (1, 2, 3, 8, 9, 16, 17, 24, 25, 32, 33, 40, 41, 64, 65, 72)


def sets(seed: int) -> str:
    """What is made is printed behind a break, where it is real, and returned as a text. `GIVEN` and
    `FROZEN` are there before the call, and nothing changes them."""
    draw = random.Random(seed)

    def some() -> str:
        return ", ".join(map(str, draw.sample(_MEMBERS, draw.randint(1, 6))))

    def leaf() -> str:
        forms = ("{{{0}}}", "frozenset([{0}])", "set([{0}])", "frozenset({{{0}}})")
        more = ("{{i for i in [{0}]}}", "dict.fromkeys([{0}]).keys()", "GIVEN", "FROZEN")
        return draw.choice(forms + more).format(some())

    def made(depth: int) -> str:
        if not depth:
            return leaf()
        left, right = made(depth - 1), made(depth - 1)
        kind = draw.choice((set, frozenset)).__name__
        forms = (
            f"({left} {draw.choice('|&-^')} {right})",
            f"{kind}({left}).union({right}, {leaf()})",
            f"{kind}({left}).{draw.choice(('difference', 'symmetric_difference'))}({right})",
            f"{kind}({left})",
            f"{kind}({left}).copy()",
        )
        return draw.choice(forms)

    lines = [
        f"a = {draw.choice(('set', 'frozenset'))}({made(2)})",
        f"b = set({made(1)})",
        "kept = a",
    ]
    for _ in range(draw.randint(1, 4)):
        lines.append(
            draw.choice(
                (
                    f"a {draw.choice('|&-^')}= {draw.choice(('b', 'FROZEN', 'GIVEN'))}",
                    f"b.discard({draw.choice(_MEMBERS)})",
                    f"b.add({draw.choice(_MEMBERS)})",
                    f"b.{draw.choice(('update', 'difference_update'))}({leaf()})",
                    "b = set(a)",
                    "x = x + len(a)",
                )
            )
        )
    shown = draw.choice(("print(a, b, kept)", "pass"))
    body = "\n".join(f"    {line}" for line in [*lines, shown])
    given, frozen = some(), some()
    return (
        f"import torch\n\nGIVEN = {{{given}}}\nFROZEN = frozenset([{frozen}])\n\n\n"
        f"def fn(x, y, n, items):\n{body}\n"
        "    return x + 1, a, b, kept, f'{a}', sorted(b), GIVEN, FROZEN\n"
    )
