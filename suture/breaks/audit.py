"""The check of the whole registry: entries, pages, and the places that raise.

Raise sites are found by reading the sources, not by running them. A *reference* is a name such as
`control_flow.TENSOR_BRANCH` that an import from `suture.breaks` makes an entry; a *raise site* is a
call of `Break`. A table may hold references (a rule with its reason) that a raise site uses, so an
entry counts as raised where it is referred to.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from suture.breaks import page
from suture.breaks.catalog import FAMILIES, entries, names
from suture.breaks.registry import BreakType, Status

PACKAGE = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True)
class Reference:
    """An entry that a source file names. `fields` is None unless it is raised right there."""

    file: str
    line: int
    family: str
    name: str
    fields: frozenset[str] | None


def check(package: Path = PACKAGE) -> list[str]:
    """What is wrong with the registry, one sentence each; empty if all is well.

    Every entry has a page that agrees with it; an entry of the status BREAK is raised somewhere
    under `package`; whatever is raised there is an entry, and gets the fields of that entry.
    """
    found = [problem for entry in entries() for problem in page.problems(entry)]
    found += _stray_pages()
    references = list(scan(package))
    found += _unknown(references)
    raised = {(reference.family, reference.name) for reference in references}
    by_number = names()
    for entry in entries():
        if entry.status is Status.BREAK and by_number[entry.number] not in raised:
            found.append(f"{entry.number}: nothing raises {'.'.join(by_number[entry.number])}")
    return found


def scan(package: Path) -> Iterator[Reference]:
    """Every reference to an entry in the Python files under `package`, the registry left out."""
    for path in sorted(package.rglob("*.py")):
        relative = path.relative_to(package)
        if relative.parts[0] != "breaks":
            tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
            yield from _Scanner(str(relative)).run(tree)


class _Scanner(ast.NodeVisitor):
    """Collects the references of one file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.families: dict[str, str] = {}  # local name -> family
        self.constants: dict[str, tuple[str, str]] = {}  # local name -> (family, constant)
        self.breaks: set[str] = set()  # local names of the class Break
        self.found: list[Reference] = []

    def run(self, tree: ast.Module) -> list[Reference]:
        """The references of the file; imports are read first, wherever they are."""
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                self._import(node)
        self.visit(tree)
        return self.found

    def _import(self, node: ast.ImportFrom) -> None:
        families = {family.__name__ for family in FAMILIES}
        for alias in node.names:
            local = alias.asname or alias.name
            if node.module in ("suture.breaks", "suture.breaks.exception"):
                if alias.name == "Break":
                    self.breaks.add(local)
                elif f"{node.module}.{alias.name}" in families:
                    self.families[local] = alias.name
            elif node.module in families:
                assert node.module is not None
                self.constants[local] = (node.module.rpartition(".")[2], alias.name)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in self.breaks and node.args:
            target = self._target(node.args[0])
            if target is not None:
                given = [keyword.arg for keyword in node.keywords]
                fields = None if None in given else frozenset(filter(None, given))
                self._add(node.args[0], target, fields)
                for child in (*node.args[1:], *node.keywords):
                    self.visit(child)
                return
            if isinstance(node.args[0], ast.Constant):
                self._add(node.args[0], ("", repr(node.args[0].value)), None)
        self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        target = self._target(node)
        if target is None:
            self.generic_visit(node)
        else:
            self._add(node, target, None)

    def visit_Name(self, node: ast.Name) -> None:
        target = self._target(node)
        if target is not None:
            self._add(node, target, None)

    def _target(self, node: ast.expr) -> tuple[str, str] | None:
        """The family and constant that an expression names, if it names one."""
        match node:
            case ast.Attribute(value=ast.Name(id=base), attr=name) if base in self.families:
                return self.families[base], name
            case ast.Name(id=name) if name in self.constants:
                return self.constants[name]
        return None

    def _add(self, node: ast.expr, target: tuple[str, str], fields: frozenset[str] | None) -> None:
        self.found.append(Reference(self.file, node.lineno, *target, fields))


def _unknown(references: list[Reference]) -> list[str]:
    """References to what is no entry, and raise sites with the wrong fields."""
    known = {
        (family.__name__.rpartition(".")[2], name): value
        for family in FAMILIES
        for name, value in vars(family).items()
        if isinstance(value, BreakType)
    }
    found = []
    for reference in references:
        where = f"{reference.file}:{reference.line}"
        entry = known.get((reference.family, reference.name))
        if entry is None:
            found.append(
                f"{where}: {reference.family}.{reference.name} is no entry".replace(": .", ": ")
            )
        elif reference.fields is not None and reference.fields != set(entry.fields):
            given, wanted = ", ".join(sorted(reference.fields)), ", ".join(entry.fields)
            found.append(f"{where}: {entry.number} takes ({wanted}), not ({given})")
    return found


def _stray_pages() -> list[str]:
    """Pages that belong to no entry."""
    known = {entry.page for entry in entries()}
    return [
        f"{path.name}: a page without an entry"
        for path in sorted(page.FOLDER.glob("*.md"))
        if path.name not in known
    ]
