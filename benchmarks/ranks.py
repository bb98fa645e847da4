"""A thousand ranks that meet the same code, simulated: who compiles, and what they tell each other.

    python benchmarks/ranks.py [--ranks 1000]        print the table
    python benchmarks/ranks.py --write               and put it into docs/benchmarks.md
    python benchmarks/ranks.py --ranks 16 --json     the numbers

Two things are simulated, in one process. Keys: each rank in turn is a member of torch's fake
process group, has the program imported anew and everything compiled forgotten, and calls it with
the cache that the ranks before have left. Words: each rank is a thread with an agreement of its
own, on one store that counts; they take the steps that a hit, and a miss on one of them, take.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import logging
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from table import finish

import suture
from suture.look import unit_of
from suture.runtime.agreement import HIT, MADE, MISS, TURN, Agreement
from suture.runtime.store.environment import key_of

PROGRAM = """\
import torch
import torch.distributed as dist


def step(x):
    y = (x * dist.get_world_size()).sin()
    dist.all_reduce(y)
    return y + 1
"""


# ---- keys


def keys(world: int, folder: Path) -> dict[str, Any]:
    """What the ranks find in the cache, one after the other."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    path = folder / "simulated_program.py"
    path.write_text(PROGRAM)
    lines = _heard()
    found: set[str] = set()
    kept = loaded = 0
    began = time.perf_counter()
    for rank in range(world):
        suture.reset()
        program = _imported(path)
        dist.init_process_group("fake", rank=rank, world_size=world, store=FakeStore())
        try:
            compiled = suture.compile(program.step, backend="eager", fullgraph=True)
            with suture.config.patch(cache_dir=str(folder / "cache")):
                compiled(torch.ones(4))
                unit = unit_of(compiled)
                found |= {key_of(unit.options, point.data.chain) for point in unit.points.values()}
        finally:
            dist.destroy_process_group()
        kept += sum("kept as" in line for line in lines)
        loaded += sum("comes from" in line for line in lines)
        lines.clear()
    took = time.perf_counter() - began
    return {"keys": len(found), "compiled": kept, "loaded": loaded, "seconds": took}


def _imported(path: Path) -> Any:
    """The program as a process sees it that has just started."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def _heard() -> list[str]:
    """What the log of the cache says, from now on."""
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger("suture.cache")
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    return lines


# ---- words


class Counting:
    """A store that counts what it is asked, and the bytes that it is given and gives."""

    def __init__(self) -> None:
        self.store = dist.HashStore()
        self.lock = threading.Lock()
        self.requests = self.bytes = self.largest = 0

    def _count(self, size: int, of_one: bool = True) -> None:
        with self.lock:
            self.requests += 1
            self.bytes += size
            self.largest = max(self.largest, size if of_one else 0)

    def set(self, key: str, value: str) -> None:
        self._count(len(value))
        self.store.set(key, value)

    def get(self, key: str) -> bytes:
        value = self.store.get(key)
        self._count(len(value))
        return value

    def multi_get(self, names: list[str]) -> list[bytes]:
        values = self.store.multi_get(names)
        self._count(sum(map(len, values)), of_one=False)
        return values

    def wait(self, names: list[str], timeout: Any) -> None:
        self._count(0)
        self.store.wait(names, timeout)

    def check(self, names: list[str]) -> bool:
        self._count(0)
        return self.store.check(names)

    def delete_key(self, key: str) -> None:
        self._count(0)
        self.store.delete_key(key)


def words(world: int, steps: list[Any]) -> dict[str, Any]:
    """What the ranks tell each other: `steps` are functions that give the word of a rank."""
    store = Counting()
    agreements = [Agreement(None, rank, world, store) for rank in range(world)]
    failed: list[BaseException] = []

    def live(agreement: Agreement) -> None:
        try:
            for word in steps:
                heard = agreement.exchange(word(agreement.rank))
                assert len(heard) == world
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=live, args=(one,)) for one in agreements]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return {
        "messages of a rank": agreements[-1].messages,
        "requests": store.requests,
        "bytes": store.bytes,
        "largest": store.largest,
        "seconds": time.perf_counter() - began,
    }


AT = "step (simulated_program.py:6)"


def hit(rank: int) -> dict[str, Any]:
    return {"at": AT, "does": HIT}


def one_misses(rank: int) -> dict[str, Any]:
    """The last word of rank 0 fits, another rank has seen another size."""
    return hit(rank) if rank != 1 else sizes(rank)


def sizes(rank: int) -> dict[str, Any]:
    why = "x.size(0) == 4: was 4, is 5" if rank == 1 else ""
    shape = [5 if rank == 1 else 4]
    return {"at": AT, "does": MISS, "why": why, "sizes": {"L['x']": shape}, "numbers": {}}


def turn(rank: int) -> dict[str, Any]:
    return {"at": AT, "does": TURN}


def made(rank: int) -> dict[str, Any]:
    return {"at": AT, "does": MADE, "why": "5 operations, then Return"}


def simulate(world: int) -> dict[str, Any]:
    threading.stack_size(256 * 1024)
    with tempfile.TemporaryDirectory() as folder:
        cached = keys(world, Path(folder))
    with suture.config.patch(agree_timeout=600):
        return {
            "ranks": world,
            "cache": cached,
            "hit": words(world, [hit]),
            "miss": words(world, [one_misses, sizes, turn, made]),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=1000)
    parser.add_argument("--write", action="store_true", help="put the table into the guide")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.json:
        print(json.dumps(simulate(options.ranks)))
        return
    head = ["ranks", "keys", "compiled", "loaded", "messages of a rank", "requests to the store"]
    head += ["largest answer, bytes", "all bytes"]
    rows = []
    for world in (2, 16, options.ranks):
        found = simulate(world)
        row = [str(world), *(str(found["cache"][name]) for name in head[1:4])]
        for name in ("messages of a rank", "requests", "largest", "bytes"):
            row.append(f"{found['hit'][name]} / {found['miss'][name]}")
        rows.append(row)
    finish(options, "ranks", head, rows)


if __name__ == "__main__":
    main()
