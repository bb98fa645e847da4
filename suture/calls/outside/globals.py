"""Global variables, attributes of modules, cells and imports."""

from __future__ import annotations

import builtins
import sys
import types
from typing import Any

from suture.breaks import Break, objects, python
from suture.calls.outside.instances import MISSING, find_in_mro, is_data_descriptor
from suture.calls.part import Part
from suture.variables import Cell, Constant, Dict, Lazy, Raise, Raised


class Globals(Part):
    """The part of the tracer that reads names."""

    def module_attribute(self, module: Any, name: str) -> Any:
        """An attribute of a Python module: its dict, then the module's own __getattr__."""
        kind = type(module.value)
        if kind is not types.ModuleType:
            own = self.type_lookup(kind, "__getattribute__")
            raw = find_in_mro(kind, name)
            if is_data_descriptor(raw) and not isinstance(own, types.FunctionType):
                if isinstance(find_in_mro(type(raw), "__get__"), types.FunctionType):
                    return self.bind(self.type_lookup(kind, name), module, kind, name)
            if isinstance(own, types.FunctionType) or is_data_descriptor(raw):
                raise Break(objects.UNKNOWN_ATTRIBUTE, object=module.describe(), attribute=name)
        namespace = types.ModuleType.__getattribute__(module.value, "__dict__")
        changed, value = self.effects.load_global(namespace, name)
        if not changed:
            changed, value = self._in_changed_dict(namespace, name)
        if changed and value is not None:
            return value
        source = self.pinned(namespace, module.describe())
        if name == "__dict__":
            return self.wrap(namespace, source)
        if changed:
            return self._without_attribute(module, name)
        if name in namespace:
            return self.wrap(namespace[name], source.item(name))
        try:
            value = getattr(module.value, name)
        except AttributeError as error:
            self.guards.add(source, "no_key", name)
            return self.raise_(AttributeError, *error.args)
        if namespace.get(name) is value:  # lazy modules keep what was asked for once
            return self.wrap(value, source.item(name))
        self.guards.add(source, "no_key", name)
        return self.wrap(value, module.source.attr(name))

    def _without_attribute(self, module: Any, name: str) -> Any:
        """An attribute of a module that the region has deleted, or that was never in its dict."""
        by_class = find_in_mro(type(module.value), name) is not MISSING
        if by_class or hasattr(module.value, "__getattr__"):
            raise Break(objects.UNKNOWN_ATTRIBUTE, object=module.describe(), attribute=name)
        own = module.value.__name__
        return self.raise_(AttributeError, f"module {own!r} has no attribute {name!r}")

    def set_module_attribute(self, module: Any, name: str, value: Any) -> None:
        """`module.name = value`: in its dict, or as a descriptor in the module's class does it."""
        kind: Any = type(module.value)
        raw = find_in_mro(kind, name)
        plain = kind.__setattr__ is types.ModuleType.__setattr__
        if plain and not hasattr(kind, name):
            namespace = types.ModuleType.__getattribute__(module.value, "__dict__")
            self.store_global(namespace, name, value)
            return
        setter = find_in_mro(type(raw), "__set__")
        if not plain or not isinstance(setter, types.FunctionType):
            operation = f"set {name}"
            raise Break(objects.MUTATION_OF_UNKNOWN, operation=operation, object=module.describe())
        given = [self.wrap(self.type_lookup(kind, name), None), module, value]
        self.call(self.wrap(setter, None), given, {})

    def load_global(self, namespace: dict[str, Any], name: str) -> Any:
        """A global variable, then a builtin."""
        changed, value = self.effects.load_global(namespace, name)
        if not changed:
            changed, value = self._in_changed_dict(namespace, name)
        if changed and value is not None:
            return value
        module = namespace.get("__name__", "globals")
        source = self.pinned(namespace, f"G[{module!r}]" if not isinstance(module, str) else module)
        if name in namespace and not changed:
            return self.wrap(namespace[name], source.item(name))
        if not changed:
            self.guards.add(source, "no_key", name)
        table = namespace.get("__builtins__", builtins)
        table = table.__dict__ if isinstance(table, types.ModuleType) else table
        if name in table:
            return self.wrap(table[name], self.pinned(table, "builtins").item(name))
        self.guards.add(self.pinned(table, "builtins"), "no_key", name)
        made = Raise(NameError, [Constant(f"name '{name}' is not defined")])
        made.attrs["name"] = Constant(name)
        raise Raised(self.with_context(made))

    def store_global(self, namespace: dict[str, Any], name: str, value: Any) -> None:
        """Set a global variable; value None deletes it. Where the program has the namespace as a
        dict, that dict is changed."""
        held = self._as_dict(namespace)
        if held is None:
            self.effects.store_global(namespace, name, value)
        else:
            _store(self, held, name, value)

    def move_globals(self, namespace: dict[str, Any], held: Dict) -> None:
        """What the region has set of a namespace goes into the dict that stands for it from now."""
        moved = [key for key, (space, _) in self.effects.globals.items() if space is namespace]
        for key in moved:
            _store(self, held, key[1], self.effects.globals.pop(key)[1])

    def _in_changed_dict(self, namespace: dict[str, Any], name: str) -> tuple[bool, Any]:
        """The same where the program has changed the namespace as a dict: globals()["x"] = 1."""
        held = self._as_dict(namespace)
        if held is None or not held.changed:
            return False, None
        return True, held.get(self, Constant(name))

    def _as_dict(self, namespace: dict[str, Any]) -> Dict | None:
        """The variable of a namespace that the program has looked at as a dict."""
        known = self._known.get(id(namespace))
        held = known[1] if known is not None else None
        return held if isinstance(held, Dict) else None

    def frame_cell(self, frame: Any, slot: int) -> Cell:
        cell = frame.locals[slot]
        if type(cell) is Lazy:
            if isinstance(cell.value, types.CellType):
                cell = self.wrap_cell(cell.value, cell.source)
            else:
                cell = self.realize(cell)
            frame.locals[slot] = cell
        if isinstance(cell, Cell):
            return cell
        made = frame.locals[slot] = Cell(cell)
        return made

    def load_cell(self, cell: Cell) -> Any:
        """What a cell holds, or None if it is empty."""
        if type(cell.contents) is Lazy:
            cell.contents = self.realize(cell.contents)
        return cell.contents

    # ---- imports

    def import_name(self, name: str, fromlist: Any, level: int) -> Any:
        """`import name`: free if the module is loaded already, else Python does it."""
        namespace = self.frames[-1].fn.globals
        full = name
        if level:
            package = namespace.get("__package__") or namespace.get("__name__", "")
            parts = package.split(".")
            base = ".".join(parts[: len(parts) - level + 1])
            full = f"{base}.{name}" if name else base
        found = sys.modules.get(full)
        if found is None or "__import__" in namespace:
            raise Break(python.IMPORT, module=full)
        if not isinstance(found, types.ModuleType):
            return self._import_object(found, full, fromlist)  # type: ignore[unreachable]
        if not fromlist and not level:
            top = sys.modules.get(full.partition(".")[0])
            if top is None:
                raise Break(python.IMPORT, module=full)
            found = top
        for item in fromlist or ():
            if item != "*" and not hasattr(found, item) and f"{full}.{item}" not in sys.modules:
                raise Break(python.IMPORT, module=f"{full}.{item}")
        return self.wrap(found, self.pinned(sys.modules, "sys.modules").item(found.__name__))

    def _import_object(self, found: Any, full: str, fromlist: Any) -> Any:
        """Programs may file any object as a module."""
        if "." in full and not fromlist:
            raise Break(python.IMPORT, module=full)
        return self.wrap(found, self.pinned(sys.modules, "sys.modules").item(full))

    def import_from(self, module: Any, name: str) -> Any:
        if hasattr(module.real(), name):
            return self.getattr(module, name)
        inner = sys.modules.get(f"{module.real().__name__}.{name}")
        if inner is None:
            return self.raise_(
                ImportError, f"cannot import name {name!r} from {module.real().__name__!r}"
            )
        return self.wrap(inner, None)

    def annotations(self, value: Any) -> Any:
        """The annotations of a function made while tracing: a tuple of names and values."""
        from suture.variables import Dict

        parts = self.unpack(value)
        pairs = zip(parts[::2], parts[1::2])
        return Dict({self.constant_value(k): (k, v) for k, v in pairs})

    def none(self) -> Constant:
        return Constant(None)


def _store(tx: Any, namespace: Dict, name: str, value: Any) -> None:
    if value is None:
        namespace.m___delitem__(tx, Constant(name))
    else:
        namespace.m___setitem__(tx, Constant(name), value)
