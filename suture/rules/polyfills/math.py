"""math: the functions that are loops or formulas over operators.

Symbolic sizes and floats have the operators, not the C functions. What the originals round better
than a formula does (fsum, hypot, dist, sumprod) is run by Python.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import Any

from suture.rules.substitutes import substitute


@substitute(math.prod)
def prod(iterable: Iterable[Any], /, *, start: Any = 1) -> Any:
    total = start
    for item in iterable:
        total = total * item
    return total


@substitute(math.gcd)
def gcd(*integers: Any) -> int:
    total = 0
    for each in integers:
        value = abs(operator.index(each))
        while value:
            total, value = value, total % value
    return total


@substitute(math.lcm)
def lcm(*integers: Any) -> int:
    total = 1
    for each in integers:
        value = abs(operator.index(each))
        total = total // gcd(total, value) * value if value and total else 0
    return total


@substitute(math.factorial)
def factorial(n: Any, /) -> int:
    n = operator.index(n)
    if n < 0:
        raise ValueError("factorial() not defined for negative values")
    total = 1
    for factor in range(2, n + 1):
        total *= factor
    return total


@substitute(math.comb)
def comb(n: Any, k: Any, /) -> int:
    n, k = operator.index(n), operator.index(k)
    if n < 0:
        raise ValueError("n must be a non-negative integer")
    if k < 0:
        raise ValueError("k must be a non-negative integer")
    if k > n:
        return 0
    total = 1
    for step in range(min(k, n - k)):
        total = total * (n - step) // (step + 1)
    return total


@substitute(math.perm)
def perm(n: Any, k: Any = None, /) -> int:
    if k is None:
        return factorial(n)
    n, k = operator.index(n), operator.index(k)
    if n < 0:
        raise ValueError("n must be a non-negative integer")
    if k < 0:
        raise ValueError("k must be a non-negative integer")
    total = 1
    for step in range(k):
        total *= n - step
    return total


@substitute(math.isqrt)
def isqrt(n: Any, /) -> int:
    n = operator.index(n)
    if n < 0:
        raise ValueError("isqrt() argument must be nonnegative")
    guess = 1 << (n.bit_length() + 1) // 2
    while guess * guess > n:
        guess = (guess + n // guess) // 2
    return guess


@substitute(math.isclose)
def isclose(a: Any, b: Any, *, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> bool:
    if rel_tol < 0.0 or abs_tol < 0.0:
        raise ValueError("tolerances must be non-negative")
    if a == b:
        return True
    if abs(a) == math.inf or abs(b) == math.inf:
        return False
    apart = abs(b - a)
    return apart <= abs(rel_tol * b) or apart <= abs(rel_tol * a) or apart <= abs_tol


@substitute(math.degrees)
def degrees(x: Any, /) -> Any:
    return x * (180.0 / math.pi)


@substitute(math.radians)
def radians(x: Any, /) -> Any:
    return x * (math.pi / 180.0)


@substitute(math.isnan)
def isnan(x: Any, /) -> bool:
    return bool(x != x)


@substitute(math.isinf)
def isinf(x: Any, /) -> bool:
    return bool(abs(x) == math.inf)


@substitute(math.isfinite)
def isfinite(x: Any, /) -> bool:
    return bool(x == x and abs(x) != math.inf)
