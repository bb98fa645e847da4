"""DTensor: tensors that say how they are spread over a mesh of processes.

One is a wrapper subclass (wrappers.py); where it lies is said by objects that never change: its
placements, and the mesh. They are known while tracing, so what programs ask of them is folded. What
moves data between ranks (`redistribute`, `full_tensor`) or crosses between a DTensor and its local
part is one node, a function with mesh and placements in it; AOTAutograd traces through it and finds
the collectives.
"""

from __future__ import annotations

from typing import Any

from suture.breaks import Break, calls, objects
from suture.compiler import abstract
from suture.compiler.core import Trace, Value
from suture.compiler.models import handles
from suture.compiler.objects import Tensor, frozen
from suture.compiler.objects.frozen import Frozen, Interchangeable
from suture.compiler.objects.wraps import wraps_named
from suture.compiler.torch.wrappers import is_wrapper_class, meet_wrapper
from suture.runtime.crossings import Crossing
from suture.runtime.predicates import Equals, SameMesh
from suture.runtime.sources import Source

_PLACEMENTS = "Shard Replicate Partial _StridedShard"
_IN = "torch.distributed.tensor.placement_types"


class Placed(Frozen):
    """A placement: `Shard(0)`, `Replicate()`. Equal ones are as good as one."""

    __slots__ = ()

    def getattr(self, trace: Trace, name: str) -> Any:
        if name in getattr(self.value, "__dict__", ()):  # set by the program, who may set it again
            raise Break(objects.UNKNOWN_ATTRIBUTE, object=self.describe(), attribute=name)
        return super().getattr(trace, name)


class Mesh(Interchangeable):
    """A DeviceMesh. What is read here is fixed when it is made; the rest is read by Python. Each
    `mesh["tp"]` is another object, so one of the same ranks and groups may stand for it. A DTensor
    that the graph makes is then on the mesh of the trace, as it is under torch.compile."""

    __slots__ = ()

    def settle(self, trace: Trace) -> None:
        for guard in list(trace.guards.entries):
            if type(guard.arg) is SameMesh and guard.arg.mesh is self.value:
                trace.guards.add(guard.source, "is", self.value)

    def getattr(self, trace: Trace, name: str) -> Any:
        if name not in _FACTS:
            raise Break(objects.UNKNOWN_ATTRIBUTE, object=self.describe(), attribute=name)
        return super().getattr(trace, name)


_FACTS = frozenset(
    {
        "device_type", "ndim", "shape", "size", "mesh_dim_names", "get_coordinate", "get_rank",
        "get_local_rank", "get_group", "get_all_groups", "__class__",
    }
)  # fmt: skip


class Spec(Frozen):
    """How a tensor lies: its mesh and placements, which the guards on the tensor compare. Sizes are
    asked of the tensor itself."""

    __slots__ = ()

    def getattr(self, trace: Trace, name: str) -> Any:
        if name not in ("mesh", "device_mesh", "placements", "num_shards", "is_replicated"):
            raise Break(objects.UNKNOWN_ATTRIBUTE, object=self.describe(), attribute=name)
        found = super().getattr(trace, name)
        if isinstance(found, Mesh):
            found.settle(trace)  # the program may ask, or hand it out
        return found


@wraps_named(*(f"{_IN}.{name}" for name in _PLACEMENTS.split()))
def _placement(trace: Trace, value: Any, source: Source | None) -> Value:
    if source is None:
        return Placed(value, abstract.pinned(trace, value))
    if abstract.is_fixed(trace, source):
        abstract.fix(trace, source, value)
    else:
        trace.guards.add(source, "type", type(value))
        trace.guards.add(source, "truth", Equals(value))
    return Placed(value, source)


@wraps_named("torch.distributed.device_mesh.DeviceMesh")
def _mesh(trace: Trace, value: Any, source: Source | None) -> Value:
    if source is None:
        return Mesh(value, abstract.pinned(trace, value))
    trace.guards.add(source, "truth", SameMesh(value))
    return Mesh(value, source)


@wraps_named("torch.distributed.tensor._dtensor_spec.DTensorSpec")
def _spec(trace: Trace, value: Any, source: Source | None) -> Value:
    return Spec(value, _fixed(trace, value, source))


def _fixed(trace: Trace, value: Any, source: Source | None) -> Source:
    """The source of an object that is guarded by identity."""
    if source is None:
        return abstract.pinned(trace, value)
    abstract.fix(trace, source, value)
    return source


# ---- operations


@handles("placement")
def _make_placement(
    trace: Trace, target: Any, args: list[Value], kwargs: dict[str, Value]
) -> Value:
    """`Shard(0)`: an object that never changes and compares by value; the variant holds one."""
    given = [abstract.constant_value(trace, a) for a in args]
    named = {k: abstract.constant_value(trace, v) for k, v in kwargs.items()}
    made: Value = frozen.frozen_result(trace, lambda: target(*given, **named))
    return made


@handles("dtensor")
def _crossing(trace: Trace, target: Any, args: list[Value], kwargs: dict[str, Value]) -> Any:
    """from_local, to_local, redistribute, full_tensor, and distribute_tensor where each rank takes
    its part of what it has: a node that knows mesh and placements."""
    name = target.__name__
    refused = Break(
        calls.PYTHON_FUNCTION_RUN,
        module="torch.distributed.tensor",
        qualname=target.__qualname__,
        reason="it depends on more than its arguments",
    )
    if not args or not isinstance(args[0], Tensor):
        raise refused
    tensor: Any = args[0]
    rest = args[1:]
    known = [abstract.constant_value(trace, one) for one in rest]
    named = {key: abstract.constant_value(trace, one) for key, one in kwargs.items()}
    if name == "from_local":
        mesh = known[0] if known else named.get("device_mesh")
        checks = known[2] if len(known) > 2 else named.get("run_check", False)
        if mesh is None or checks:  # it depends on a context, or talks to the other ranks
            raise refused
    elif name == "distribute_tensor":
        # A leaf with a gradient of its own comes out of a leaf; and data is sent from one rank.
        if tensor.value.requires_grad or is_wrapper_class(tensor.cls):
            raise refused
        if not known or known[0] is None or named.get("src_data_rank", 0) is not None:
            raise refused
    elif not is_wrapper_class(tensor.cls):
        raise refused
    meet_wrapper(trace, target.__globals__["DTensor"])
    return abstract.call_torch(trace, Crossing(target, known, named), [tensor], {})
