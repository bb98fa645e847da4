"""The static look: what it finds is what compiling reports, and nothing is executed."""

from __future__ import annotations

import json
import textwrap

import pytest
import torch

import suture
from suture import events
from suture.tools.check import check_paths, check_source
from suture.tools.check.sarif import sarif

HEAD = "import logging, random, time, torch\nfrom torch import nn\nlog = logging.getLogger('x')\n"
BODIES = [
    "if y.sum() > 0: y = y + 1",
    "while y.sum() < 0: y = y + 1",
    "y = y + 1 if y.any() else y",
    "assert (y > -9).all()",
    "n = y.sum().item()\n    if n > 3: y = y - 1",
    "n = y.sum().item()\n    if n > 99: raise ValueError",
    "print('y', y)",
    "print(y.shape[0])",
    "s = str(y)",
    "s = f'{y.sum()}'",
    "b = bool(y.sum() > 0)",
    "b = y.sum() > 0 and y.mean() > 0",
    "b = not y.sum()",
    "m = max(y[0], y[1])",
    "i = 1 in y",
    "torch._dynamo.graph_break()",
    "suture.graph_break()",
    "t = time.perf_counter()",
    "log.info('hello')",
    "e = torch.equal(y, y)",
    "if y is None: y = x",
    "if x is not None and (x > 0).any(): y = y + 1",
    "if y.dim() == 1: y = y + 1",
    "n = y.sum().item()",
    "if not torch.compiler.is_compiling(): print(y)",
    "if torch.is_grad_enabled(): y = y + 1",
    "for i in y.nonzero(): y = y + 1",
    "for i in torch.nonzero(y > 0): y = y + 1",
    "for i in y.unique().tolist(): y = y + i",
    "for k, i in enumerate(torch.unique(y)): y = y + k",
    "for k in range(len(y.nonzero())): y = y + k",
    "found = y.nonzero()\n    for i in found: y = y + 1",
    "for i in torch.where(y > 0)[0]: y = y + 1",
    "for i in y: y = y + 1",
    "for i in y.tolist(): y = y + 1",
    "n = [y + 1 for i in y.nonzero()]",
    "r = random.random()\n    y = y * r",
    "if random.random() < 0.5: y = y + 1",
]


def program(body):
    head = f"{HEAD}import suture\n@torch.compile\ndef fn(x):\n    y = x.sin()\n"
    return f"{head}    {body}\n    return y.cos()\n"


@pytest.mark.parametrize("body", BODIES)
def test_the_numbers_are_those_that_compiling_reports(body, tmp_path, capsys):
    path = tmp_path / "program.py"
    path.write_text(program(body))
    found = [(one.number, one.line) for one in check_source(path.read_text(), str(path))]
    space = {}
    suture.install()
    try:
        exec(compile(path.read_text(), str(path), "exec"), space)
    finally:
        suture.uninstall()
    suture.reset()
    with events.recorded(events.Broke) as seen:
        suture.compile(space["fn"], backend="eager")(torch.ones(3))
    real = {(event.number, event.where.line) for event in seen if event.where.file == str(path)}
    assert set(found) == real


def numbers(source, **options):
    return [one.number for one in check_source(textwrap.dedent(source), **options)]


def test_only_what_is_compiled_is_looked_at():
    source = """
        import torch
        def plain(x: torch.Tensor):
            print(x)
        def handed(x: torch.Tensor):
            helper(x)
        def helper(y):
            print(y)
        @torch.compiler.disable
        def disabled(x: torch.Tensor):
            print(x)
        compiled = torch.compile(handed)
    """
    assert numbers(source) == ["GB0059"]
    lines = [one.line for one in check_source(textwrap.dedent(source))]
    assert lines == [8]
    everywhere = [one.line for one in check_source(textwrap.dedent(source), everything=True)]
    assert everywhere == [4, 8]


def test_forward_of_modules_and_the_methods_it_calls():
    source = """
        import torch
        from torch import nn
        class Base(nn.Module):
            pass
        class Net(Base):
            def __init__(self):
                super().__init__()
                self.a = nn.Linear(2, 2)
            def forward(self, x, mask=None):
                y = self.a(x)
                if mask is not None:
                    y = y * mask
                return self.finish(y)
            def finish(self, y):
                if y.mean() > 0:
                    return y
                return -y
        class Other:
            def forward(self, x):
                print(torch.sin(x))
    """
    assert numbers(source) == ["GB0170"]


def test_comments_silence():
    source = program("if y.sum() > 0: y = y + 1  # suture: ignore[GB0170]")
    assert numbers(source) == []
    assert numbers(source.replace("[GB0170]", "")) == []
    assert numbers(source.replace("[GB0170]", "[gb0059, gb0170]")) == []
    assert numbers(source.replace("[GB0170]", "[GB0059]")) == ["GB0170"]


def test_columns_count_characters():
    (one,) = check_source(program("print('é漢', y)"))
    assert (one.column, one.end_column) == (4, 4 + len("print('é漢', y)"))


def test_nothing_of_the_tree_runs(tmp_path):
    mark = tmp_path / "ran"
    (tmp_path / "evil.py").write_text(f"open({str(mark)!r}, 'w')\nimport evil_too\n")
    (tmp_path / "evil_too.py").write_text(f"open({str(mark)!r}, 'w')\n")
    check_paths([tmp_path])
    assert not mark.exists()


@pytest.mark.parametrize(
    "data",
    [b"def f(:\n", b"\xff\xfe\x00", b"x = 1\x00", b"(" * 5000],
    ids=["syntax", "bytes", "null", "deep"],
)
def test_files_that_are_no_python_are_named(tmp_path, data):
    (tmp_path / "bad.py").write_bytes(data)
    (tmp_path / "good.py").write_text(program("print(y)"))
    findings, unreadable = check_paths([tmp_path])
    assert [one.number for one in findings] == ["GB0059"]
    assert [one.file for one in unreadable] == [str(tmp_path / "bad.py")]


def test_sarif_is_what_code_hosts_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a dir").mkdir()
    path = tmp_path / "a dir" / "hostile\x1b.py"
    path.write_text(program("print('</script>\\x1b[31m', y)"))
    (tmp_path / "bad.py").write_text("def (")
    log = json.loads(sarif(*check_paths([tmp_path])))
    (run,) = log["runs"]
    assert log["version"] == "2.1.0"
    (rule,) = run["tool"]["driver"]["rules"]
    (result,) = run["results"]
    assert result["ruleId"] == rule["id"] == "GB0059"
    location = result["locations"][0]["physicalLocation"]
    assert location["artifactLocation"]["uri"] == "a%20dir/hostile%1B.py"
    assert location["region"]["startLine"] == 8
    assert location["region"]["startColumn"] == 5
    assert "\x1b" not in json.dumps(log, ensure_ascii=False)
    driver = run["tool"]["driver"]
    assert driver["version"]
    assert rule["name"] == "PrintOrAnotherBuiltinOfATensorSValues"
    assert rule["helpUri"].endswith("/GB0059.md")
    assert run["invocations"][0]["toolExecutionNotifications"]


def test_a_truth_of_an_argument_that_nothing_else_shows_to_be_a_tensor():
    source = (
        "import torch\n@torch.compile\ndef f(x, mask=None):\n"
        "    if mask is not None and mask.any():\n        x = x + 1\n"
        "    if self.mask.all():\n        x = x + 1\n"
        "    if any(n for n in (1, 2)):\n        x = x + 1\n"
        "    return x\n"
    )
    found = [(one.number, one.line, one.message) for one in check_source(source)]
    assert found == [
        ("GB0170", 4, "branch on the value of mask.any()"),
        ("GB0170", 6, "branch on the value of self.mask.all()"),
    ]


def test_a_file_that_is_opened():
    source = (
        "import torch\n@torch.compile\ndef f(x):\n    with open('a') as file:\n        return x\n"
    )
    (one,) = check_source(source)
    assert (one.number, one.message) == ("GB0177", "open is implemented in C and has no model")
    assert one.hint.startswith("Read or write the file before")


def test_names_of_rules_are_one_word():
    from suture.breaks import catalog
    from suture.tools.check.sarif import _name

    names = [_name(entry.heading) for entry in catalog.entries()]
    assert all(name.isalnum() for name in names)
    assert names[0][0].isupper()
