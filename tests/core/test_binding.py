"""Arguments are bound as CPython binds them: checked over random signatures and calls."""

from __future__ import annotations

import pytest
from core_under_test import core

hypothesis = pytest.importorskip("hypothesis")
st = hypothesis.strategies

NAMES = ["a", "b", "c", "d", "e", "f"]


class Name(str):
    """A keyword that is not an exact str."""


@st.composite
def functions(draw):
    """A function that returns its slots in order."""
    count = draw(st.integers(0, 5))
    kinds = sorted(draw(st.lists(st.sampled_from([0, 1, 2]), min_size=count, max_size=count)))
    star, stars = draw(st.booleans()), draw(st.booleans())
    parts, defaulted = [], False
    for name, kind in zip(NAMES, kinds):
        default = draw(st.booleans()) or (defaulted and kind < 2)
        defaulted |= default and kind < 2
        parts.append((kind, f"{name}='{name.upper()}'" if default else name))
    text = [part for kind, part in parts if kind == 0]
    text += ["/"] if text else []
    text += [part for kind, part in parts if kind == 1]
    keyword_only = [part for kind, part in parts if kind == 2]
    text += ["*rest"] if star else ["*"] if keyword_only else []
    text += keyword_only
    text += ["**more"] if stars else []
    names = NAMES[:count] + ["rest"] * star + ["more"] * stars
    scope = {}
    exec(f"def fn({', '.join(text)}): return ({''.join(n + ', ' for n in names)})", scope)
    return scope["fn"]


@st.composite
def calls(draw):
    keywords = draw(st.lists(st.sampled_from([*NAMES, "rest", "other"]), unique=True, max_size=4))
    named = {(Name(k) if draw(st.booleans()) else k): k * 2 for k in keywords}
    return tuple(range(draw(st.integers(0, 6)))), named


def outcome(fn, args, kwargs):
    try:
        return fn(*args, **kwargs)
    except TypeError as error:
        return str(error)


def must_not_miss(point, state):
    raise AssertionError("no variant")


@hypothesis.settings(max_examples=400, deadline=None)
@hypothesis.given(functions(), st.lists(calls(), min_size=1, max_size=4))
def test_as_cpython(fn, several):
    point = core.Point("fn", must_not_miss)
    point.add(lambda function, *state: state)
    compiled = core.Compiled(fn, point)
    for args, kwargs in several:
        assert outcome(compiled, args, kwargs) == outcome(fn, args, kwargs)
