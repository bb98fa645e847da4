"""Code objects to test on: a sample of the standard library, and programs full of rare features."""

import dis
import functools
import pathlib
import sys
import sysconfig
import types
import warnings

from suture.bytecode import Code, decode

# Every SAMPLE-th module of the standard library.
SAMPLE = 23

PROGRAMS = {
    "loops": """
def f(xs, n):
    total = 0
    for x in xs:
        if x > n:
            continue
        while n:
            n -= 1
            if n == 3:
                break
        else:
            total += x
    return total and n or xs
""",
    "exceptions": """
def f(a, log):
    for x in a:
        try:
            with open(x) as g, log:
                g.read()
        except (OSError, ValueError) as e:
            try:
                log(e)
            except Exception:
                return log(1)
            raise
        except TypeError:
            continue
        else:
            return x
        finally:
            log.close()
    del a
""",
    "groups": """
def f(g):
    try:
        g()
    except* OSError as e:
        print(e)
    except* (KeyError, ValueError):
        raise
    return 1
""",
    "generators": """
def f(a):
    try:
        b = yield from a
        c = yield b
    except E:
        yield 3
    return c if a else (y for y in b)
""",
    "coroutines": """
async def f(a):
    async with a as b:
        async for c in b:
            await c
            yield c
        else:
            await a
    x = [y async for y in b if await y]
    yield x
async def g(a):
    while await a:
        try:
            return await a()
        except OSError:
            pass
""",
    "matching": """
def f(v):
    match v:
        case {"a": x, **rest}: return x, rest
        case [1, *y, 2]: return y
        case C(x, k=z) if z: return z
        case "s" | None: pass
        case _: return v
""",
    "closures": """
def f(a, b, *c, d=1, **e):
    x = 1
    fs = [lambda: (x, a) for x in range(3)]
    def g(p: int = x, *, q=2) -> str:
        nonlocal b
        b += p
        return b
    class K:
        y = b
        z: int = a
        def m(self):
            def inner(): return self
            return super().m(inner, *c, key=d, **e)
    del x
    return g, K, fs
""",
    "values": """
import os.path as p
from os import *
def f(a, b, c):
    global G
    G = a[1:2]
    a[b:] = c
    a[1:2:3] = {**b, "k": 1}
    a.b[c].d += 1
    a @= -b ** +c // ~a
    del a[0], a.b, G
    t = (*a, *b)
    s = {1, *c}
    x, *y, z = t
    assert a is not b, f"{a!r:>{b}} {c} {c!s}"
    return not (a < b <= c), a in b, [i for i in a if i], {k: v for k, v in s}, x if y else z
""",
    "keywords": """
def f(g, a):
    return g(1, a if a else 2, x=3, y=a), g.m(1, z=2), g(*a), g.m(**a), g()()
""",
    "none": """
def f(a, b):
    while a is None and b is not None:
        a = b
    if a is not None:
        return
    return "text"
""",
    "unbound": """
def f(a):
    if a:
        b = 1
    for c in a:
        del c
        x = [c for c in a]
    return b, c
""",
    "many": "def f(a):\n" + "".join(f"    v{i} = a.n{i}('s{i}')\n" for i in range(300))
    + "    for x in a:\n" + "".join(f"        v{i} += x.m{i}\n" for i in range(300))
    + "    return v299\n",
}  # fmt: skip

if sys.version_info >= (3, 12):
    PROGRAMS["parameters"] = """
type A[T: int, *Ts, **P] = dict[T, P]
def f[T: (int, str)](x: T) -> T: return x
class C[T](list): y: T
"""
if sys.version_info >= (3, 13):
    PROGRAMS["defaults"] = "def f[T = int](x: T): return x\n"


if sys.version_info >= (3, 14):
    PROGRAMS["templates"] = """
def f(a, b):
    try:
        return t"{a!r:>{b}} and {b}", any(x for x in a), tuple(x for x in b)
    except ValueError, TypeError:
        raise NotImplementedError
"""


class Sample:
    """A code object twice: as suture decodes it, and as dis does (``originals``, by offset)."""

    def __init__(self, name: str, code: types.CodeType) -> None:
        self.name = name
        self.code = code
        self.decoded: Code = decode(code)
        self.originals = {o.offset: o for o in dis.get_instructions(code)}
        self.entries = dis._parse_exception_table(code)

    def __repr__(self) -> str:
        return self.name


def nested(code):
    """``code`` and every code object inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from nested(constant)


@functools.cache
def programs():
    """All code objects of PROGRAMS."""
    return [
        Sample(f"{name}.{code.co_qualname}", code)
        for name, text in PROGRAMS.items()
        for code in nested(compile(text, name, "exec", dont_inherit=True))
    ]


def program(name, function="f"):
    """The code of one function of PROGRAMS."""
    (found,) = [s.code for s in programs() if s.name == f"{name}.{function}"]
    return found


@functools.cache
def corpus():
    """The programs and the sample of the standard library."""
    found = list(programs())
    library = pathlib.Path(sysconfig.get_paths()["stdlib"])
    files = [p for p in sorted(library.rglob("*.py")) if "site-packages" not in p.parts]
    for path in files[::SAMPLE]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                module = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        except (SyntaxError, ValueError):
            continue  # the library's own examples of wrong programs
        found += [Sample(f"{path}:{code.co_qualname}", code) for code in nested(module)]
    return found
