"""torch.distributed: what its wrappers keep, and which of its functions its own compiler skips.

The functions ask what a program has imported already, and import nothing by themselves.
"""

from __future__ import annotations

import inspect
import types
import weakref
from collections import OrderedDict
from typing import Any

from suture.torch_private.table import Topic, loaded

NAMES = Topic(
    __name__,
    "collectives in graphs, and overlapping communication under DistributedDataParallel",
    "2.11-2.15",
    {
        "DDPOptimizer": "torch._dynamo.backends.distributed.DDPOptimizer",
        "get_default_store": "torch.distributed.distributed_c10d._get_default_store",
        "functional_collectives": "torch.distributed._functional_collectives",
        "functional_operators": "torch.ops._c10d_functional",
        "resolve_group": "torch.distributed.distributed_c10d._resolve_process_group",
        "first_bucket_bytes": "torch.distributed._DEFAULT_FIRST_BUCKET_BYTES",
        "set_guard_hook": "torch._C._dynamo.eval_frame.set_guard_complete_hook",
    },
)

_FSDP = "torch.distributed.fsdp._fully_shard."
_CHECKPOINTS = "torch.distributed._composable.checkpoint_activation"
# The wrapper around each hook of `fully_shard`: of 2.11, and of later releases.
_SKIPPING = {
    "disable_if_config_true.<locals>.fsdp_hook_wrapper",
    "_dynamo_disable.<locals>.wrapper",
}


def __getattr__(name: str) -> Any:
    return NAMES.get(name)


def skipped_by_fsdp(obj: Any) -> bool:
    """Whether it is a hook of `fully_shard`, which takes itself out of graphs at each call. All of
    them run one code object."""
    obj = obj.__func__ if type(obj) is types.MethodType else obj
    if type(obj) is not types.FunctionType or obj.__code__.co_qualname not in _SKIPPING:
        return False
    return str(obj.__globals__.get("__name__")).startswith(_FSDP)


def drives_reducer(hook: Any) -> bool:
    """Whether it is a hook of the composable `replicate`, which drives DDP's reducer."""
    replicate = loaded("torch.distributed._composable.replicate")
    kind = getattr(replicate, "_ReplicateState", None)
    return kind is not None and isinstance(getattr(hook, "__self__", None), kind)


def is_checkpointed(module: Any) -> bool:
    """Whether a module, or that of a bound method, has hooks of the composable `checkpoint`. They
    run the module itself again in the backward, not what was compiled of it, and compare what both
    have saved."""
    module = module.__self__ if type(module) is types.MethodType else module
    hooks = getattr(module, "_forward_pre_hooks", None)
    return type(hooks) is OrderedDict and any(
        type(hook) is types.FunctionType and hook.__module__ == _CHECKPOINTS
        for hook in hooks.values()
    )


def checkpoint_options(module: Any) -> dict[str, Any] | None:
    """What the composable `checkpoint` of a module was asked for, as torch.utils.checkpoint names
    it, without what is the default there; None if the module has other hooks as well."""
    tables = [getattr(module, name, None) for name in _HOOK_TABLES]
    hooks = [hook for table in tables if table for hook in table.values()]
    if any(getattr(hook, "__module__", None) != _CHECKPOINTS for hook in hooks):
        return None
    before = [hook for hook in hooks if hook.__name__ == "forward_pre_hook"]
    if len(hooks) != 2 or len(before) != 1:
        return None
    held = inspect.getclosurevars(before[0]).nonlocals
    if set(held) != {*_CHECKPOINT_DEFAULTS, "user_context_fns"}:
        return None
    options = {k: held[k] for k, usual in _CHECKPOINT_DEFAULTS.items() if held[k] != usual}
    if held["user_context_fns"] is not None:
        options["context_fn"] = held["user_context_fns"]
    return options


_HOOK_TABLES = ("_forward_pre_hooks", "_forward_hooks", "_backward_hooks", "_backward_pre_hooks")
_CHECKPOINT_DEFAULTS = {
    "preserve_rng_state": True,
    "determinism_check": "default",
    "debug": False,
    "early_stop": True,
}


def active_ddp() -> Any:
    """The DistributedDataParallel whose forward is running, or None."""
    ddp = loaded("torch.nn.parallel.distributed")
    asked = getattr(getattr(ddp, "DistributedDataParallel", None), "_get_active_ddp_module", None)
    return asked() if asked is not None else None


def bucket_bytes() -> int | None:
    """How large the buckets are whose gradients the running DDP reduces, or None if none runs, or
    if `torch._dynamo.config.optimize_ddp` says that graphs stay whole."""
    ddp = active_ddp()
    options = loaded("torch._dynamo.config")
    wanted = getattr(options, "optimize_ddp", True)
    if ddp is None or wanted not in (True, "ddp_optimizer"):
        return None
    return int(ddp.bucket_bytes_cap)


def ddp_optimizer(bucket_bytes: int, backend: Any) -> Any:
    """torch's cutter of graphs. Its first bucket is small; it wants none larger than the others."""
    first = min(bucket_bytes, int(NAMES.get("first_bucket_bytes")))
    return NAMES.get("DDPOptimizer")(bucket_bytes, backend, first)


def has_reducer(module: Any) -> bool:
    """Whether it is a DistributedDataParallel with the reducer in C++, which is the usual one."""
    ddp = loaded("torch.nn.parallel.distributed")
    kind = getattr(ddp, "DistributedDataParallel", None)
    return kind is not None and isinstance(module, kind) and not module._use_python_reducer


def kind_of_dtensors() -> Any:
    """The class of tensors that are spread over a mesh; None while nothing has loaded it."""
    return getattr(loaded("torch.distributed.tensor"), "DTensor", None)


def is_dtensor(value: Any) -> bool:
    """Whether it is a tensor that is spread over a mesh."""
    kind = kind_of_dtensors()
    return kind is not None and isinstance(value, kind)


def all_groups() -> Any:
    """The object that knows the groups of this process: one as long as it runs. None while
    torch.distributed is not loaded."""
    return getattr(loaded("torch.distributed.distributed_c10d"), "_world", None)


def groups_made() -> Any:
    """A weak reference to the group of all ranks, or None: another one after it was destroyed and
    made again."""
    state = loaded("torch.distributed.distributed_c10d")
    group = getattr(getattr(state, "_world", None), "default_pg", None)
    return None if group is None else weakref.ref(group)


def group_facts() -> list[Any] | None:
    """What of the group of all ranks is the same on all of them; None without one."""
    state = loaded("torch.distributed.distributed_c10d")
    if groups_made() is None:
        return None
    name = state._world.default_pg.group_name  # graphs name it so
    return [state.get_world_size(), state.get_backend(), name]


def facts_of_group(group: Any) -> list[Any] | None:
    """What makes a process group the same one in another process that made it in the same way, and
    graphs that name it right there; None if it is no group that this process knows. Which rank
    this process is in it follows from its rank among all."""
    state = loaded("torch.distributed.distributed_c10d")
    if state is None or not isinstance(group, state.ProcessGroup) or not state.is_initialized():
        return None
    if group not in state._world.pg_map:
        return None
    ranks = state.get_process_group_ranks(group)
    return [group.group_name, group.group_desc, list(ranks), state.get_backend(group)]


def facts_of_mesh(mesh: Any) -> list[Any] | None:
    """What makes a mesh the same one in another process: its ranks in their shape, its names, the
    group of each dimension, and where in it this process is; None if it is no mesh with groups."""
    if not is_mesh(mesh) or own_rank() is None:
        return None
    try:
        groups = [facts_of_group(one) for one in mesh.get_all_groups()]
    except RuntimeError:  # it was made without
        return None
    if None in groups:
        return None
    names = None if mesh.mesh_dim_names is None else list(mesh.mesh_dim_names)
    coordinate = mesh.get_coordinate()
    where = None if coordinate is None else [int(one) for one in coordinate]
    return [mesh.device_type, mesh.mesh.tolist(), names, groups, where, own_rank()]


def is_mesh(value: Any) -> bool:
    """Whether it is a mesh of processes."""
    kind = getattr(loaded("torch.distributed.device_mesh"), "DeviceMesh", None)
    return kind is not None and type(value) is kind


def same_mesh(one: Any, other: Any) -> bool:
    """Whether two meshes are of the same ranks, names and groups."""
    if type(one) is not type(other) or one != other:
        return False
    try:
        groups = zip(one.get_all_groups(), other.get_all_groups(), strict=True)
        return all(a is b for a, b in groups)
    except (RuntimeError, ValueError):  # made without groups
        return False


def own_rank() -> int | None:
    """Which rank this process is; None without a group."""
    state = loaded("torch.distributed.distributed_c10d")
    return None if groups_made() is None else int(state.get_rank())


def group_in_graphs(group: Any) -> Any:
    """What functional operators take for a process group: its name, or where ranks are to share
    one graph the group itself."""
    for home in ("torch.compiler.config", "torch.distributed.config"):  # since 2.14; before
        shared = getattr(loaded(home), "compile_on_one_rank", None)
        if shared is not None:
            return group if shared else group.group_name
    return group.group_name


def default_store() -> Any:
    """The store through which the ranks of the default group found each other."""
    return NAMES.get("get_default_store")()


def guard_collectives_on() -> bool:
    """Whether the program has called `torch.compiler.set_enable_guard_collectives(True)`, as far as
    suture was told (`told_guard_collectives`)."""
    return _guard_collectives[0]


def look_at_guard_collectives() -> None:
    """Find out how torch's switch is set: it has no reader, so it is set and set back."""
    change = NAMES.get("set_guard_hook")
    hook = change(None)
    change(hook)
    told_guard_collectives(hook is not None)


def told_guard_collectives(enabled: bool) -> None:
    """torch's switch was set."""
    _guard_collectives[0] = enabled


_guard_collectives = [False]
