"""Numbers that are known while tracing: those in small tensors that a module keeps.

A module may keep a stride or a count in a buffer of one number and compute sizes from it.
Such a buffer's fake tensor carries its number, torch computes with it, and as soon as something
is decided by a number that comes from it, the buffers above are guarded to hold what they held.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
import torch.fx

from suture.compiler.graph.casts import refuse_cast
from suture.compiler.graph.decided_sizes import decide_sizes
from suture.compiler.graph.dtype_refusals import refuse_dtypes
from suture.compiler.graph.index_counts import refuse_indices
from suture.compiler.graph.inference_writes import note_view, refuse_inference
from suture.compiler.graph.overlapping import refuse_overlap
from suture.compiler.graph.results import Results, Unknown, Views, gives_several, only_computes
from suture.op_effects import Written, written_arguments
from suture.torch_private import (
    device_guards,
    fake_tensors,
    functorch_parts,
    operators,
    tensor_parts,
)

_ITEM = operators.local_scalar
_DEVICE = operators.device_of


def watched_mode(**options: Any) -> Any:
    """A fake tensor mode that notes when the number in a tensor is taken out (`read`), and whether
    all operators since `only_computed` was None did no more than to compute from their arguments.
    `make` gives a fake tensor of a new tensor without data and a device.

    It is of torch's own class and not of a derived one, because torch's higher-order operators
    look modes up by their class.
    """
    device_guards.keep()
    mode = fake_tensors.FakeTensorMode(**options)
    plain = mode.dispatch
    mode.read, mode.only_computed = False, None
    mode.make = fake_tensors.maker(mode)
    results, views = Results(), Views()
    viewed: set[int] = set()

    def compute(func: Any, args: Any, kwargs: Any) -> Any:
        return plain(func, (), args, kwargs)

    def dispatch(func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is _DEVICE and type(args[0]) is fake_tensors.FakeTensor:
            # asked of each tensor in each operation: the answer is no operator's
            if mode.only_computed is not False:
                mode.only_computed = True
            if not args[0].fake_mode.in_kernel_invocation:
                return args[0].fake_device
        if func is _ITEM and getattr(args[0], "constant", None) is not None:
            mode.read = True
        if not mode.in_kernel_invocation:
            refuse_dtypes(func, args, kwargs or {})
        fits = results.fits(func)
        if mode.only_computed is not False:
            mode.only_computed = fits or only_computes(func)
        looks = bool(args) and type(args[0]) is fake_tensors.FakeTensor and views.fits(func)
        if not (fits or looks or mode.in_kernel_invocation):
            refuse_cast(compute, func, args, kwargs or {})
            refuse_overlap(func, args, kwargs or {})
            refuse_indices(func, args)
            refuse_inference(func, args, kwargs or {}, viewed)
        if looks:
            note_view(args[0], viewed)
        decide_sizes(func, args)
        if mode.in_kernel_invocation or not (fits or looks or gives_several(func)):
            if _written_lists(func):
                return _write_lists(mode, plain, func, types, args, kwargs or {})
            return plain(func, types, args, kwargs or {})
        known = views if looks else results
        try:
            key = known.key(func, args, kwargs or {})
        except Unknown:
            return plain(func, types, args, kwargs or {})
        value = views.find_in(mode, key, args[0]) if looks else results.find(mode, key)
        if value is None:
            value = plain(func, types, args, kwargs or {})
            known.remember(key, (args, kwargs), value)
        return value

    mode.dispatch = dispatch
    return mode


@functools.lru_cache
def _written_lists(func: Any) -> tuple[Written, ...]:
    """The lists of tensors that an operator writes to."""
    return tuple(one for one in written_arguments(func) if one.is_list)


def _write_lists(mode: Any, plain: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """An operator that writes to the tensors of lists, as torch does it for tensors that are
    arguments themselves: they have a new version afterwards, and their numbers are not known any
    more. Where it knows the numbers of all arguments torch computes with them instead."""
    written = [
        fake
        for argument in _written_lists(func)
        for fake in argument.given(args, kwargs) or ()
        if isinstance(fake, fake_tensors.FakeTensor)  # subclasses come here with what they hold
    ]
    given = tensor_parts.pytree.tree_leaves((args, kwargs))
    if any(v.constant is None for v in given if isinstance(v, fake_tensors.FakeTensor)):
        for fake in written:
            if fake.constant is not None:
                mode.fake_tensor_converter.invalidate_constant_aliases(fake.constant)
    versions = [tensor_parts.version_of(fake) for fake in written]
    out = plain(func, types, args, kwargs)
    for fake, version in zip(written, versions):
        if not fake.is_inference() and tensor_parts.version_of(fake) == version:
            torch.autograd.graph.increment_version(fake)
    return out


def may_be_known(tensor: torch.Tensor, fake: torch.Tensor) -> bool:
    """Whether a tensor of a module is one number, which may decide something, and stays one: its
    sizes are no symbols."""
    return (
        tensor.numel() == 1
        and not any(isinstance(size, torch.SymInt) for size in fake.shape)
        and tensor.device.type == "cpu"
        and not tensor.requires_grad
        and not tensor.dtype.is_complex
        and not functorch_parts.is_wrapped(tensor)
    )


def make_known(mode: Any, fake: Any, tensor: torch.Tensor) -> None:
    """Let the fake tensor carry the number of the real one, until it is written to."""
    fake.constant = tensor.detach().clone()
    mode.fake_tensor_converter.add_constant_storage_mapping(fake)


def number_of(value: Any) -> int | float | complex | bool | None:
    """The number a fake tensor carries, or None."""
    held = getattr(value, "constant", None)
    return None if held is None or held.numel() != 1 else held.item()


def known_above(nodes: list[torch.fx.Node], known: dict[Any, Any]) -> list[Any]:
    """What `known` says of the placeholders that these nodes are computed from."""
    found, seen, waiting = [], set(), list(nodes)
    while waiting:
        node = waiting.pop()
        if node in seen:
            continue
        seen.add(node)
        if node in known:
            found.append(known[node])
        waiting += node.all_input_nodes
    return found
