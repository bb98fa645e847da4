"""A compiled nn.Module: the same module for the user, with another way of being called.

The compiled object shares the original's `__dict__`, so parameters, buffers, hooks, attributes
and `training` are one and the same; its class is a subclass made for it that differs in
`__call__`, in `forward` and the like, and says it is the original class. What libraries look for on
a module that torch.compile made (`_orig_mod`, `dynamo_ctx`) is there too.

Its class can be replaced, as `fully_shard`, `replicate` and `parametrize` do it, on the compiled
object or on the original: that is the class of both from then on. The two are equal and have one
hash, because libraries keep what they know of a module in dicts by module.
"""

from __future__ import annotations

import copy
import types
from collections.abc import Callable
from typing import Any

import torch

from suture import _core


def compile_module(module: torch.nn.Module, call: Callable[..., Any], again: Any) -> Any:
    """The compiled counterpart of `module`. `call` takes the module and its arguments; `again`
    compiles another module, or a function, the same way."""
    cls: Any = type(module)
    if isinstance(getattr(cls, "_suture_original", None), torch.nn.Module):
        module, cls = cls._suture_original, cls._suture_class
    body = {
        "__call__": types.MethodType(call, module),
        "forward": _Method(module, again, "forward"),
        **{name: _Method(module, again, name) for name in _also_called(cls)},
        "_orig_mod": property(lambda self: module),
        "_torchdynamo_orig_callable": property(lambda self: module.forward),
        "dynamo_ctx": property(lambda self: again),
        "__class__": property(_class_of, _replace_class),
        "__getattr__": _late_attribute,
        "_load_from_state_dict": _load_from_state_dict,
        "__reduce_ex__": lambda self, protocol: module.__reduce_ex__(protocol),
        "__deepcopy__": lambda self, memo: again(copy.deepcopy(module, memo)),
        "__copy__": lambda self: again(copy.copy(module)),
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "__doc__": cls.__doc__,
        "_suture_original": module,
        "_suture_class": cls,
        "_suture_compiled": call,
        "_suture_again": staticmethod(again),
    }
    compares = any(
        ("__eq__" in vars(kind) or "__hash__" in vars(kind)) for kind in cls.__mro__[:-1]
    )
    if not compares:
        body["__eq__"] = _is_same_module
        body["__hash__"] = lambda self: hash(module)
    made_class = types.new_class(cls.__name__, (cls,), {}, lambda namespace: namespace.update(body))
    made = object.__new__(made_class)  # type: ignore[var-annotated]
    # From Python 3.13 on a store to an attribute may bypass the dict and those who watch it. That
    # can be changed while nobody holds the dict, unseen: no key of it is moved.
    vars(module)  # there is one from now on
    _core.own_table(module)
    object.__setattr__(made, "__dict__", module.__dict__)
    return made


# ---- the class of a compiled module

_SET_CLASS = vars(object)["__class__"].__set__


def _class_of(made: Any) -> type:
    """The class that a compiled module says it has: the original's, also where that was replaced
    behind its back."""
    module = type(made)._suture_original
    if type(module) is not type(made)._suture_class:
        _follow_class(made)
    return type(module)


def _replace_class(made: Any, cls: type) -> None:
    """`compiled.__class__ = cls`: both objects get it, or neither and CPython's own error."""
    type(made)._suture_original.__class__ = cls
    _follow_class(made)


def _follow_class(made: Any) -> None:
    """Compile the call anew: another class may have another one, and other blocks of that class
    share what it compiles."""
    kind = type(made)
    _SET_CLASS(made, type(kind._suture_again(kind._suture_original)))


def _late_attribute(made: Any, name: str) -> Any:
    """An attribute that was not found: perhaps the original's class is another one by now."""
    kind = type(made)
    if type(kind._suture_original) is not kind._suture_class:
        _follow_class(made)
        return getattr(made, name)
    return super(kind, made).__getattr__(name)


def _load_from_state_dict(made: Any, state: Any, prefix: str, *rest: Any) -> None:
    """Take names with the prefix that torch.compile's modules have in them for the module's own, so
    that a checkpoint of one is loaded. `state` is a copy made for this loading."""
    kind = type(made)
    wrapped = f"{prefix}{_WRAPPED}"
    if _WRAPPED[:-1] not in made._modules:
        for name in [name for name in state if name.startswith(wrapped)]:
            state.setdefault(prefix + name.removeprefix(wrapped), state[name])
            del state[name]
    super(kind, made)._load_from_state_dict(state, prefix, *rest)


_WRAPPED = "_orig_mod."


def _is_same_module(made: Any, other: object) -> Any:
    module = type(made)._suture_original
    if other is made or getattr(type(other), "_suture_original", other) is module:
        return True
    return NotImplemented


class _Method:
    """A method of a compiled module that is compiled too, when it is first asked for. `forward` is
    called without the module's hooks, as in eager mode. One that is set belongs to the module, as
    it always did."""

    def __init__(self, module: torch.nn.Module, again: Any, name: str) -> None:
        self._module = module
        self._again = again
        self._name = name
        self._made: tuple[Any, Any] = (None, None)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        plain = getattr(self._module, self._name)
        known, made = self._made
        if known != plain:
            made = self._again(plain)
            self._made = (plain, made)
        return made

    def __set__(self, instance: Any, value: Any) -> None:
        self._module.__dict__[self._name] = value

    def __delete__(self, instance: Any) -> None:
        try:
            del self._module.__dict__[self._name]
        except KeyError:
            raise AttributeError(self._name) from None


# Methods that a library calls where another would call the module, by the class that its modules
# derive from. Lightning has them compiled if it is given what torch.compile made, by a wrapper of
# torch's that compiled modules here do not have.
_STEPS = {"LightningModule": ("training_step", "validation_step", "test_step", "predict_step")}


def _also_called(cls: type) -> list[str]:
    """The methods of these that a class of the program's has written itself."""
    written: list[str] = []
    for kind in cls.__mro__:
        if kind.__name__ in _STEPS:
            return [name for name in _STEPS[kind.__name__] if name in written]
        written += vars(kind)
    return []


def compiled_of(obj: Any) -> Any:
    """The compiled function behind a compiled module or method, or the object itself."""
    found = getattr(type(obj), "_suture_compiled", None)
    if found is not None:
        return found
    return obj.__func__ if isinstance(obj, types.MethodType) else obj
