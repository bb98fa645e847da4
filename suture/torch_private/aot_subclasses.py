"""Graphs for which AOTAutograd takes DTensors apart, and makes them of the graph's results: how, as
data. What does the same without AOTAutograd is `runtime.callers.spread`.
"""

from __future__ import annotations

from typing import Any

from suture.torch_private import dtensor_parts


class NotSimple(Exception):
    """What more AOTAutograd would do for a graph than is described here."""


def parts_facts(inputs: Any, outputs: Any) -> dict[str, Any] | None:
    """How the inputs of a graph are taken apart and its results put together; None if all of them
    are plain tensors. NotSimple is raised for wrappers that are no DTensors."""
    taken, put = [_input(one) for one in inputs], put_together(outputs)
    if put is None and all(one is None for one in taken):
        return None
    plain = [one.unwrapped_idx for one in outputs] if put is None else put
    return {"inputs": taken, "outputs": plain}


def put_together(metas: Any) -> list[Any] | None:
    """Each result: its place among those of the graph, or the DTensor that is made of it; None if
    all of them are plain and in order."""
    made = [_output(one) for one in metas]
    return None if made == list(range(len(made))) else made


def tangent(meta: Any) -> Any:
    """How a derivative is expected: its layout, or that of a DTensor and of its part."""
    if not _is_wrapper(meta):
        return layout(meta)
    _check(meta)
    format_of = layout(meta, wrapper=True)
    if type(format_of) is not str:
        raise NotSimple("the layout of a derivative is not known")
    local = meta.attrs[dtensor_parts.INNER[0]]
    if any(_local_numbers(meta)):
        raise NotSimple("the layout of a derivative is symbolic")
    return {"context": _context(meta), "format": format_of, "local": layout(local)}


def layout(meta: Any, wrapper: bool = False) -> Any:
    """Sizes and strides, or the memory format, in which a derivative is expected; of a wrapper only
    where it is asked for."""
    found = getattr(meta, "memory_format", None)
    if found is None or hasattr(meta, "original_subclass_type") is not wrapper:
        raise NotSimple("the layout of a derivative is not known")
    if found.memory_format is not None:
        return str(found.memory_format).removeprefix("torch.")
    sizes, strides = list(found.size), list(found.stride)
    if not all(type(n) is int for n in (*sizes, *strides)):
        raise NotSimple("the layout of a derivative is symbolic")
    return [sizes, strides]


def _input(meta: Any) -> Any:
    """None for a plain one; else which sizes and strides the graph takes: of the DTensor's part,
    and of the DTensor itself."""
    if not _is_wrapper(meta):
        _check_plain(meta)
        return None
    _check(meta)
    own = [[i for i, n in enumerate(of) if type(n) is not int] for of in _sizes(meta)]
    return [*_local_numbers(meta), *own]


def _output(meta: Any) -> Any:
    if not _is_wrapper(meta):
        _check_plain(meta)
        return int(meta.unwrapped_idx)
    _check(meta)
    size, stride = ([n if type(n) is int else None for n in of] for of in _sizes(meta))
    return {
        "first": int(meta.flat_tensor_start_idx),
        "numbers": sum(map(len, _local_numbers(meta))),
        "context": _context(meta),
        "size": size,
        "stride": stride,
        "of_part": [
            _of_part(meta, "outer_size_from_attr"),
            _of_part(meta, "outer_stride_from_attr"),
        ],
    }


def _local_numbers(meta: Any) -> list[list[int]]:
    """Which sizes and which strides of a DTensor's part are numbers of the graph: since torch 2.14,
    where they stand between the part and the mesh."""
    local = meta.attrs[dtensor_parts.INNER[0]]
    names = ("size_symbol_placeholders", "stride_symbol_placeholders")
    return [[i for i, on in enumerate(getattr(local, name, ())) if on] for name in names]


def _of_part(meta: Any, name: str) -> bool:
    """Whether a DTensor's sizes (or strides) are those of its part: since torch 2.14 they are then
    read from it."""
    found = getattr(meta, name, None)
    if found not in (None, dtensor_parts.INNER[0]):
        raise NotSimple(f"sizes of a DTensor come from {found}")
    return found is not None


def _check_plain(meta: Any) -> None:
    if getattr(meta, "arg_count", 1) != 1:
        raise NotSimple("a graph takes or gives sizes beside a tensor")


def _sizes(meta: Any) -> tuple[list[Any], list[Any]]:
    return list(meta.outer_size), list(meta.outer_stride)


def _is_wrapper(meta: Any) -> bool:
    return hasattr(meta, "attrs")


def _check(meta: Any) -> None:
    kind = meta.original_subclass_type or type(meta.original_subclass)
    simple = kind is dtensor_parts.DTensor and list(meta.attrs) == dtensor_parts.INNER
    if not simple or _is_wrapper(meta.attrs[dtensor_parts.INNER[0]]):
        raise NotSimple(f"a {kind.__qualname__} is taken apart")


def _context(meta: Any) -> list[Any]:
    found = dtensor_parts.context_facts(meta.meta)
    if found is None:
        raise NotSimple("a DTensor says more of itself than is kept")
    return found
