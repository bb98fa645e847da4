"""What a code object names is read off its bytes."""

from __future__ import annotations

from suture.bytecode import named


def test_globals_come_with_the_attributes_taken_at_once():
    found = named((lambda x: first(math.pi.real, x.imag).value).__code__)  # noqa: F821
    assert {("first",), ("math", "pi", "real")} <= set(found.loads)
    assert {"pi", "real", "imag", "value"} <= found.attributes


def test_imports_say_what_is_taken_from_them():
    def fn():
        import os.path as path
        import xml.dom.minidom
        from json import dumps, loads

        return path, xml, dumps, loads

    assert named(fn.__code__).imports == (
        ("os.path", 0, ()),
        ("xml.dom.minidom", 0, ()),
        ("json", 0, ("dumps", "loads")),
    )


def test_relative_imports_have_their_level():
    code = compile("def fn():\n    from ..here import name\n", "here", "exec").co_consts[0]
    assert named(code).imports == (("here", 2, ("name",)),)


def test_constant_names_of_getattr_are_attributes_and_others_are_computed():
    known = named((lambda x: (getattr(x, "one"), getattr(x.y, "two", None))).__code__)  # noqa: B009
    assert {"one", "two"} <= known.attributes and not known.computed
    for fn in (lambda x, n: getattr(x, n), lambda x, n: getattr(x, "a" + n)):
        assert named(fn.__code__).computed


def test_a_default_of_getattr_may_be_any_expression():
    known = [
        lambda x: getattr(x, "one", []),
        lambda x: getattr(x, "one", x.a + x.b),
        lambda x: getattr(x, "one", lambda: str(x)),
        lambda x: getattr(str(x), "one", max(x.a, {"b": x.b}["b"])),
        lambda x: getattr(x.a(1, 2)[0], "one")(x, 3),
    ]
    for fn in known:
        found = named(fn.__code__)
        assert "one" in found.attributes and not found.computed


def test_a_name_that_is_made_of_constants_and_values_is_computed():
    computed = [
        lambda x, n: getattr(x, "a" + n, None),
        lambda x, n: getattr(x, f"a{n}"),
        lambda x, n: getattr(x, "a".join(n)),
        lambda x, n: getattr(x, "a" if n else "b", None),
        lambda x, n: getattr(x, "abc"[n], "one"),
        lambda x, n: getattr(x, "a %s" % n, "one"),  # noqa: UP031
        lambda x, n: getattr(*n),
        lambda x, n: getattr(x, *n),
        lambda x, n: list(map(getattr, x, n)),
    ]
    for fn in computed:
        assert named(fn.__code__).computed


def test_many_names_need_longer_arguments():
    names = [f"name_{i}" for i in range(300)]
    code = compile("(" + ", ".join(names) + ")", "here", "eval")
    assert [load for (load,) in named(code).loads] == names
