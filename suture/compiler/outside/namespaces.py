"""Global variables, attributes of modules, cells and imports."""

from __future__ import annotations

import builtins
import sys
import types
from typing import Any

from suture.breaks import Break, objects, python
from suture.bytecode.language import is_lazy_import
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Frame, Trace, Value
from suture.compiler.objects import Cell, Constant, Dict, Lazy, Module, Raise, Raised, module_
from suture.compiler.objects import cell as cells
from suture.compiler.objects.lookup import MISSING, find_in_mro, is_data_descriptor
from suture.compiler.objects.methods import run_method
from suture.runtime.sources import Source


@implements(module_.module_attribute)
def module_attribute(trace: Trace, module: Module, name: str) -> Value:
    kind = type(module.value)
    if kind is not types.ModuleType:
        own = abstract.type_lookup(trace, kind, "__getattribute__")
        raw = find_in_mro(kind, name)
        if is_data_descriptor(raw) and not isinstance(own, types.FunctionType):
            if isinstance(find_in_mro(type(raw), "__get__"), types.FunctionType):
                return abstract.bind(
                    trace, abstract.type_lookup(trace, kind, name), module, kind, name
                )
        if isinstance(own, types.FunctionType) or is_data_descriptor(raw):
            raise Break(objects.UNKNOWN_ATTRIBUTE, object=module.describe(), attribute=name)
    namespace = types.ModuleType.__getattribute__(module.value, "__dict__")
    if not isinstance(namespace, dict):  # the class says something else
        raise Break(objects.UNKNOWN_ATTRIBUTE, object=module.describe(), attribute=name)
    value: Value | None
    changed, value = trace.effects.load_global(namespace, name)
    if not changed:
        changed, value = _in_changed_dict(trace, namespace, name)
    if changed and value is not None:
        return value
    source = abstract.pinned(trace, namespace, module.describe())
    if name == "__dict__":
        return abstract.wrap(trace, namespace, source)
    if changed:
        return _without_attribute(trace, module, name)
    if name in namespace:
        return _held(trace, namespace, name, source)
    try:
        value = getattr(module.value, name)
    except AttributeError as error:
        trace.guards.add(source, "no_key", name)
        return abstract.raise_(trace, AttributeError, *error.args)
    if namespace.get(name) is value:  # lazy modules keep what was asked for once
        return abstract.wrap(trace, value, source.item(name))
    trace.guards.add(source, "no_key", name)
    return abstract.wrap(trace, value, module.known_source.attr(name))


def _without_attribute(trace: Trace, module: Any, name: str) -> Value:
    """An attribute of a module that the region has deleted, or that was never in its dict."""
    by_class = find_in_mro(type(module.value), name) is not MISSING
    if by_class or hasattr(module.value, "__getattr__"):
        raise Break(objects.UNKNOWN_ATTRIBUTE, object=module.describe(), attribute=name)
    own = module.value.__name__
    return abstract.raise_(trace, AttributeError, f"module {own!r} has no attribute {name!r}")


@implements(module_.set_module_attribute)
def set_module_attribute(trace: Trace, module: Module, name: str, value: Any) -> None:
    kind: Any = type(module.value)
    raw = find_in_mro(kind, name)
    plain = kind.__setattr__ is types.ModuleType.__setattr__
    if plain and not hasattr(kind, name):
        namespace = types.ModuleType.__getattribute__(module.value, "__dict__")
        if not isinstance(namespace, dict):
            raise Break(
                objects.MUTATION_OF_UNKNOWN, operation=f"set {name}", object=module.describe()
            )
        store_global(trace, namespace, name, value)
        return
    setter = find_in_mro(type(raw), "__set__")
    if not plain or not isinstance(setter, types.FunctionType):
        operation = f"set {name}"
        raise Break(objects.MUTATION_OF_UNKNOWN, operation=operation, object=module.describe())
    given = [abstract.wrap(trace, abstract.type_lookup(trace, kind, name), None), module, value]
    abstract.call(trace, abstract.wrap(trace, setter, None), given, {})


def load_global(trace: Trace, namespace: dict[str, Any], name: str) -> Value:
    """A global variable, then a builtin."""
    value: Value | None
    changed, value = trace.effects.load_global(namespace, name)
    if not changed:
        changed, value = _in_changed_dict(trace, namespace, name)
    if changed and value is not None:
        return value
    module = namespace.get("__name__", "globals")
    source = abstract.pinned(
        trace, namespace, f"G[{module!r}]" if not isinstance(module, str) else module
    )
    if name in namespace and not changed:
        return _held(trace, namespace, name, source)
    if not changed:
        trace.guards.add(source, "no_key", name)
    table = namespace.get("__builtins__", builtins)
    table = table.__dict__ if isinstance(table, types.ModuleType) else table
    replaced, value = trace.effects.load_global(table, name)
    if not replaced:
        replaced, value = _in_changed_dict(trace, table, name)
    if replaced and value is not None:
        return value
    if name in table and not replaced:
        return abstract.wrap(
            trace, table[name], abstract.pinned(trace, table, "builtins").item(name)
        )
    if not replaced:
        trace.guards.add(abstract.pinned(trace, table, "builtins"), "no_key", name)
    made = Raise(NameError, [Constant(f"name '{name}' is not defined")])
    made.attrs["name"] = Constant(name)
    raise Raised(abstract.with_context(trace, made))


def _held(trace: Trace, namespace: dict[str, Any], name: str, source: Source) -> Value:
    """What a namespace holds under a name. What is to be imported yet Python imports."""
    value = namespace[name]
    if is_lazy_import(value):
        raise Break(python.IMPORT, module=name)
    return abstract.wrap(trace, value, source.item(name))


def store_global(trace: Trace, namespace: dict[str, Any], name: str, value: object) -> None:
    """Set a global variable; value None deletes it. Where the program has the namespace as a
    dict, that dict is changed."""
    held = _as_dict(trace, namespace)
    if held is None:
        trace.effects.store_global(namespace, name, value)
    else:
        _store(trace, held, name, value)


def move_globals(trace: Trace, namespace: dict[str, Any], held: Dict) -> None:
    """What the region has set of a namespace goes into the dict that stands for it from now."""
    moved = [key for key, (space, _) in trace.effects.globals.items() if space is namespace]
    for key in moved:
        _store(trace, held, key[1], trace.effects.globals.pop(key)[1])


def _in_changed_dict(
    trace: Trace, namespace: dict[str, Any], name: str
) -> tuple[bool, Value | None]:
    """The same where the program has changed the namespace as a dict: globals()["x"] = 1."""
    held = _as_dict(trace, namespace)
    if held is None or not held.changed:
        return False, None
    return True, held.get(trace, Constant(name))


def _as_dict(trace: Trace, namespace: dict[str, Any]) -> Dict | None:
    """The value of a namespace that the program has looked at as a dict."""
    known = trace.outside.known.get(id(namespace))
    held = known[1] if known is not None else None
    return held if isinstance(held, Dict) else None


def frame_cell(trace: Trace, frame: Frame, slot: int) -> Cell:
    cell = frame.locals[slot]
    if type(cell) is Lazy:
        if isinstance(cell.value, types.CellType):
            cell = cells.wrap_cell(trace, cell.value, cell.source)
        else:
            cell = abstract.realize(trace, cell)
        frame.locals[slot] = cell
    if isinstance(cell, Cell):
        return cell
    made = frame.locals[slot] = Cell(cell)
    return made


@implements(cells.load_cell)
def load_cell(trace: Trace, cell: Cell) -> Value | None:
    if type(cell.contents) is Lazy:
        cell.contents = abstract.realize(trace, cell.contents)
    return cell.contents


# ---- imports


def import_name(trace: Trace, name: str, fromlist: tuple[str, ...] | None, level: int) -> Value:
    """`import name`: free if the module is loaded already, else Python does it."""
    namespace = trace.frames[-1].fn.globals
    full = name
    if level:
        package = namespace.get("__package__") or namespace.get("__name__", "")
        parts = package.split(".")
        base = ".".join(parts[: len(parts) - level + 1])
        full = f"{base}.{name}" if name else base
    found = sys.modules.get(full)
    if found is None or "__import__" in namespace or _modules_changed(trace):
        raise Break(python.IMPORT, module=full)
    if not isinstance(found, types.ModuleType):
        return _import_object(trace, found, full, fromlist)  # type: ignore[unreachable]
    if not fromlist and not level:
        top = sys.modules.get(full.partition(".")[0])
        if top is None:
            raise Break(python.IMPORT, module=full)
        found = top
    for item in fromlist or ():
        if is_lazy_import(vars(found).get(item)):
            raise Break(python.IMPORT, module=f"{full}.{item}")
        if item != "*" and not hasattr(found, item) and f"{full}.{item}" not in sys.modules:
            raise Break(python.IMPORT, module=f"{full}.{item}")
    return abstract.wrap(
        trace, found, abstract.pinned(trace, sys.modules, "sys.modules").item(found.__name__)
    )


def _modules_changed(trace: Trace) -> bool:
    """Whether the region has put modules into `sys.modules` or taken them out."""
    _, table = trace.outside.known.get(id(sys.modules), (None, None))
    return bool(getattr(table, "changed", False))


def _import_object(
    trace: Trace, found: object, full: str, fromlist: tuple[str, ...] | None
) -> Value:
    """Programs may file any object as a module."""
    if "." in full and not fromlist:
        raise Break(python.IMPORT, module=full)
    return abstract.wrap(
        trace, found, abstract.pinned(trace, sys.modules, "sys.modules").item(full)
    )


def import_from(trace: Trace, module: Value, name: str) -> Value:
    kind = type(module.real())
    if not issubclass(kind, types.ModuleType) and _answers_itself(kind):
        raise Break(python.IMPORT, module=name)  # asking twice would run its code twice
    if hasattr(module.real(), name):
        return abstract.getattr(trace, module, name)
    inner = sys.modules.get(f"{module.real().__name__}.{name}")
    if inner is None:
        return abstract.raise_(
            trace, ImportError, f"cannot import name {name!r} from {module.real().__name__!r}"
        )
    return abstract.wrap(trace, inner, None)


def _answers_itself(kind: type) -> bool:
    """Whether code in Python says what attributes objects of a class have."""
    own = find_in_mro(kind, "__getattribute__")
    return isinstance(own, types.FunctionType) or find_in_mro(kind, "__getattr__") is not MISSING


def frame_annotations(trace: Trace, value: object) -> Value:
    """The annotations of a function made while tracing: a tuple of names and values."""
    parts = abstract.unpack(trace, value)
    pairs = zip(parts[::2], parts[1::2])
    return Dict({abstract.constant_value(trace, k): (k, v) for k, v in pairs})


def none(trace: Trace) -> Constant:
    return Constant(None)


def _store(trace: Trace, namespace: Dict, name: str, value: object) -> None:
    if value is None:
        run_method(trace, namespace, "__delitem__", Constant(name))
    else:
        run_method(trace, namespace, "__setitem__", Constant(name), value)


def looks_at_locals(fn: object) -> bool:
    """Whether a function, or one that it wraps, reads the local variables of frames: of those that
    call it, which a variant does not have."""
    for _ in range(_WRAPPERS):
        if type(fn) is not types.FunctionType:  # reads `__class__` of no object of the program
            return False
        if "f_locals" in fn.__code__.co_names:
            return True
        fn = fn.__dict__.get("__wrapped__")
    return False


_WRAPPERS = 8
