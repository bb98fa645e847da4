"""DistributedDataParallel on two gloo processes: compiled ranks get the gradients of plain ones."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap

import torch

WORKER = textwrap.dedent(
    """
    import os, sys
    import torch, torch.distributed as dist
    from torch.nn.parallel import DistributedDataParallel
    import suture

    rank, out = int(sys.argv[1]), sys.argv[2]
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=2)

    def gradients(compiled):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
        inner = suture.compile(model, backend="aot_eager") if compiled else model
        ddp = DistributedDataParallel(inner)
        torch.manual_seed(rank + 1)
        for _ in range(2):
            ddp(torch.randn(3, 4)).pow(2).sum().backward()
        return [p.grad.clone() for p in model.parameters()]

    plain, ours = gradients(False), gradients(True)
    torch.save({"plain": plain, "ours": ours, "graphs": suture.stats().graphs}, out)
    dist.destroy_process_group()
    """
)


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def test_gradients_equal_those_of_plain_ddp(tmp_path):
    env = dict(os.environ, MASTER_ADDR="127.0.0.1", MASTER_PORT=str(free_port()))
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    outs = [tmp_path / f"rank{r}.pt" for r in range(2)]
    workers = [
        subprocess.Popen([sys.executable, str(script), str(r), str(outs[r])], env=env)
        for r in range(2)
    ]
    assert [w.wait(timeout=240) for w in workers] == [0, 0]
    results = [torch.load(out) for out in outs]
    for result in results:
        assert result["graphs"] >= 1
        torch.testing.assert_close(result["ours"], result["plain"])
    torch.testing.assert_close(results[0]["ours"], results[1]["ours"])
