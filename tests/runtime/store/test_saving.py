"""suture.save and suture.load: one file with what was compiled of a model."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest
import torch

import suture
from suture.runtime.store import environment, shipped
from tests.runtime.store.test_programs import ROOT, finished, start

X = torch.arange(6.0).reshape(2, 3) / 7
NET = """
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(3, 4), nn.Linear(4, 2)
    def forward(self, x):
        y = self.first(x).relu()
        if y.sum() > 1e9:
            y = y + 1
        return self.second(y)
net = Net()
"""


def saved(cache, path, text=NET, backend="eager", **options):
    """Compile the module of a program, call it and save it."""
    suture.reset()
    module = cache.load(text)
    with suture.config.patch(cache_dir=str(cache.folder)):
        compiled = suture.compile(module.net, backend=backend)
        compiled(X)
        suture.save(compiled, path, **options)


def loaded(cache, path, text=NET):
    """How many variants came from the file; results are those of the module."""
    suture.reset()
    module = cache.load(text)
    with cache.told():
        compiled = suture.load(module.net, path)
        torch.testing.assert_close(compiled(X), module.net(X))
    return cache.used()


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "inductor"])
def test_a_model_runs_from_its_file(cache, tmp_path, backend):
    saved(cache, tmp_path / "net.suture", backend=backend)
    assert loaded(cache, tmp_path / "net.suture") == 2, cache.lines


def test_other_weights_and_another_program(cache, tmp_path):
    saved(cache, tmp_path / "net.suture")
    assert loaded(cache, tmp_path / "net.suture", NET.replace("seed(0)", "seed(1)")) == 2
    assert loaded(cache, tmp_path / "net.suture", NET.replace("relu", "tanh")) == 0


def test_without_a_cache_there_is_nothing_to_save(cache, tmp_path):
    compiled = suture.compile(cache.load(NET).net, backend="eager")
    compiled(X)
    with pytest.raises(suture.exc.UserError, match="cache_dir"):
        suture.save(compiled, tmp_path / "net.suture")


def test_what_was_compiled_before_the_cache_was_set_is_not_saved(cache, tmp_path):
    compiled = suture.compile(cache.load(NET).net, backend="eager")
    compiled(X)
    with suture.config.patch(cache_dir=str(cache.folder)):
        with pytest.raises(suture.exc.UserError, match="compiled without a cache"):
            suture.save(compiled, tmp_path / "net.suture")
    assert not (tmp_path / "net.suture").exists()


def test_what_cannot_be_kept_is_named(cache, tmp_path):
    made = "return torch.cond(y.sum() > 0, lambda t: t + 1, lambda t: t - 1, (y,))"
    text = NET.replace("return self.second(y)", made)
    with pytest.raises(suture.exc.UserError, match="graphs inside"):
        saved(cache, tmp_path / "net.suture", text)
    saved(cache, tmp_path / "net.suture", text, partial=True)
    assert (tmp_path / "net.suture").exists()


@pytest.mark.parametrize("change", ["cut", "altered", "foreign", "newer", "missing"])
def test_a_file_with_a_fault_is_refused(cache, tmp_path, change):
    path = tmp_path / "net.suture"
    saved(cache, path, backend="inductor")
    data = path.read_bytes()
    made = {
        "cut": data[:-10],
        "altered": data[:2000] + bytes([data[2000] ^ 1]) + data[2001:],
        "foreign": b"PK\x03\x04 and more",
        "newer": re.sub(rb"^suture-model \d+", b"suture-model 99", data),
    }
    path.write_bytes(made[change]) if change in made else path.unlink()
    with pytest.raises(suture.exc.UserError, match="is not used"):
        suture.load(cache.load(NET).net, path)


@pytest.mark.parametrize("name", sorted(environment.described_machine()))
def test_another_machine_or_version_is_named(cache, tmp_path, monkeypatch, name):
    saved(cache, tmp_path / "net.suture")
    described = {**environment.described_machine(), name: "another"}
    monkeypatch.setattr(shipped, "described_machine", lambda: described)
    with pytest.raises(suture.exc.UserError, match=f"another state of: {name}$"):
        suture.load(cache.load(NET).net, tmp_path / "net.suture")


def test_other_settings_find_nothing(cache, tmp_path):
    saved(cache, tmp_path / "net.suture")
    with suture.config.patch(inline_limit=7):
        assert loaded(cache, tmp_path / "net.suture") == 0
    assert any("nothing for this place" in line for line in cache.lines)


MAIN = """
import sys, torch, suture
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.Linear(16, 4))
x = torch.randn(3, 8)
if suture.config.cache_dir:
    compiled = suture.compile(net)
    compiled(x).sum().backward()
    suture.save(compiled, PATH)
else:
    compiled = suture.load(net, PATH)
    out = compiled(x)
    assert (out - net(x)).abs().max() < 1e-6
    out.sum().backward()
heavy = ("suture.compiler", "sympy", "torch._dynamo", "torch._inductor")
print(sum(m == h or m.startswith(h + ".") for m in sys.modules for h in heavy))
"""


def test_a_process_that_loads_imports_no_compiler(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(MAIN.replace("PATH", repr(str(tmp_path / "net.suture"))))
    assert finished(start(tmp_path / "cache", script)) > 0
    assert finished(start("", script)) == 0


def test_the_example_runs_without_the_compiler():
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    script = str(ROOT / "examples" / "save_and_load.py")
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "imported of the compiler: nothing" in done.stdout
