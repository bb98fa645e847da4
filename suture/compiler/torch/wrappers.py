"""Wrapper subclasses: tensors with a `__torch_dispatch__` that say which tensors they are made of.

torch makes a fake one of fake inner tensors, so graphs hold them as they are; AOTAutograd takes
them apart. What an operation does with one, its `__torch_dispatch__` says, run on fake tensors as
any kernel is. Guards look at the inner tensors and at what the class says besides (its context).
"""

from __future__ import annotations

import functools
import types
from typing import Any

import torch

from suture import rules
from suture._core import type_name
from suture.breaks import Break, subclasses, tensors
from suture.compiler import abstract
from suture.compiler.abstract import implements
from suture.compiler.core import Trace, Value
from suture.compiler.graph.names import TorchName
from suture.compiler.guards.number_sources import NumberSource
from suture.compiler.language.attributes import MISSING
from suture.compiler.objects import Class, Tensor
from suture.compiler.objects.tensor import known_tensor
from suture.compiler.outside.identity import stays_same
from suture.compiler.outside.inputs import TensorPlan, note_sizes, tensor_plan
from suture.compiler.torch.subclasses import defined_in
from suture.dynamic import NO_MARKS, marks_of
from suture.errors import UserError
from suture.runtime.contexts import SameContext
from suture.runtime.predicates import SameMesh, is_literal
from suture.runtime.sources import Source
from suture.torch_private import distributed_parts, symbolic_shapes, tensor_parts
from suture.torch_private.tensor_parts import is_traceable_wrapper_subclass

_HOW = ("__tensor_flatten__", "__tensor_unflatten__")


def is_wrapper_class(kind: type) -> bool:
    """Whether tensors of that class tell their inner tensors."""
    own = kind.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__  # type: ignore[attr-defined]
    return own and all(hasattr(kind, name) for name in _HOW)


@functools.cache
def torch_function_in_graph(kind: type) -> bool:
    """Whether a wrapper's `__torch_function__` is not traced (a rule says so): it is called by the
    nodes of the graph, as it is in eager."""
    if not issubclass(kind, torch.Tensor) or not is_wrapper_class(kind):
        return False
    override = getattr(getattr(kind, "__torch_function__", None), "__func__", None)
    return isinstance(override, types.FunctionType) and rules.lookup(override).kind is rules.RUN


def inner_tensors(value: Any) -> dict[str, torch.Tensor]:
    """The tensors that a wrapper is made of, by name."""
    parts = {name: getattr(value, name) for name in value.__tensor_flatten__()[0]}
    return {name: part for name, part in parts.items() if isinstance(part, torch.Tensor)}


def wrap_wrapper(trace: Trace, value: torch.Tensor, source: Source) -> Tensor:
    """A wrapper from outside: one input of the graph. What its class says of it is code of the
    program, which may fail."""
    try:
        return _wrap_wrapper(trace, value, source)
    except (Break, UserError):
        raise
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        raise Break(tensors.FAKE_UNSUPPORTED, tensor=source.path(), error=text) from error


def _wrap_wrapper(trace: Trace, value: torch.Tensor, source: Source) -> Tensor:
    meet_wrapper(trace, type(value))
    _refuse_inner(trace, value, source)
    context = _wrapper_context(trace, value, source)
    fake = abstract.fake_input(trace, _no_view(value), source, context)
    _guard_wrapper(trace, value, fake, source)
    for i, size in enumerate(fake.shape):
        if symbolic_shapes.is_ragged(size) and fake.requires_grad:
            # AOTAutograd wants to see the size that is no number come in
            trace.graph.add_input(source.call(_SIZES[i]), value.shape[i], size, kept=True)
    static = abstract.is_fixed(trace, source) and stays_same(trace, source, value)
    if static:
        trace.guards.add(source, "is", value)
    node = trace.graph.add_input(source, value, fake, static=static)
    return Tensor(node, fake, source, type(value), value)


def meet_wrapper(trace: Trace, kind: type) -> None:
    """Operations on wrappers, while tracing and in the graph, call no `__torch_function__` that
    was traced."""
    abstract.meet_subclass(trace, kind)
    if torch_function_in_graph(kind):
        trace.graph.calls_torch_function = True
    else:
        trace.graph.torch_function_off = True


def _refuse_inner(trace: Trace, value: object, source: Source) -> None:
    for name, inner in inner_tensors(value).items():
        part_source = source.attr(name)
        if is_traceable_wrapper_subclass(inner):
            _refuse_inner(trace, inner, part_source)
        else:
            abstract.refuse_tensor(trace, inner, part_source, type(inner))


def _wrapper_context(trace: Trace, value: Any, source: Source, around: Any = None) -> Any:
    """Which of its sizes are symbols, or None if all are constants. A mark on the wrapper is
    one on inner tensors of as many dimensions."""
    marks = marks_of(value) or around or NO_MARKS
    plan = tensor_plan(trace, value, source, marks, _ragged_sizes(value, value))
    inner, moving = {}, plan.context is not None
    for name, part in inner_tensors(value).items():
        part_source = source.attr(name)
        above = marks if part.dim() == value.dim() else NO_MARKS
        if is_traceable_wrapper_subclass(part):
            context = _wrapper_context(trace, part, part_source, above)
        else:
            ragged = _ragged_sizes(value, part)
            marked = NO_MARKS if ragged else marks_of(part) or above
            context = tensor_plan(trace, part, part_source, marked, ragged).context
        moving = moving or context is not None
        inner[name] = (part, part_source, context)
    if not moving:
        return None
    contexts = {n: _context_of(p, at, c) for n, (p, at, c) in inner.items()}
    outer = plan.context if plan.context is not None else symbolic_shapes.static_context(value)
    return symbolic_shapes.wrapper_context(TorchName(source.path()), outer, contexts)


def _guard_wrapper(
    trace: Trace, value: Any, fake: torch.Tensor, source: Source, part: bool = False
) -> None:
    plan = TensorPlan(None, NO_MARKS if value.is_nested or part else marks_of(value))
    trace.guards.add(source, "tensor", plan.spec(value, fake))
    note_sizes(trace, fake, source, plan)
    if part:
        first = trace.outside.inner_sources.setdefault(id(value), source)
        if first is not source:
            trace.guards.add(source, "same", first)
    if not is_traceable_wrapper_subclass(value):
        return
    for i, size in symbolic_shapes.size_symbols(trace.graph.shape_env, source.path()):
        if isinstance(size, torch.SymInt):
            trace.numbers.number_sources.append(
                NumberSource(source, "size", i, size, plan.marks.dynamic.get(i))
            )
    names, context = value.__tensor_flatten__()
    same = SameContext(names, context)
    if not same(value):
        error = "what __tensor_flatten__ says of it besides its tensors cannot be compared"
        raise Break(tensors.FAKE_UNSUPPORTED, tensor=source.path(), error=error)
    trace.guards.add(source, "truth", same)
    parts = list(names)
    if distributed_parts.is_dtensor(value) and "device_mesh" not in parts:
        parts.append("device_mesh")  # torch 2.11: in the context, which compares it without groups
    for name in parts:
        inner = getattr(value, name), getattr(fake, name)
        if isinstance(inner[0], torch.Tensor):
            _guard_wrapper(trace, *inner, source.attr(name), True)
        elif distributed_parts.is_mesh(inner[0]):
            trace.guards.add(source.attr(name), "truth", SameMesh(inner[0]))
        else:  # an object that the class counts among its parts
            trace.guards.add(source.attr(name), "is", inner[0])


@implements(abstract.slot_attribute)
def slot_attribute(trace: Trace, tensor: Tensor, name: str) -> Value:
    held = tensor.example if tensor.example is not None else tensor.value
    if name == "_spec" and distributed_parts.is_dtensor(held):
        # what it says of mesh and placements is part of the context, which is guarded
        return abstract.wrap(trace, held._spec, None)
    if not hasattr(held, name):
        if tensor.source is not None:
            trace.guards.add(tensor.source, "no_attr", name)
        kind = type_name(tensor.cls)
        return abstract.raise_(trace, AttributeError, f"'{kind}' object has no attribute '{name}'")
    if tensor.example is not None:
        return abstract.wrap(trace, getattr(held, name), tensor.known_source.attr(name))
    return _made_attribute(trace, tensor, name, getattr(held, name))


def wrapper_attribute(trace: Trace, tensor: Tensor, name: str) -> Value | None:
    """An attribute of a wrapper that the graph makes; None if it has none."""
    if not is_traceable_wrapper_subclass(tensor.value) or name not in tensor.value.__dict__:
        return None
    return _made_attribute(trace, tensor, name, tensor.value.__dict__[name])


def _made_attribute(trace: Trace, tensor: Tensor, name: str, value: object) -> Value:
    if isinstance(value, torch.Tensor):
        at = (tensor.node, name)
        node = trace.graph.node("call_function", getattr, at, {}, value, counted=False)
        return abstract.from_value(trace, node, value)
    if is_literal(value) or isinstance(value, (torch.dtype, torch.device, torch.Size)):
        return abstract.known(trace, value)
    raise Break(tensors.TENSOR_ATTRIBUTE, tensor=tensor.describe(), attribute=name)


def make_wrapper(trace: Trace, cls: Class, args: list[Value], kwargs: dict[str, Value]) -> Value:
    """A wrapper that the program makes: its constructor is a node of the graph."""
    meet_wrapper(trace, cls.value)
    made = abstract.call_torch(trace, cls.value, args, kwargs)
    whole = isinstance(made, Tensor) and is_traceable_wrapper_subclass(made.value)
    if not whole or known_tensor(made).value.requires_grad:
        given = ", ".join(a.describe() for a in args)
        name = cls.value.__name__
        raise Break(subclasses.SUBCLASS_CONSTRUCTOR, subclass=name, arguments=given)
    return made


def hides_method(trace: Trace, tensor: Value, name: str) -> bool:
    """Whether a wrapper's class defines a method itself: a node that means torch's must say
    so."""
    if not isinstance(tensor, Tensor) or not is_traceable_wrapper_subclass(tensor.value):
        return False
    return defined_in(tensor.cls, name) is not MISSING


def _size_reader(i: int) -> Any:
    def size(tensor: Any) -> Any:
        return tensor.shape[i]

    return size


_SIZES = [_size_reader(i) for i in range(8)]


def _no_view(value: Any) -> Any:
    """The wrapper, made anew of its inner tensors if it is a view: what it is a view of does not
    matter to a graph, and has sizes of its own."""
    if not tensor_parts.is_view(value):
        return value
    names, context = value.__tensor_flatten__()
    inner = {name: getattr(value, name) for name in names}
    with torch.no_grad():
        made = type(value).__tensor_unflatten__(inner, context, value.size(), value.stride())
    return made.requires_grad_(value.requires_grad)


def _ragged_sizes(value: Any, part: Any) -> list[int]:
    """Sizes of (a part of) a nested tensor that differ from one to the next: those that are no
    numbers, and those that its shape does not tell."""
    if not value.is_nested:
        return []
    told = [size for size in value.shape if not symbolic_shapes.is_ragged(size)]
    if part is not value:
        told.append(value.shape[0] + 1)  # offsets: a number, as the size that it comes from is
    marked = marks_of(part).dynamic
    return [
        i
        for i, size in enumerate(part.shape)
        if symbolic_shapes.is_ragged(size) or size not in told or i in marked
    ]


def _context_of(value: object, source: Source, found: Any) -> Any:
    if found is not None:
        return found
    static = symbolic_shapes.static_context(value)
    if not is_traceable_wrapper_subclass(value):
        return static
    parts = inner_tensors(value)
    inner = {n: _context_of(p, source.attr(n), None) for n, p in parts.items()}
    return symbolic_shapes.wrapper_context(TorchName(source.path()), static, inner)


def base_call(name: str, *args: list[Value], **kwargs: dict[str, Value]) -> Any:
    """A method as torch.Tensor has it, whatever the class of the first argument."""
    return getattr(torch.Tensor, name)(*args, **kwargs)
