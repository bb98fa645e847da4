"""DTensor: what its placements and its tensors say, as data, and the objects made of it again.

Nothing is imported by asking: where torch.distributed.tensor is not loaded, no object is one of it.
"""

from __future__ import annotations

from typing import Any

import torch

from suture.torch_private import distributed_parts, tensor_parts
from suture.torch_private.table import Topic, loaded

NAMES = Topic(
    __name__,
    "DTensors in the cache",
    "2.12-2.15",
    {
        "DTensor": "torch.distributed.tensor.DTensor",
        "ShardOrderEntry": "torch.distributed.tensor._dtensor_spec.ShardOrderEntry",
        "TensorMeta": "torch.distributed.tensor._dtensor_spec.TensorMeta",
        "placement_types": "torch.distributed.tensor.placement_types",
    },
)

# What each placement is made of. One of another class, a derived one too, may say more.
_FIELDS = {
    "Shard": ("dim",),
    "Replicate": (),
    "Partial": ("reduce_op",),
    "_StridedShard": ("dim", "split_factor"),
}
INNER = ["_local_tensor", "device_mesh"]  # what a DTensor is made of, since torch 2.12


def __getattr__(name: str) -> Any:
    return NAMES.get(name)


def is_plain(value: Any) -> bool:
    """Whether it is a DTensor, and none of a class derived from it."""
    kind = getattr(loaded("torch.distributed.tensor"), "DTensor", None)
    return kind is not None and type(value) is kind


def mesh_held(value: Any) -> Any:
    """The mesh that a graph holds as a constant, behind what stands for it while it is traced; None
    if it is another object."""
    kind = getattr(loaded("torch._library.fake_class_registry"), "FakeScriptObject", None)
    found = value.real_obj if kind is not None and isinstance(value, kind) else value
    return found if distributed_parts.is_mesh(found) else None


def placement_facts(value: Any) -> list[Any] | None:
    """A placement as data; None if it is none, or if it says more than its fields."""
    name = type(value).__name__
    if name not in _FIELDS:
        return None
    home = loaded("torch.distributed.tensor.placement_types")
    if type(value) is not getattr(home, name, None) or getattr(value, "__dict__", None):
        return None
    found = [getattr(value, field) for field in _FIELDS[name]]
    if any(type(one) not in (int, str) for one in found):
        return None
    return [name, *found]


def placement_of(data: Any) -> Any:
    """The placement that `placement_facts` wrote."""
    name, *fields = data
    if name not in _FIELDS or any(type(one) not in (int, str) for one in fields):
        raise ValueError(f"no placement is called {name!r}")
    given = dict(zip(_FIELDS[name], fields, strict=True))
    return getattr(NAMES.get("placement_types"), name)(**given)


def context_facts(context: Any) -> list[Any] | None:
    """What a DTensor says besides its parts: placements, dtype, the order of shards, whether it
    requires grad. Sizes are said elsewhere. None if it is not all data."""
    try:
        placements, meta, order, requires_grad = context
        placed = [placement_facts(one) for one in placements]
        told = None if order is None else [[int(one[0]), list(map(int, one[1]))] for one in order]
        dtype = None if meta is None else str(meta.dtype).removeprefix("torch.")
    except (TypeError, ValueError, AttributeError):  # a release that says it otherwise
        return None
    if None in placed or dtype is None:
        return None
    return [placed, dtype, told, bool(requires_grad)]


def says_the_same(one: Any, other: Any) -> bool:
    """Whether two DTensors say the same of themselves, their sizes and strides aside."""
    if one == other:
        return True
    if len(one) != len(other) or not (_has_sizes(one) and _has_sizes(other)):
        return False
    return bool(one[1].dtype == other[1].dtype and _rest(one) == _rest(other))


def _has_sizes(context: Any) -> bool:
    return len(context) == 4 and isinstance(context[1], NAMES.get("TensorMeta"))


def _rest(context: Any) -> Any:
    return context[0], *context[2:]


def tensor_context(value: Any) -> list[Any] | None:
    """The same of a DTensor; None if it is made of other parts than those that are known."""
    names, context = value.__tensor_flatten__()
    return context_facts(context) if list(names) == INNER else None


def context_of(data: Any) -> tuple[Any, ...]:
    """What `context_facts` wrote, as a DTensor takes it. Its sizes are those of no tensor."""
    placed, dtype, told, requires_grad = data
    kind = getattr(torch, dtype)
    if type(kind) is not torch.dtype:
        raise ValueError(f"torch.{dtype} is no dtype")
    entry = NAMES.get("ShardOrderEntry")
    order = None if told is None else tuple(entry(dim, tuple(dims)) for dim, dims in told)
    meta = NAMES.get("TensorMeta")(torch.Size(()), (), kind)
    return tuple(map(placement_of, placed)), meta, order, bool(requires_grad)


def made(local: Any, mesh: Any, context: Any, size: Any, stride: Any) -> Any:
    """The DTensor of these parts."""
    parts = dict(zip(INNER, (local, mesh), strict=True))
    return NAMES.get("DTensor").__tensor_unflatten__(parts, context, size, stride)


def local_of(value: Any) -> torch.Tensor:
    """The part of a DTensor that is on this rank."""
    part: torch.Tensor = value._local_tensor
    return part


def storage_key(value: Any) -> int:
    """A number that tensors share whose memory is the same: of a DTensor, that of its part."""
    return tensor_parts.storage_key(local_of(value) if is_plain(value) else value)


def identity_facts(value: Any) -> list[Any] | None:
    """What the identity of a DTensor implies besides its sizes: its mesh and what it says of it;
    None if that is not all data."""
    mesh, context = distributed_parts.facts_of_mesh(value.device_mesh), tensor_context(value)
    return None if mesh is None or context is None else [mesh, context]
