"""`torch.compile(dynamic_shapes=...)`: which sizes and ints change, said for each argument. Run on
torch 2.13, the first with this argument (named `shapes_spec` there), and on 2.15.

A ShapeVar makes a size a symbol with its range, as `mark_dynamic` does, an IntVar an int;
everything else is a constant. What cannot be said by a mark is refused: sizes derived from others,
assumptions, and specifications of what lies inside of arguments.
"""

from __future__ import annotations

import inspect
from typing import Any

import torch

from suture.dynamic import DimRange, Marks
from suture.errors import UserError


def read(spec: Any, model: Any) -> dict[str, Marks | None]:
    """What `spec` says about the arguments of `model`, by their paths: marks of a tensor, None for
    an int that is a symbol. UserError where it says more than suture can do."""
    from torch.fx.experimental import dynamic_spec as theirs

    if not isinstance(spec, theirs.ShapesSpec):
        spec = theirs.ShapesSpec(spec)
    if spec.assumptions:
        raise _refused("assumptions", "use torch._check in the program")
    params = spec._params
    if params is None:
        return {}
    if params._varargs is not None or params._varkw is not None:
        raise _refused("*args and **kwargs", "name the parameters, or use mark_dynamic")
    is_module = isinstance(model, torch.nn.Module)
    names = list(inspect.signature(model.forward if is_module else model).parameters)
    found: dict[str, Marks | None] = {}
    for name, value in params._named_args.items():
        if name not in names:
            raise UserError(f"dynamic_shapes names {name!r}, which is no parameter: {names}")
        mark = _mark(name, value, theirs)
        paths = [f"L[{name!r}]"]
        if is_module:  # its call hands on what it gets
            paths = [f"L['args'][{names.index(name)}]", f"L['kwargs'][{name!r}]"]
        found.update(dict.fromkeys(paths, mark))
    return {path: mark for path, mark in found.items() if mark is not _CONSTANT}


_CONSTANT = Marks({}, frozenset(), frozenset(), {})


def _mark(name: str, value: Any, theirs: Any) -> Marks | None:
    if value is None or type(value) is int:
        return _CONSTANT
    if isinstance(value, theirs.IntVar):
        if value.min is not None or value.max is not None:
            raise _refused(f"the range of the int {name!r}", "use torch._check in the program")
        return None
    if not isinstance(value, theirs.TensorSpec):
        raise _refused(f"{type(value).__name__} for {name!r}", "use mark_dynamic on its tensors")
    dynamic = {}
    for dim, size in enumerate(value):
        if isinstance(size, theirs.IntVar):
            low = size.min if size.min else None  # a size is not negative anyway
            dynamic[dim] = DimRange(dim, low, size.max)
        elif size is not None and type(size) is not int:
            raise _refused(f"the derived size {dim} of {name!r}", "name it by a ShapeVar")
    static = frozenset(range(len(value))) - set(dynamic)
    return Marks(dynamic, frozenset(), static, {})


def _refused(what: str, instead: str) -> UserError:
    return UserError(f"dynamic_shapes: suture does not take {what}; {instead}")
