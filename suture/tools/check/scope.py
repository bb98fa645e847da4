"""Which functions of a file are compiled, as far as its text shows.

The roots are functions with a compiling decorator, functions handed to a compiling call, and the
`forward` of module classes; then whatever those call by a name of the same file. Functions marked
as not to be compiled are left out.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

Function = ast.FunctionDef | ast.AsyncFunctionDef
_COMPILE = {"torch.compile", "suture.compile"}
_DISABLE = {
    "torch.compiler.disable", "torch._dynamo.disable", "suture.disable", "suture.skip_frame",
    "torch.no_compile", "torch.jit.ignore",
}  # fmt: skip


@dataclass
class File:
    """The names of one file. `imports` maps a local name to the dotted name it stands for;
    `layers` the attributes of each class that hold modules."""

    tree: ast.Module
    imports: dict[str, str] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    classes: dict[str, ast.ClassDef] = field(default_factory=dict)
    layers: dict[str, set[str]] = field(default_factory=dict)
    loggers: set[str] = field(default_factory=set)

    def dotted(self, node: ast.expr) -> str:
        """The full dotted name that an expression means; "" if it is none."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        return ".".join([self.imports.get(node.id, node.id), *reversed(parts)])


def read(tree: ast.Module) -> File:
    """The names that a file defines and imports."""
    file = File(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                local = alias.asname or alias.name.partition(".")[0]
                file.imports[local] = alias.name if alias.asname else local
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                file.imports[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    _definitions(file, tree.body, "", None)
    for cls in file.classes.values():
        file.layers[cls.name] = _layers(file, cls)
    for node in tree.body:
        match node:
            case ast.Assign(targets=targets, value=ast.Call(func=made)):
                if file.dotted(made) == "logging.getLogger":
                    file.loggers |= {one.id for one in targets if isinstance(one, ast.Name)}
    return file


def _definitions(file: File, body: list[ast.stmt], prefix: str, cls: str | None) -> None:
    for node in body:
        if isinstance(node, Function):
            file.functions[prefix + node.name] = node
            _definitions(file, node.body, f"{prefix}{node.name}.<locals>.", None)
        elif isinstance(node, ast.ClassDef):
            file.classes[node.name] = node
            _definitions(file, node.body, f"{node.name}.", node.name)
        elif isinstance(node, (ast.If, ast.Try, ast.With)):
            _definitions(file, node.body, prefix, cls)


def is_module_class(file: File, cls: ast.ClassDef, seen: frozenset[str] = frozenset()) -> bool:
    """Whether a class derives from torch's Module, itself or through a class of the same file."""
    for base in cls.bases:
        name = file.dotted(base)
        if name in ("torch.nn.Module", "torch.nn.modules.module.Module"):
            return True
        if name.startswith("torch.nn.") and name[9:10].isupper():
            return True
        above = file.classes.get(name)
        if above is not None and name not in seen and is_module_class(file, above, seen | {name}):
            return True
    return False


def _layers(file: File, cls: ast.ClassDef) -> set[str]:
    """The attributes that a class sets to modules: self.a = nn.Linear(...)."""
    found = set()
    for node in ast.walk(cls):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            made = file.dotted(node.value.func)
            own = file.classes.get(made)
            if made.startswith("torch.nn.") or (own is not None and is_module_class(file, own)):
                for target in node.targets:
                    if isinstance(target, ast.Attribute) and file.dotted(target.value) == "self":
                        found.add(target.attr)
    return found


def compiled(file: File) -> dict[str, Function]:
    """The functions that are compiled, by qualified name, in the order of the file."""
    wanted = [name for name, node in file.functions.items() if _is_root(file, name, node)]
    wanted += _handed_over(file)
    seen: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name in seen or _disabled(file, file.functions[name]):
            continue
        seen.add(name)
        wanted += [other for other in _called(file, name) if other in file.functions]
    return {name: node for name, node in file.functions.items() if name in seen}


def everything(file: File) -> dict[str, Function]:
    """All functions but those that are marked as not to be compiled."""
    return {n: node for n, node in file.functions.items() if not _disabled(file, node)}


def _decorators(file: File, node: Function) -> set[str]:
    names = set()
    for one in node.decorator_list:
        call = one.func if isinstance(one, ast.Call) else one
        names.add(file.dotted(call))
        if isinstance(one, ast.Call) and file.dotted(call) == "functools.partial" and one.args:
            names.add(file.dotted(one.args[0]))
    return names


def _is_root(file: File, name: str, node: Function) -> bool:
    if _decorators(file, node) & _COMPILE:
        return True
    owner, _, method = name.rpartition(".")
    cls = file.classes.get(owner)
    return method == "forward" and cls is not None and is_module_class(file, cls)


def _disabled(file: File, node: Function) -> bool:
    return bool(_decorators(file, node) & _DISABLE)


def _handed_over(file: File) -> list[str]:
    """Functions named in a call such as torch.compile(step)."""
    found = []
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Call) and file.dotted(node.func) in _COMPILE and node.args:
            name = file.dotted(node.args[0])
            found += [one for one in file.functions if one == name or one.endswith(f".{name}")]
    return found


def _called(file: File, name: str) -> list[str]:
    """The functions of the same file that a function calls by name, or through self."""
    owner = name.rpartition(".")[0]
    found = []
    for node in ast.walk(file.functions[name]):
        if isinstance(node, ast.Call):
            target = file.dotted(node.func)
            if target.startswith("self."):
                target = f"{owner}.{target[5:]}"
            found += [target, f"{name}.<locals>.{target}"]
    return found
