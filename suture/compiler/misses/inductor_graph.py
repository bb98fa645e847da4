"""What Inductor made of a graph, in a form that runs without Inductor.

Its generated module is cut down to the class that runs the graph and the names this needs. Kernels
for processors are libraries of their own, those of Triton are binaries with a description of their
launch; operations that are called by name are torch's. Anything else that the code needs of
Inductor (large constants, partitions) is refused.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeGuard

import torch

from suture.runtime.callers.extern import IMPORTED
from suture.runtime.store.literals import Unstorable
from suture.runtime.store.tensor_constants import encode_tensor
from suture.torch_private import dtensor_parts, inductor_code
from suture.torch_private.kernel_libraries import part_of

_DROPPED = ("get_args", "benchmark_compiled_module", "recursively_apply_fns")
_MOST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class Generated:
    """Inductor's code for a graph, cut down, and what it needs, by the names that it has there:
    kernels (their library and part), kernels of Triton, constants (as JSON), meshes, operations of
    Inductor's table. `checked` are inputs that must begin where kernels expect it, `written` those
    of them that it writes."""

    code: str
    kernels: dict[str, tuple[bytes, str]]
    launched: dict[str, Any]
    constants: dict[str, Any]
    meshes: dict[str, Any]
    extern: dict[str, Any]
    operations: list[str]
    checked: list[int]
    written: list[int]


def describe_code(call: Callable[..., Any]) -> Generated:
    """The generated code of a graph; raises Unstorable if it needs more of Inductor."""
    call, checked, written = inductor_code.within_alignment(call)
    owner = getattr(call, "__self__", None)
    if type(owner).__name__ != "Runner" or getattr(owner, "partitions", None):
        raise Unstorable("Inductor has put something around its code, or cut it in parts")
    namespace = inspect.unwrap(call).__globals__
    path = namespace.get("__file__")
    if type(path) is not str or not path.endswith(".py"):
        raise Unstorable("Inductor's code has no file")
    made = _cut_down(Path(path).read_text(encoding="utf-8"), namespace)
    return replace(made, checked=checked, written=written)


def _cut_down(text: str, namespace: dict[str, Any]) -> Generated:
    kept: list[ast.stmt] = []
    theirs: set[str] = set()  # names that are imported from Inductor and Triton
    kernels: dict[str, tuple[bytes, str]] = {}
    launched: dict[str, Any] = {}
    constants: dict[str, Any] = {}
    for node in ast.parse(text).body:
        name = _target(node)
        if isinstance(node, (ast.If, ast.Delete)) or name in (*_DROPPED, "async_compile"):
            continue
        if _is_of_compilers(node):
            theirs |= {(one.asname or one.name).split(".")[0] for one in node.names}
            continue
        if isinstance(node, ast.Expr) and "async_compile.wait" in ast.unparse(node):
            continue
        if isinstance(node, ast.Assign) and "async_compile" in ast.unparse(node.value)[:14]:
            made_by = ast.unparse(node.value).partition("(")[0]
            if name is None or made_by not in _COMPILED:
                raise Unstorable(f"the graph has kernels of {made_by}")
            if made_by == "async_compile.triton":
                launched[name] = namespace.get(name)
            else:
                kernels[name] = _library(namespace.get(name))
            continue
        if name is not None and isinstance(namespace.get(name), torch.Tensor):
            constants[name] = encode_tensor(namespace[name])  # was put there when it was loaded
            continue
        if name is not None and dtensor_parts.mesh_held(namespace.get(name)) is not None:
            continue  # likewise
        kept.append(node)
    tree = ast.Module(_needed(kept), [])
    own = {name for node in tree.body if (name := _target(node)) is not None}
    for part in ast.walk(tree):
        if isinstance(part, ast.Name) and part.id in theirs - own - {"extern_kernels", *IMPORTED}:
            raise Unstorable(f"the code calls {part.id} of Inductor")
    meshes, code = _meshes(tree, namespace), ast.unparse(tree)
    extern, operations = _asked_of_torch(tree)
    return Generated(code, kernels, launched, constants, meshes, extern, operations, [], [])


def _meshes(tree: ast.Module, namespace: dict[str, Any]) -> dict[str, Any]:
    """The meshes that the code names: they were put there when it was loaded."""
    named = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}
    found = {name: dtensor_parts.mesh_held(namespace.get(name)) for name in sorted(named)}
    return {name: mesh for name, mesh in found.items() if mesh is not None}


_COMPILED = ("async_compile.cpp_pybinding", "async_compile.triton")


def _is_of_compilers(node: ast.stmt) -> TypeGuard[ast.Import | ast.ImportFrom]:
    """Whether a statement imports Triton, or something of Inductor."""
    if isinstance(node, ast.ImportFrom):
        return str(node.module).startswith(("torch._inductor", "triton"))
    return isinstance(node, ast.Import) and all(one.name.startswith("triton") for one in node.names)


def _target(node: ast.stmt) -> str | None:
    """The name that a statement defines."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return node.name
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return None


def _needed(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements on which `call` depends, imports aside."""
    wanted, kept = {"call"}, []
    for node in reversed(body):
        name = _target(node)
        if name is not None and name not in wanted:
            continue
        if name is not None:
            wanted |= {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
        kept.append(node)
    return kept[::-1]


def _library(kernel: Any) -> tuple[bytes, str]:
    """The library that a kernel is in, and its part there."""
    found = part_of(kernel)
    if found is None:
        raise Unstorable("a kernel is in no library")
    data = Path(found[0]).read_bytes()
    if len(data) > _MOST_BYTES:
        raise Unstorable("a kernel is too large")
    return data, found[1]


def _asked_of_torch(tree: ast.Module) -> tuple[dict[str, Any], list[str]]:
    """Operations that the code names: of Inductor's table by name, and paths below torch.ops."""
    extern, operations = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            text = ast.unparse(node)
            if text.startswith("extern_kernels.") and text.count(".") == 1:
                extern.add(node.attr)
            elif text.startswith("torch.ops.") and text.count(".") in (3, 4):
                operations.add(text)
    table = inductor_code.extern_kernels()
    called = {one: getattr(table, one) for one in sorted(extern)}
    return called, sorted(operations)
