"""Walks over the compiled functions of a file and yields what will break."""

from __future__ import annotations

import ast
import importlib
import sys
import types as types_
from collections.abc import Callable, Iterator
from typing import Any

from suture import rules
from suture.breaks import calls, control_flow, objects, python, tensors
from suture.compiler.calls import unmodelled
from suture.tools.check.finding import Finding, make
from suture.tools.check.scope import File, Function
from suture.tools.check.types import DRAWN, NUMBER, TENSOR, Types

BRANCH = control_flow.TENSOR_BRANCH.number
ASSERT = control_flow.TENSOR_ASSERT.number
NUMBER_DECISION = control_flow.UNBACKED_DECISION.number
BUILTIN = tensors.PRINT_TENSOR.number
_METHODS = {
    "backward": tensors.BACKWARD_CALL.number,
    "data_ptr": tensors.TENSOR_ATTRIBUTE.number,
    "allclose": tensors.DATA_DEPENDENT_OP.number,
    "equal": tensors.DATA_DEPENDENT_OP.number,
}
_NAMED = {
    "torch._dynamo.graph_break": calls.GRAPH_BREAK_CALL.number,
    "suture.graph_break": calls.GRAPH_BREAK_CALL.number,
    "torch.equal": tensors.DATA_DEPENDENT_OP.number,
    "torch.allclose": tensors.DATA_DEPENDENT_OP.number,
    "eval": python.EXEC_EVAL.number,
    "exec": python.LOCALS_CALL.number,
    "open": calls.C_FUNCTION.number,
    "io.open": calls.C_FUNCTION.number,
}
_COMPARING = {"max", "min", "sorted"}
Known = dict[str, set[str]]  # for each function the parameters that are known to be tensors
# Packages that may be imported to ask the rules about their functions: nobody's own code.
_ASKED = frozenset(sys.stdlib_module_names) | {"torch", "numpy"}


class Walker(ast.NodeVisitor):
    """One function. `found` holds the findings, in the order of the source."""

    def __init__(
        self, file: File, name: str, function: Function, path: str, known: Known | None = None
    ) -> None:
        self.file = file
        self.name = name
        self.path = path
        self.known: Known = {} if known is None else known
        self.types = Types(file, function, name.rpartition(".")[0])
        self.types.names.update(dict.fromkeys(self.known.get(name, ()), TENSOR))
        self.found: list[Finding] = []
        self._expected: set[int] = set()  # conditions one side of which raises, by id
        self.lines: list[str] = []

    def run(self, function: Function, lines: list[str]) -> list[Finding]:
        self.lines = lines
        for statement in function.body:
            self.visit(statement)
        return self.found

    def _add(self, number: str, node: ast.expr, **fields: str) -> None:
        text = ast.unparse(node)
        shown = text if len(text) <= 80 else text[:77] + "..."
        filled = {"tensor": shown, "value": shown, "number": shown, "expression": shown} | fields
        self.found.append(make(number, self.path, self._location(node), self.name, filled))

    def _location(self, node: ast.expr) -> tuple[int, int, int, int]:
        end_line = node.end_lineno or node.lineno
        end = node.end_col_offset if node.end_col_offset is not None else node.col_offset
        return (
            node.lineno,
            self._column(node.lineno, node.col_offset),
            end_line,
            self._column(end_line, end),
        )

    def _column(self, line: int, offset: int) -> int:
        """Columns of the tree count bytes; people and editors count characters."""
        text = self.lines[line - 1] if line <= len(self.lines) else ""
        return len(text.encode("utf-8", "replace")[:offset].decode("utf-8", "ignore"))

    # ---- statements

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """An inner function is looked at on its own, if it is called."""

    visit_AsyncFunctionDef = visit_FunctionDef  # type: ignore[assignment]  # noqa: N815
    visit_Lambda = visit_FunctionDef  # type: ignore[assignment]  # noqa: N815
    visit_ClassDef = visit_FunctionDef  # type: ignore[assignment]  # noqa: N815

    def visit_If(self, node: ast.If) -> None:
        if self._is_compiling(node.test):
            self._visit_all(node.body)
            return
        if isinstance(node.test, ast.UnaryOp) and self._is_compiling(node.test.operand):
            self._visit_all(node.orelse)
            return
        if _raises(node.body) is not _raises(node.orelse):
            self._expect(node.test, _raises(node.body))
        self._decide(node.test, BRANCH)
        self.generic_visit(node)

    def _expect(self, test: ast.expr, raising: bool) -> None:
        """The program raises if `test` is `raising`: whether it does, the graph can tell."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            self._expect(test.operand, not raising)
        elif isinstance(test, ast.BoolOp):
            each = isinstance(test.op, ast.Or) is raising
            for value in test.values if each else test.values[-1:]:
                self._expect(value, raising)
        self._expected.add(id(test))

    def _visit_all(self, body: list[ast.stmt]) -> None:
        for statement in body:
            self.visit(statement)

    def _is_compiling(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and self.file.dotted(node.func).endswith("is_compiling")

    def visit_While(self, node: ast.While) -> None:
        self._decide(node.test, BRANCH)
        self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> None:
        self._expect(node.test, False)
        self._decide(node.test, ASSERT)
        self.visit(node.test)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._decide(node.test, BRANCH)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for value in node.values[:-1]:
            self._decide(value, BRANCH)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self._decide(node.operand, BRANCH)
        self.generic_visit(node)

    def _decide(self, test: ast.expr, number: str) -> None:
        if isinstance(test, ast.BoolOp):
            self._decide(test.values[-1], number)  # the others are looked at where they are
            return
        kind = None if id(test) in self._expected else self.types.of(test)
        if kind == TENSOR:
            self._add(number, test)
        elif kind == NUMBER:
            self._add(NUMBER_DECISION, test, origin="a number that is known only when it runs")

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        for target in node.targets:
            self.types.assign(target, node.value)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)
            self.types.assign(node.target, node.value)

    def visit_For(self, node: ast.For) -> None:
        self._loop(node.iter)
        self.visit(node.iter)
        if isinstance(node.target, ast.Name):
            is_tensor = self.types.of(node.iter) == TENSOR
            self.types.names[node.target.id] = TENSOR if is_tensor else None
        self._visit_all([*node.body, *node.orelse])

    def _loop(self, over: ast.expr) -> None:
        """A loop over as many elements as the data has of something."""
        if self.types.has_size_of_data(over):
            self._add(
                NUMBER_DECISION, over, origin=f"the number of elements of {ast.unparse(over)}"
            )

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self._loop(node.iter)
        self.generic_visit(node)

    # ---- expressions

    def visit_Compare(self, node: ast.Compare) -> None:
        for op, other in zip(node.ops, node.comparators):
            if isinstance(op, (ast.In, ast.NotIn)) and self.types.of(other) == TENSOR:
                self._add(BRANCH, node)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        self._call(node)
        self.generic_visit(node)

    def _call(self, node: ast.Call) -> None:
        called = self.file.dotted(node.func)
        self._pass_on(called, node)
        if called in _NAMED:
            self._add(_NAMED[called], node, operator=called, function=called)
        elif called in _COMPARING | {"bool", "print"} and called not in self.file.functions:
            self._builtin(called, node)
        elif isinstance(node.func, ast.Attribute) and self.types.of(node.func.value) == TENSOR:
            if node.func.attr in _METHODS:
                name = node.func.attr
                self._add(_METHODS[name], node, attribute=name, operator=name, method=name)
        elif called.partition(".")[0] in self.file.loggers:
            self._run_by_python(node, "logging.Logger." + called.rpartition(".")[2])
        elif called.partition(".")[0] in _ASKED:
            self._run_by_python(node, called)

    def _pass_on(self, called: str, node: ast.Call) -> None:
        """A function of the file that gets a tensor has one in that parameter."""
        skip = 0
        if called.startswith("self."):
            called, skip = f"{self.name.rpartition('.')[0]}.{called[5:]}", 1
        function = self.file.functions.get(called)
        if function is None:
            return
        names = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)][skip:]
        given = dict(zip(names, node.args))
        given |= {one.arg: one.value for one in node.keywords if one.arg}
        tensors = {name for name, value in given.items() if self.types.of(value) == TENSOR}
        if tensors:
            self.known.setdefault(called, set()).update(tensors)

    def _builtin(self, name: str, node: ast.Call) -> None:
        if TENSOR not in {self.types.of(arg) for arg in node.args}:
            return
        if name == "print":
            arguments = ", ".join(ast.unparse(arg) for arg in node.args)
            self._add(BUILTIN, node, builtin=name, arguments=arguments)
        elif name == "bool" or len(node.args) > 1:
            self._add(BRANCH, node)

    def _run_by_python(self, node: ast.Call, name: str) -> None:
        number = None if name in DRAWN else number_of(name)
        if number is not None:
            module, _, plain = name.rpartition(".")
            fields = {"function": name, "module": module, "qualname": plain, "method": plain}
            self._add(number, node, reason=reason_of(name), object=module, **fields)


def _resolve(name: str) -> Any:
    """The object of a dotted name of a package that may be asked; None if there is none."""
    parts = name.split(".")
    for end in range(len(parts) - 1, 0, -1):
        try:
            value: Any = importlib.import_module(".".join(parts[:end]))
            for part in parts[end:]:
                value = getattr(value, part)
            return value
        except (ImportError, AttributeError):
            continue
    return None


_numbers: dict[str, tuple[str | None, str]] = {}


def _ask(name: str) -> tuple[str | None, str]:
    """The number of the break at a call of `name`, and the rule's reason; (None, "") if none."""
    if name not in _numbers:
        _numbers[name] = (None, "")
        real = _resolve(name)
        if callable(real) and not isinstance(real, type):
            verdict = rules.lookup(real)
            if verdict.kind is rules.RUN:
                _numbers[name] = (_number(real, verdict), verdict.reason)
    return _numbers[name]


def _number(real: Callable[..., Any], verdict: Any) -> str:
    owner = getattr(real, "__self__", None)
    if owner is not None and not isinstance(owner, (types_.ModuleType, type)):
        return objects.UNKNOWN_METHOD.number  # a method of an object that lives outside
    return unmodelled.reason(real, verdict, []).number


def _raises(body: list[ast.stmt]) -> bool:
    """Whether a block does nothing but raise."""
    return bool(body) and isinstance(body[-1], ast.Raise)


def number_of(name: str) -> str | None:
    return _ask(name)[0]


def reason_of(name: str) -> str:
    return _ask(name)[1]


def walk(
    file: File, functions: dict[str, Function], path: str, lines: list[str]
) -> Iterator[Finding]:
    """The findings of these functions, each once."""
    known: Known = {}
    while True:  # until no call says more about a parameter than is known already
        before = {name: set(names) for name, names in known.items()}
        found = [
            one
            for name, function in functions.items()
            for one in Walker(file, name, function, path, known).run(function, lines)
        ]
        if known == before:
            break
    seen = set()
    for one in found:
        key = (one.number, one.line, one.column)
        if key not in seen:
            seen.add(key)
            yield one
