"""Start the ranks of a group as processes of their own, on the loopback interface, with gloo."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import torch

_ROOT = Path(__file__).resolve().parents[2]
WORKER = Path(__file__).with_name("worker.py")


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def environment(**more: str) -> dict[str, str]:
    """For a process of a group: loopback only, one thread, this checkout's suture."""
    given = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(free_port()),
        "GLOO_SOCKET_IFNAME": "lo",
        "OMP_NUM_THREADS": "1",
        "CUDA_VISIBLE_DEVICES": "",  # meshes of CPUs: torch would choose a GPU that is there
        "PYTHONPATH": os.pathsep.join([str(_ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    return {**os.environ, **given, **more}


def start(
    world: int, folder: Path, *names: str, script: Path = WORKER, **more: str
) -> list[subprocess.Popen[str]]:
    """The processes of a group; each runs the named scenarios and leaves `rank<r>.pt`. `more` goes
    into their environment."""
    env = environment(WORLD_SIZE=str(world), **more)
    started = []
    for rank in range(world):
        asked = [sys.executable, str(script), str(rank), str(folder / f"rank{rank}.pt"), *names]
        with open(folder / f"rank{rank}.err", "w") as said:
            started.append(subprocess.Popen(asked, env=env, text=True, stdout=said, stderr=said))
    return started


def wait(ranks: list[subprocess.Popen[str]], seconds: float) -> list[int]:
    """The exit codes; ranks that have not ended by then are killed and count as -9."""
    until = time.monotonic() + seconds
    try:
        for rank in ranks:
            rank.wait(max(0.1, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        pass
    finally:
        for rank in ranks:
            if rank.poll() is None:
                rank.kill()
            rank.wait()
    return [rank.returncode for rank in ranks]


def run(
    world: int, folder: Path, *names: str, seconds: float = 500, **more: str
) -> list[dict[str, Any]]:
    """What each rank found, by scenario. A rank that fails fails the test, with what it said."""
    codes = wait(start(world, folder, *names, **more), seconds)
    said = [(folder / f"rank{rank}.err").read_text()[-3000:] for rank in range(world)]
    assert codes == [0] * world, f"exit codes {codes}\n" + "\n".join(said)
    return [torch.load(folder / f"rank{rank}.pt", weights_only=False) for rank in range(world)]


def assert_as_uncompiled(found: dict[str, Any]) -> None:
    """Of each program, by name, what its ranks told: trained alike, and no frame was given up."""
    for name, (_, ranks) in found.items():
        for rank in ranks:
            torch.testing.assert_close(rank["suture"], rank["plain"], msg=lambda m: f"{name}: {m}")
            assert rank["suture seen"] == rank["plain seen"], name
            assert rank["interpreted"] == [], name
