"""Which values a function only hands out."""

from suture.bytecode import decode


def handed_out(fn):
    """The arguments that are only returned, by name, in the order in which they are loaded."""
    code = decode(fn.__code__)
    loads = [i for i in code.instructions if i.op.startswith("LOAD_FAST")]
    return [code.localsplus[i.val] for i in loads if code.hands_out(i.index)]


def test_what_is_returned():
    assert handed_out(lambda a: a) == ["a"]
    assert handed_out(lambda a, b: (a, b.c, [b])) == ["a", "b"]
    assert handed_out(lambda a, b: {"k": a, "l": (1, b)}) == ["a", "b"]
    assert handed_out(lambda a, b: {"k": a, b.c: 1}) == ["a"]
    assert handed_out(lambda a, b: (a, b + 1, b if b else 2)) == []


def test_what_is_used():
    assert handed_out(lambda a: a + 1) == []
    assert handed_out(lambda a, b: (a.c, b(1))) == []
    assert handed_out(lambda a: {a: 1}) == []
    assert handed_out(lambda a: {a}) == []
    assert handed_out(lambda a: (*a, 1)) == []
    assert handed_out(lambda a: (yield a)) == []


def test_a_comparison_in_a_chain_is_a_use():
    assert handed_out(lambda a, b: 1 < a < b) == []
