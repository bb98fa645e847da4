"""Barriers between what ranks compute, write to shared memory, and send."""

from __future__ import annotations

import inspect
import os
import tempfile
import time
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.utils.checkpoint import checkpoint

from tests.distributed.collectives import calls, mine_of
from tests.distributed.models import whole


def barriers(side: Any) -> Any:
    def forward(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        dist.barrier()
        return y + 1

    return calls(side, forward, 3)


def _over_shared_memory(side: Any, forward: Any, *, rows: bool) -> Any:
    """Each rank writes to memory that both see, and reads what the other one has written: only what
    is before a barrier on one rank is there behind it on the other. Each in turn comes late. With
    `rows`, `forward` is given its own row and the other's, not the whole."""
    path = os.path.join(tempfile.gettempdir(), f"suture-{os.environ['MASTER_PORT']}")
    if side.rank == 0:
        torch.from_file(path, shared=True, size=8).zero_()
    dist.barrier()
    shared = torch.from_file(path, shared=True, size=8).view(2, 4)
    mine, weight = shared[side.rank], torch.full((4,), 0.5, requires_grad=True)
    given = (mine, shared[1 - side.rank]) if rows else (shared,)

    def run(call: Any) -> list[Any]:
        found = []
        for i in range(4):
            if i % 2 == side.rank:
                time.sleep(0.2)
            before, got, loss = call(mine_of(side, 4, plus=i), weight, *given)
            loss.backward()
            found += [before, got, whole(loss), whole(weight.grad)]
            dist.barrier()
            mine.zero_()
            dist.barrier()
        weight.grad = None
        return found

    found = run(side.compile(forward))
    if side.name == "suture":
        for backend in ("eager", "inductor"):
            call = side.compile(forward, backend=backend, fullgraph=True)
            torch.testing.assert_close(run(call), found)
    return {"values": found}


def memory_of_both(side: Any) -> Any:
    """What a rank writes to is a tensor of its own."""

    def forward(x: Any, weight: Any, mine: Any, theirs: Any) -> Any:
        before = theirs.clone()
        dist.barrier()
        mine.copy_(x * 2)
        y = x.sin() * weight
        dist.barrier()
        got = theirs + 1
        dist.barrier()
        return before, got, (y * got).sum()

    return _over_shared_memory(side, forward, rows=True)


def rows_of_one_tensor(side: Any) -> Any:
    """Each rank writes one row while the other writes the next one: compilers write the whole."""

    def forward(x: Any, weight: Any, shared: Any) -> Any:
        before = shared[1 - side.rank].clone()
        dist.barrier()
        shared[side.rank].copy_(x * 2)
        y = x.sin() * weight
        dist.barrier()
        got = shared[1 - side.rank] + 1
        dist.barrier()
        return before, got, (y * got).sum()

    return _over_shared_memory(side, forward, rows=False)


def barriers_and_collectives(side: Any) -> Any:
    """One rank runs plainly what the other one runs compiled: barriers meet barriers, between
    collectives of all ranks and of another group."""
    group = dist.new_group([0, 1])

    def forward(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        dist.all_reduce(y)
        dist.barrier(group=group)
        dist.all_reduce(y, group=group)
        dist.barrier()
        z = y + x
        dist.broadcast(z, src=1)
        return z

    def run(**options: Any) -> Any:
        call = side.compile(forward, **options)
        mixed = [call if i % 2 == side.rank else forward for i in range(4)]
        return [one(mine_of(side, 3, plus=i)) for i, one in enumerate((call, *mixed))]

    found = run()
    if side.name == "suture":
        for backend in ("eager", "inductor"):
            torch.testing.assert_close(run(backend=backend, fullgraph=True), found)
    return {"values": found}


def with_options(side: Any) -> Any:
    """A timeout of its own, which a barrier that all come to does not reach; the older
    torches know none."""
    own = "timeout" in inspect.signature(dist.barrier).parameters
    given = {"timeout": timedelta(minutes=3)} if own else {}

    def forward(x: torch.Tensor) -> torch.Tensor:
        y = x * 2
        dist.barrier(**given)
        return y + 1

    return calls(side, forward, 3)


def other_modes(side: Any) -> Any:
    """What is before a barrier and behind it computes in the mode that the program has switched."""

    def forward(x: Any, weight: Any, mine: Any, theirs: Any) -> Any:
        with torch.no_grad():
            before = theirs.clone()
            dist.barrier()
            mine.copy_(x * weight)
            dist.barrier()
            got = theirs * weight
        assert not got.requires_grad
        y = (x + 1) * weight  # numbers that have no more digits than bfloat16 keeps
        with torch.autocast("cpu", dtype=torch.bfloat16):
            dist.barrier()
            loss = y @ got
        return before, got, loss

    return _over_shared_memory(side, forward, rows=True)


def many_sizes(side: Any) -> Any:
    """Sizes are symbols, on both sides of barriers and collectives."""

    def forward(x: torch.Tensor) -> Any:
        rows = x.size(0)
        y = torch.cat([x, x]) * 2
        dist.barrier()
        z = y.view(rows, -1) * rows
        dist.all_reduce(z)
        dist.barrier()
        return z.reshape(rows * 2, -1) + 1, rows * 2

    def run(**options: Any) -> Any:
        call = side.compile(forward, dynamic=True, **options)
        return [call(mine_of(side, size, 2, plus=size)) for size in (3, 4, 7)]

    found = run()
    if side.name == "suture":
        for backend in ("eager", "inductor"):
            torch.testing.assert_close(run(backend=backend, fullgraph=True), found)
    return {"values": found}


def sent_before(side: Any) -> Any:
    """A collective of the same group has arrived behind the barrier, waited for or not."""

    def forward(x: torch.Tensor) -> Any:
        y = x * 2
        handle = dist.all_reduce(y, async_op=True)
        z = x.sin()
        dist.barrier()
        got = y + z
        handle.wait()
        return got, y

    return _with_compilers(side, forward)


def under_way(side: Any) -> Any:
    """One rank begins a collective of another group before the barrier, one behind it: who waited
    for it before the barrier would wait for ever."""
    group = dist.new_group([0, 1])

    def forward(x: torch.Tensor) -> Any:
        y = x * 2
        if side.rank == 0:
            handle = dist.all_reduce(y, group=group, async_op=True)
            dist.barrier()
        else:
            dist.barrier()
            handle = dist.all_reduce(y, group=group, async_op=True)
        z = x.sin()
        handle.wait()
        return y + z

    return _with_compilers(side, forward)


def _with_compilers(side: Any, forward: Any) -> Any:
    found = calls(side, forward, 2, 3)
    if side.name == "suture":
        for backend in ("eager", "inductor"):
            call = side.compile(forward, backend=backend, fullgraph=True)
            made = [call(mine_of(side, 2, 3, plus=i)) for i in range(3)]
            torch.testing.assert_close(made, found["values"])
    return found


def spread_tensors(side: Any) -> Any:
    """DTensors that are redistributed on both sides."""
    mesh = init_device_mesh("cpu", (side.world,))
    weight = DTensor.from_local(torch.full((4, 2), 0.5), mesh, [Shard(1)])

    def forward(x: torch.Tensor) -> torch.Tensor:
        spread = DTensor.from_local(x, mesh, [Shard(0)])
        y = (spread.redistribute(mesh, [Replicate()]) @ weight).sin()
        dist.barrier()
        return (y * 2).redistribute(mesh, [Replicate()]).to_local()

    return calls(side, forward, 3, 4)


def spread_parameters(side: Any) -> Any:
    """The same with derivatives. AOTAutograd refuses the graphs that torch.compile makes."""
    if side.name == "torch":
        return None
    mesh = init_device_mesh("cpu", (side.world,))
    weight = DTensor.from_local(torch.full((4, 2), 0.5), mesh, [Shard(1)]).requires_grad_()

    def forward(x: torch.Tensor) -> torch.Tensor:
        y = (DTensor.from_local(x, mesh, [Replicate()]) @ weight).sin()
        dist.barrier()
        return (y * 2).redistribute(mesh, [Replicate()]).to_local()

    call = side.compile(forward)
    found = []
    for i in range(3):
        made = call(mine_of(side, 3, 4, plus=i))
        made.sum().backward()
        found += [whole(made), whole(weight.grad.to_local())]
    return {"values": found}


def computed_again(side: Any) -> Any:
    """A function that is run again in the backward comes to its barrier again."""
    weight = torch.full((3,), 0.5, requires_grad=True)
    come: list[int] = []

    def inner(x: torch.Tensor) -> torch.Tensor:
        y = x.sin()
        come.append(1)
        dist.barrier()
        return y * 2

    def forward(x: torch.Tensor) -> torch.Tensor:
        return checkpoint(inner, x * weight, use_reentrant=False).sum()

    call = side.compile(forward)
    for i in range(3):
        call(mine_of(side, 3, plus=i)).backward()
    side.seen["come"] = len(come)
    return {"values": [whole(weight.grad)]}
