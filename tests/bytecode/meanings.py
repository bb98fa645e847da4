"""Functions with arguments, to be run by CPython and by the small interpreter alike."""

import contextlib
import io
import types


def arithmetic(a, b):
    c = a * b - 7 // (b + 1)
    c **= 2
    c, d = d_of(c), -c
    return +c, ~d, not d, a < b <= c, a is not b, (a and b) or c, [a, b][::-1], c if d > 3 else a


def d_of(x, *, scale=2, **rest):
    return x * scale + len(rest)


def calls(f, text):
    x = f(3, scale=4, other=1)
    y = f(*(x,), **{"scale": x})
    z = "-".join(text.split(sep=" "))
    return x, y, z, f"{x!r:>6}|{z}|{y:{x}}|{text!s}", max(*text, key=ord)


def building(xs):
    t = (*xs, *xs)
    s = {1, *xs}
    d = {"a": 1, **{str(x): x for x in xs}, "b": [*xs]}
    first, *middle, last = t
    o = types.SimpleNamespace(v=[0, 1, 2, 3])
    o.v[1] += 5
    o.v[2:3] = [9, 9]
    o.w = o.v[1:4]
    del o.v[0]
    return t, s, d, first, middle, last, o.v, o.w, 3 in s, 4 not in s


def loops(xs, n):
    total = dead = 0
    for x in xs:
        if x == 2:
            continue
        for y in range(x):
            total += y
            if total > 20:
                break
        else:
            total += 100
        dead = total
    while n > 0:
        n -= 1
        if n is None:
            return dead
    return total, n


def handlers(xs):
    log = []
    for x in xs:
        try:
            try:
                log.append(10 // x)
            except ZeroDivisionError as e:
                log.append(str(e))
                try:
                    raise KeyError(x) from None
                except (KeyError, ValueError):
                    log.append("inner")
                    if x == 0:
                        continue
                raise
            except TypeError:
                log.append("type")
                raise
            else:
                log.append("else")
            finally:
                log.append("finally")
        except TypeError:
            return returns_from_handler(log)
    return log


def returns_from_handler(log):
    try:
        raise ValueError(log)
    except ValueError as e:
        try:
            return len(log), [*e.args[0], 1]
        finally:
            log.append("left")


def managers(n):
    out = io.StringIO()
    with contextlib.suppress(KeyError), contextlib.redirect_stdout(out) as o:
        for i in range(n):
            with contextlib.suppress(IndexError):
                print(i, file=o)
                [][i]
            if i == 2:
                {}[i]
    with contextlib.nullcontext(5) as five:
        return five, out.getvalue()


def closures(a, b=2):
    x = 10
    fs = [lambda: (x, a) for x in range(3)]

    def g(p, q=b, *, r=3):
        nonlocal x
        x += p
        return x, q, r

    first = g(1)
    a += 1
    squares = {k: k * a for k in range(3)}
    return first, g(2, r=5), [f() for f in fs], x, a, squares


def unbound(flag):
    if flag:
        v = 1
    try:
        return v
    except UnboundLocalError:
        w = 2
        del w
        return "unbound"


class Base:
    def m(self, x):
        return x + 1


class Derived(Base):
    def m(self, x):
        y = x * 2
        return super().m(y)


CASES = [
    (arithmetic, (3, 5)),
    (calls, (d_of, "some words here")),
    (building, ([1, 2, 3],)),
    (loops, ([1, 2, 5, 9], 3)),
    (handlers, ([5, 0, 2],)),
    (handlers, ([5, "x"],)),
    (returns_from_handler, ([1],)),
    (managers, (4,)),
    (closures, (1,)),
    (unbound, (True,)),
    (unbound, (False,)),
]
