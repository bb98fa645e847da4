"""Which values a function only passes on."""

from suture.bytecode import Use, decode


def uses(fn):
    """What becomes of the arguments, by name, in the order in which they are loaded."""
    code = decode(fn.__code__)
    loads = [i for i in code.instructions if i.op.startswith("LOAD_FAST")]
    return [(code.localsplus[i.val], code.use(i.index)) for i in loads]


def only(use, fn):
    """The names of those with this use."""
    return [name for name, found in uses(fn) if found is use]


def test_what_is_returned():
    assert only(Use.RETURNED, lambda a: a) == ["a"]
    assert only(Use.RETURNED, lambda a, b: (a, b.c, [b])) == ["a", "b"]
    assert only(Use.RETURNED, lambda a, b: {"k": a, "l": (1, b)}) == ["a", "b"]
    assert only(Use.RETURNED, lambda a, b: {"k": a, b.c: 1}) == ["a"]
    assert only(Use.RETURNED, lambda a, b: (a, 1 if b else 2)) == []
    assert only(Use.RETURNED, lambda a: (a + 1, -a)) == []


def test_what_is_an_argument():
    assert only(Use.PASSED, lambda f, a, b: f.c(a, k=b)) == ["a", "b"]
    assert only(Use.PASSED, lambda f, a: f(f.c, a) + 1) == ["a"]
    assert only(Use.PASSED, lambda f, a, b, k: f(*a, l=b, **k)) == ["b"]
    assert only(Use.PASSED, lambda f, a: f((a, 1))) == []
    assert only(Use.PASSED, lambda a: a()) == []
    assert only(Use.PASSED, lambda a: a.b()) == []


def test_what_is_looked_at():
    for fn in (
        lambda a: a + 1,
        lambda a: a.c,
        lambda a: {a: 1},
        lambda a: {a},
        lambda a: (*a, 1),
        lambda a: (yield a),
        lambda a, b: 1 < a < b,
    ):
        assert {use for _, use in uses(fn)} == {Use.LOOKED_AT}
