"""`suture cache` and `suture run --cache`."""

from __future__ import annotations

import json

import pytest
import torch

import suture
from suture.tools.cli import main
from tests.runtime.store.kept import own_marks_only


@pytest.fixture(autouse=True)
def own_marks(monkeypatch):
    own_marks_only(monkeypatch)


@pytest.fixture
def folder(tmp_path):
    def fn(x):
        return x.sin() + 1

    suture.reset()
    root = tmp_path / "cache"
    with suture.config.patch(cache_dir=str(root)):
        suture.compile(fn, backend="eager")(torch.ones(3))
        suture.compile(fn, backend="eager", dynamic=False)(torch.ones(4))
    return root


def files(folder):
    return sorted(folder.glob("??/*/*.variant"))


def told(capsys, *words):
    code = main(["cache", *words])
    return code, capsys.readouterr().out


def test_list(folder, capsys):
    code, text = told(capsys, "list", "--dir", str(folder))
    assert code == 0
    assert "fn:" in text and "2 variants" in text
    code, text = told(capsys, "list", "--json", "--dir", str(folder))
    assert {row["name"] for row in json.loads(text)} == {path.stem for path in files(folder)}


def test_show(folder, capsys):
    name = files(folder)[0].stem
    code, text = told(capsys, "show", name[:10], "--dir", str(folder))
    assert code == 0
    assert "graph(x)" in text and "x.sin()" in text
    code, text = told(capsys, "show", name, "--json", "--dir", str(folder))
    assert json.loads(text)["variant"]["ops"] == 2


def test_verify(folder, capsys):
    code, text = told(capsys, "verify", "--dir", str(folder))
    assert (code, text.strip()) == (0, "2 of 2 files are whole")
    files(folder)[0].write_bytes(files(folder)[0].read_bytes()[:-1])
    code, text = told(capsys, "verify", "--dir", str(folder))
    assert code == 1 and "altered or cut short" in text


def test_clear(folder, capsys):
    first, second = files(folder)
    assert told(capsys, "clear", first.stem, "--dir", str(folder))[0] == 0
    assert files(folder) == [second]
    assert told(capsys, "clear", "--dir", str(folder))[0] == 0
    assert not list(folder.iterdir())


def test_both_graphs_of_a_training_step_are_shown(tmp_path, capsys):
    def fn(x):
        return x.sin() * 3

    suture.reset()
    with suture.config.patch(cache_dir=str(tmp_path / "cache")):
        suture.compile(fn, backend="aot_eager")(torch.ones(3, requires_grad=True))
    code, text = told(capsys, "show", "--dir", str(tmp_path / "cache"))
    assert code == 0
    assert "aten.sin.default" in text and "aten.cos.default" in text


def test_libraries_go_with_all_variants_and_not_with_one(folder, capsys):
    (folder / "blobs").mkdir(mode=0o700)
    (folder / "blobs" / "abc.so").write_bytes(b"a library")
    told(capsys, "clear", files(folder)[0].stem, "--dir", str(folder))
    assert (folder / "blobs" / "abc.so").exists()
    told(capsys, "clear", "--dir", str(folder))
    assert not (folder / "blobs").exists()


def test_there_must_be_one(tmp_path, capsys):
    assert main(["cache", "list"]) == 2
    assert main(["cache", "list", "--dir", str(tmp_path / "no")]) == 2
    assert main(["cache", "show", "abc", "--dir", str(tmp_path)]) == 2


def test_run_with_a_cache(tmp_path, capsys, monkeypatch):
    script = tmp_path / "script.py"
    script.write_text(
        "import torch\n"
        "fn = torch.compile(lambda x: x.cos() + 1, backend='eager')\n"
        "print(fn(torch.zeros(2)).tolist())\n"
    )
    monkeypatch.setattr(suture.config, "cache_dir", "")
    root = tmp_path / "kept"
    try:
        for _ in range(2):
            suture.reset()
            assert main(["run", "-q", f"--cache={root}", str(script)]) == 0
            assert capsys.readouterr().out.strip() == "[2.0, 2.0]"
    finally:
        suture.config.cache_dir = ""
    assert len(files(root)) == 1
