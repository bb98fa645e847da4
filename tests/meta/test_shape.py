"""The shape of the code: imports without a cycle, classes of a size, types that say something."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from suture.compiler import abstract, rooms

ROOT = Path(__file__).parents[2]
MOST_METHODS = 40
MOST_ANY = 0.15  # of the annotations of the compiler


def modules() -> dict[str, ast.Module]:
    found = {}
    for path in sorted((ROOT / "suture").rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text())
    return found


MODULES = modules()


def imports_of(module: str) -> set[str]:
    """The modules of suture that one imports, wherever it does."""
    found = set()
    for node in ast.walk(MODULES[module]):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("suture"):
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if node.module != "suture._core" and inner != "suture._core":
                    found.add(inner if inner in MODULES else str(node.module))
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in MODULES}
    return found - {module}


def test_no_import_comes_back():
    """Those inside functions and for the type checker count."""
    state: dict[str, int] = {}

    def walk(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join((*path[path.index(module) :], module))
        if state.get(module):
            return
        for other in sorted(imports_of(module)):
            walk(other, (*path, module))
        state[module] = 1

    for module in MODULES:
        walk(module, ())


def classes() -> Iterator[tuple[str, ast.ClassDef]]:
    for module, tree in MODULES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                yield module, node


def test_no_class_has_too_many_methods():
    """Methods of bases in suture count."""
    by_name: dict[str, list[ast.ClassDef]] = {}
    for _, node in classes():
        by_name.setdefault(node.name, []).append(node)

    def methods(node: ast.ClassDef, below: tuple[ast.ClassDef, ...]) -> set[str]:
        found = {
            m.name for m in node.body if isinstance(m, (ast.FunctionDef, ast.AsyncFunctionDef))
        }
        for base in node.bases:
            for other in by_name.get(ast.unparse(base).split(".")[-1], []):
                if other is not node and other not in below:
                    found |= methods(other, (*below, node))
        return found

    large = {f"{m}.{n.name}": len(methods(n, ())) for m, n in classes()}
    assert {name: count for name, count in large.items() if count > MOST_METHODS} == {}


def test_no_class_answers_the_type_checker_for_every_name():
    for module, node in classes():
        for inner in ast.walk(node):
            if isinstance(inner, ast.If) and ast.unparse(inner.test) == "TYPE_CHECKING":
                names = {f.name for f in inner.body if isinstance(f, ast.FunctionDef)}
                assert "__getattr__" not in names, f"{module}.{node.name}"


def annotations_of(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            args = node.args
            every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
            given = [a.annotation for a in every if a is not None]
            yield from (ast.unparse(a) for a in (*given, node.returns) if a is not None)
        elif isinstance(node, ast.AnnAssign):
            yield ast.unparse(node.annotation)


def test_types_of_the_compiler_say_something():
    found = [
        text
        for module, tree in MODULES.items()
        if module.startswith("suture.compiler")
        for text in annotations_of(tree)
    ]
    bare = found.count("Any")
    assert bare <= MOST_ANY * len(found), f"{bare} of {len(found)} annotations are a bare Any"


def test_the_trace_is_typed_wherever_it_is_given():
    for module, tree in MODULES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.arg) and node.arg in ("trace", "tx") and node.annotation:
                assert ast.unparse(node.annotation) != "Any", f"{module}:{node.lineno}"


def test_every_declared_operation_has_a_body():
    rooms.load()
    assert abstract.unbound() == []


def test_every_file_of_the_rooms_is_loaded():
    rooms.load()
    import sys

    for module in MODULES:
        if module.startswith(tuple(f"suture.compiler.{room}." for room in rooms.ROOMS)):
            assert module in sys.modules, module


def decorated(*names: str) -> Iterator[tuple[str, ast.FunctionDef, ast.expr]]:
    """The functions of the compiler under one of these decorators."""
    for module, tree in MODULES.items():
        for node in ast.walk(tree) if module.startswith("suture.compiler") else ():
            if isinstance(node, ast.FunctionDef):
                for made in node.decorator_list:
                    called = made.func if isinstance(made, ast.Call) else made
                    if isinstance(called, ast.Name) and called.id in names:
                        yield module, node, made


def annotations(fn: ast.FunctionDef) -> dict[str, str]:
    """The annotations of a function, as text, by the name of the parameter."""
    args = fn.args
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    found = {a.arg: a.annotation for a in every if a is not None} | {"return": fn.returns}
    return {name: ast.unparse(a) if a is not None else "" for name, a in found.items()}


def classes_of_values() -> set[str]:
    """`Value` and the classes that are derived from it."""
    found, before = {"Value"}, set[str]()
    while found != before:
        before = set(found)
        found |= {n.name for _, n in classes() if {ast.unparse(b) for b in n.bases} & found}
    return found


def test_a_body_has_the_types_of_its_declaration():
    """Where a declaration says `Value` or `object`, a body may know the class of the value; and it
    gives nothing that the declaration does not promise, None above all."""
    declarations = {n.name: annotations(n) for _, n, _ in decorated("declared", "dispatched")}
    values, wrong = classes_of_values(), []
    for module, node, made in decorated("implements"):
        assert isinstance(made, ast.Call)
        name = ast.unparse(made.args[0]).rpartition(".")[2]
        given = annotations(node)
        for parameter, wanted in declarations[name].items():
            text = given[parameter]
            open_ = wanted in ("Value", "object") and (text == "Any" or text in values)
            if parameter == "return":
                open_ = wanted in ("Value", "Any") and text in values
            if text != wanted and not open_:
                wrong.append(f"{module}.{node.name}: {parameter} is {text}, declared {wanted}")
    assert wrong == []


def test_what_is_only_declared_is_not_imported_by_name():
    """It gets its body later: whoever has imported the declaration would call that. `abstract`
    itself is told of the bodies."""
    declared = {(module, node.name) for module, node, _ in decorated("declared")}
    wrong = []
    for module, tree in MODULES.items():
        for node in ast.walk(tree) if module != "suture.compiler.abstract" else ():
            if isinstance(node, ast.ImportFrom):
                names = [n.name for n in node.names if (node.module, n.name) in declared]
                wrong += [f"{module}: {node.module}.{name}" for name in names]
    assert wrong == []
