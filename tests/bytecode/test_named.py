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
        from json import dumps, loads

        return path, dumps, loads

    assert named(fn.__code__).imports == (
        ("os.path", 0, ("path",)),
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


def test_many_names_need_longer_arguments():
    names = [f"name_{i}" for i in range(300)]
    code = compile("(" + ", ".join(names) + ")", "here", "eval")
    assert [load for (load,) in named(code).loads] == names
