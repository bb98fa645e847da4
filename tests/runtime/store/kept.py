"""Two processes in one: a program is written to a file, imported, compiled and called; then again
from another text, as a new module of the same name, with everything compiled forgotten."""

from __future__ import annotations

import copy
import importlib
import logging
import sys
from contextlib import contextmanager
from pathlib import Path

import torch

import suture
from suture.rules import mark_table
from suture.torch_private import torchdynamo

NAME = "kept_program"


class Cache:
    """A cache folder, and programs that are run with it."""

    def __init__(self, folder, monkeypatch):
        self.folder = folder / "cache"
        self.programs = folder / "programs"
        self.programs.mkdir()
        monkeypatch.syspath_prepend(str(self.programs))
        self.count = 0
        self.lines = []

    def load(self, text):
        """The program as a module that was just imported."""
        self.count += 1
        sys.modules.pop(NAME, None)
        path = self.programs / f"{NAME}.py"
        path.write_text("import torch\nfrom torch import nn\n" + text)
        importlib.invalidate_caches()
        spec = importlib.util.spec_from_file_location(NAME, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[NAME] = module
        exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
        return module

    @contextmanager
    def told(self):
        """What the log of the cache says in the block, in `lines`."""
        self.lines = []
        handler = logging.Handler()
        handler.emit = lambda record: self.lines.append(record.getMessage())
        log = logging.getLogger("suture.cache")
        log.addHandler(handler)
        level = log.level
        log.setLevel(logging.INFO)
        try:
            yield
        finally:
            log.setLevel(level)
            log.removeHandler(handler)

    def run(self, text, *calls, prepare=None, backend="eager", **options):
        """Run `fn` of the program on each of the calls' arguments, compiled and not; they agree.
        Gives how many variants came from the cache and how many were kept."""
        suture.reset()
        module = self.load(text)
        if prepare is not None:
            prepare(module)
        with suture.config.patch(cache_dir=str(self.folder)), self.told():
            compiled = suture.compile(module.fn, backend=backend, **options)
            for args in calls:
                theirs = copy.deepcopy(args)
                torch.testing.assert_close(compiled(*args), module.fn(*theirs))
                torch.testing.assert_close(args, theirs)
        return self.used(), sum("kept as" in line for line in self.lines)

    def assert_used_again(self, text, *calls):
        """All that a first process keeps of the program is what a second one needs."""
        _, kept = self.run(text, *calls)
        assert kept > 0, self.lines
        used, more = self.run(text, *calls)
        assert (used, more) == (kept, 0), self.lines

    def used(self):
        return sum("comes from" in line for line in self.lines)

    def files(self):
        return sorted(self.folder.glob("??/*/*.variant"))


def own_marks_only(monkeypatch) -> None:
    """Functions that other tests of this process have marked are not marks of the program."""
    for table in ("_marks", "_codes"):
        monkeypatch.setattr(mark_table, table, {})
    monkeypatch.setattr(torchdynamo, "marked_by_programs", list)


FAULTS = ("cut", "altered", "gone", "foreign", "open")


def spoil(path: Path, fault: str) -> None:
    """Let one of FAULTS happen to a file of the cache."""
    data = path.read_bytes()
    if fault == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif fault == "altered":
        path.write_bytes(data[:1000] + bytes([data[1000] ^ 1]) + data[1001:])
    elif fault == "foreign":
        path.write_bytes(b"of somebody else")
    elif fault == "open":
        path.chmod(0o666)
    else:
        path.unlink()
