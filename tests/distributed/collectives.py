"""Collectives that a program waits for, stacked ones, and those that only Python can make."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor

from tests.distributed.models import gather_into, reduce_scatter_into, whole


def mine_of(side: Any, *shape: int, plus: int = 0) -> torch.Tensor:
    """Numbers that are other ones on each rank."""
    count = torch.Size(shape).numel()
    return (torch.arange(count, dtype=torch.float32) + side.rank * 10 + plus).reshape(shape)


def calls(side: Any, forward: Any, *shape: int, torch_raises: bool = False) -> Any:
    """Three calls. `torch_raises`: torch.compile fails on the program, which is not tried then."""
    if torch_raises and side.name == "torch":
        return None
    call = side.compile(forward)
    return {"values": [call(mine_of(side, *shape, plus=i)) for i in range(3)]}


# ---- with a handle


def waited(side: Any) -> Any:
    """Work is done between the call and the wait."""

    def forward(x: torch.Tensor) -> Any:
        y = x * 2
        handle = dist.all_reduce(y, async_op=True)
        z = x.sin() + 1
        done = handle.wait()
        return y + z, done

    return calls(side, forward, 2, 3)


def waited_positionally(side: Any) -> Any:
    """async_op as a positional argument, and a handle that is waited for twice."""

    def forward(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        handle = dist.all_reduce(y, dist.ReduceOp.MAX, None, True)
        handle.wait()
        y = y + 1
        if handle is not None and handle:
            handle.wait()
        return y

    return calls(side, forward, 3)


def many_handles(side: Any) -> Any:
    """One call per tensor; all are waited for in a loop, as gradients are reduced by hand."""

    def forward(x: torch.Tensor) -> list[torch.Tensor]:
        parts = [x + i for i in range(4)]
        handles = [dist.all_reduce(part, async_op=True) for part in parts]
        for handle in handles:
            handle.wait()
        return [part / dist.get_world_size() for part in parts]

    return calls(side, forward, 3)


def each_kind(side: Any) -> Any:
    """Every collective that has a functional form, in a group of its own, into tensors from
    outside."""
    group = dist.new_group(list(range(side.world)))

    def forward(x: torch.Tensor, out: dict[str, torch.Tensor]) -> torch.Tensor:
        handles = [
            gather_into(out["gathered"], x, group=group, async_op=True),
            reduce_scatter_into(out["scattered"], x, group=group, async_op=True),
            dist.all_to_all_single(out["exchanged"], x, group=group, async_op=True),
            dist.all_to_all_single(
                out["uneven"], x[:3], [1, 2] if side.rank == 0 else [2, 1],
                [1, 2] if side.rank == 0 else [2, 1], group=group, async_op=True,
            ),
            dist.broadcast(out["sent"], src=1, group=group, async_op=True),
        ]  # fmt: skip
        z = x.cos()
        for handle in handles:
            handle.wait()
        return out["gathered"].sum() + z

    call = side.compile(forward)
    found = []
    for i in range(3):
        out = {
            "gathered": torch.zeros(4 * side.world, 2),
            "scattered": torch.zeros(4 // side.world, 2),
            "exchanged": torch.zeros(4, 2),
            "uneven": torch.zeros(3, 2),
            "sent": mine_of(side, 5, plus=i),
        }
        found.append((call(mine_of(side, 4, 2, plus=i), out), out))
    return {"values": found}


def gathered_later(side: Any) -> Any:
    """all_gather into a list, waited for behind other work; and of sizes that differ."""
    group = dist.new_group(list(range(side.world)))

    def forward(x: torch.Tensor, parts: list[torch.Tensor]) -> Any:
        own = x * 2
        fresh = [torch.empty_like(own) for _ in range(side.world)]
        first = dist.all_gather(fresh, own, async_op=True)
        second = dist.all_gather(parts, x, group=group, async_op=True)
        z = x.sin()
        second.wait()
        first.wait()
        return torch.cat(fresh) + parts[1].sum(), z

    call = side.compile(forward)
    found = []
    for i in range(3):
        parts = [torch.zeros(3, 2) for _ in range(side.world)]
        found.append((call(mine_of(side, 3, 2, plus=i), parts), parts))
    return {"values": found}


def of_another_shape(side: Any) -> Any:
    """What is gathered is to be stacked: gloo refuses that, and the program goes on without."""

    def forward(x: torch.Tensor) -> torch.Tensor:
        rows = x.new_zeros(2, 4)
        try:
            gather_into(rows, x)
        except RuntimeError:
            gather_into(rows.view(-1), x)
        return rows * 2

    return calls(side, forward, 4, torch_raises=True)


def used_on_one_rank(side: Any) -> Any:
    """Only one rank uses what all of them send: each runs its part of the collective."""

    def forward(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        dist.all_reduce(y)
        return y if dist.get_rank() == 0 else x + 1

    return calls(side, forward, 3)


# ---- handles that leave


def handle_leaves(side: Any) -> Any:
    """The caller waits."""

    def forward(x: torch.Tensor) -> Any:
        y = x * 2
        return y, dist.all_reduce(y, async_op=True)

    call = side.compile(forward)
    found = []
    for i in range(3):
        y, handle = call(mine_of(side, 3, plus=i))
        handle.wait()
        found.append(y)
    return {"values": found}


def handle_is_kept(side: Any) -> Any:
    """An object keeps the handle, and a later call waits."""

    class Later:
        handle: Any = None

    later = Later()

    def begin(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        later.handle = dist.all_reduce(y, async_op=True)
        return y

    def end(y: torch.Tensor) -> torch.Tensor:
        later.handle.wait()
        return y + 1

    first, second = side.compile(begin), side.compile(end)
    return {"values": [second(first(mine_of(side, 3, plus=i))) for i in range(3)]}


def nobody_waits(side: Any) -> Any:
    """The handle is dropped; the program learns otherwise that all is done."""

    def forward(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        dist.all_reduce(y, async_op=True)
        return y

    call = side.compile(forward)
    found = []
    for i in range(3):
        y = call(mine_of(side, 3, plus=i))
        dist.barrier()
        found.append(y)
    return {"values": found}


def asked_whether_done(side: Any) -> Any:
    """A loop that asks until the handle says yes."""

    def forward(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        handle = dist.all_reduce(y, async_op=True)
        while not handle.is_completed():
            pass
        return y + 1

    return calls(side, forward, 3)


# ---- what only Python can make


def sent_to_the_next(side: Any) -> Any:
    """A ring of isend and irecv."""

    def forward(x: torch.Tensor) -> torch.Tensor:
        y, got = x * 2, torch.zeros_like(x)
        to, of = (side.rank + 1) % side.world, (side.rank - 1) % side.world
        sent, come = dist.isend(y, to, tag=3), dist.irecv(got, of, tag=3)
        z = x.sin()
        sent.wait()
        come.wait()
        return got + z

    return calls(side, forward, 3)


def sent_in_a_batch(side: Any) -> Any:
    """The same as a batch of P2POps."""

    def forward(x: torch.Tensor) -> torch.Tensor:
        y, got = x * 2, torch.zeros_like(x)
        to, of = (side.rank + 1) % side.world, (side.rank - 1) % side.world
        asked = [dist.P2POp(dist.isend, y, to), dist.P2POp(dist.irecv, got, of)]
        for work in dist.batch_isend_irecv(asked):
            work.wait()
        return got + 1

    return calls(side, forward, 3)


def sent_and_received(side: Any) -> Any:
    """send and recv, one rank the other way round than the other."""

    def forward(x: torch.Tensor) -> torch.Tensor:
        y, got = x * 2, torch.zeros_like(x)
        if dist.get_rank() == 0:
            dist.send(y, 1)
            dist.recv(got, 1)
        else:
            dist.recv(got, 0)
            dist.send(y, 0)
        return got + y

    return calls(side, forward, 3)


def to_one_and_from_one(side: Any) -> Any:
    """reduce, gather and scatter: those with a root."""

    def forward(x: torch.Tensor) -> Any:
        total = x * 2
        dist.reduce(total, 0)
        here = dist.get_rank() == 0
        parts = [torch.zeros_like(x) for _ in range(side.world)] if here else None
        dist.gather(x + 1, parts, dst=0)
        got = torch.zeros_like(x)
        dist.scatter(got, parts, src=0)
        return got + 1, total if here else x

    return calls(side, forward, 3)


def with_gradients(side: Any) -> Any:
    """Autograd does not see a collective that writes in place, compiled or not."""
    weight = torch.full((3,), 2.0, requires_grad=True)

    def forward(x: torch.Tensor) -> torch.Tensor:
        y = x * weight
        with torch.no_grad():
            total = y.detach().clone()
            dist.all_reduce(total)
        return y / total

    call = side.compile(forward)
    found = []
    for i in range(3):
        made = call(mine_of(side, 3, plus=i + 1))
        made.sum().backward()
        found += [whole(made), whole(weight.grad)]
    return {"values": found}


def objects(side: Any) -> Any:
    """Objects are pickled: Python does that."""

    def forward(x: torch.Tensor) -> torch.Tensor:
        told = [None] * dist.get_world_size()
        dist.all_gather_object(told, {"rank": dist.get_rank()})
        return x * (1 + sum(one["rank"] for one in told))

    return calls(side, forward, 3, torch_raises=True)


# ---- DTensor


def distributed_inside(side: Any) -> Any:
    """distribute_tensor in the compiled function: the data of rank 0 is sent."""
    mesh = init_device_mesh("cpu", (side.world,), mesh_dim_names=("all",))

    def forward(x: torch.Tensor) -> Any:
        split = distribute_tensor(x * 2, mesh, [Shard(0)])
        copied = distribute_tensor(x + 1, mesh, [Replicate()])
        made = split.redistribute(mesh, [Replicate()]) + copied
        return made.to_local(), split.to_local()

    return calls(side, forward, 4, 2)


def parts_of_their_own(side: Any) -> Any:
    """distribute_tensor without sending: each rank takes its part of what it has."""
    mesh = init_device_mesh("cpu", (side.world,), mesh_dim_names=("all",))

    def forward(x: torch.Tensor) -> Any:
        own = distribute_tensor(x + 1, mesh, [Shard(0)], src_data_rank=None)
        return (own * 2).full_tensor(), own

    call = side.compile(forward)
    made = [call(mine_of(side, 5, 2, plus=i)) for i in range(3)]
    side.seen["placements"] = [str(own.placements) for _, own in made]
    return {"values": [(whole(full), whole(own), whole(own.to_local())) for full, own in made]}


def checked_locals(side: Any) -> Any:
    """from_local that checks the ranks' sizes and sends the data of rank 0."""
    mesh = init_device_mesh("cpu", (side.world,), mesh_dim_names=("all",))

    def forward(x: torch.Tensor) -> Any:
        copied = DTensor.from_local(x * 2, mesh, [Replicate()], run_check=True)
        split = DTensor.from_local(x, mesh, [Shard(0)], run_check=True)
        return copied.to_local() + 1, (split + 1).full_tensor()

    return calls(side, forward, 4, 2, torch_raises=True)


def meshes(side: Any) -> Any:
    """Groups of the dimensions of a mesh, and what it says of this rank."""
    mesh = init_device_mesh("cpu", (1, side.world), mesh_dim_names=("rows", "columns"))

    def forward(x: torch.Tensor) -> torch.Tensor:
        y = x * (1 + mesh.get_local_rank("columns"))
        first = dist.all_reduce(y, group=mesh.get_group("columns"), async_op=True)
        z = x + 1
        second = dist.all_reduce(z, group=mesh["rows"].get_group(), async_op=True)
        first.wait()
        second.wait()
        return y + z * mesh.size(1)

    return calls(side, forward, 3, torch_raises=torch.__version__ < (2, 12))
