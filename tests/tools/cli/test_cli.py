"""The commands: what they print, how they end, what they say to bad input."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import suture
from suture.tools.cli import main

ROOT = Path(__file__).parents[3]

MODULE = """\
import torch

SCALE = 3

def step(x, scale=1.0):
    y = x.sin() * scale
    if y.sum() > 0:
        y = y + 1
    return y

def whole(x):
    return x.cos()

class Net(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)

class Sized(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
"""


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    suture.reset()
    monkeypatch.setenv("COLUMNS", "120")
    path = list(sys.path)
    yield
    sys.path[:] = path
    suture.uninstall()


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "given_module.py"
    path.write_text(MODULE)
    return path


def run(capsys, *argv):
    code = main([str(one) for one in argv])
    out, err = capsys.readouterr()
    return code, out, err


def outside(*argv, cwd=None, **environment):
    """A process of its own, as users start it."""
    return subprocess.run(
        [sys.executable, "-m", "suture", *map(str, argv)],
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "120", **environment},
        cwd=cwd, capture_output=True, text=True,
    )  # fmt: skip


class TestExplain:
    def test_a_function_of_a_file(self, capsys, module):
        code, out, _ = run(
            capsys, "explain", f"{module}:step", "-i", "torch.ones(3)", "-i", "scale=2.0"
        )
        assert code == 0
        assert "2 graphs" in out
        assert "GB0170 Data-dependent branching" in out

    def test_json(self, capsys, module):
        code, out, _ = run(capsys, "explain", f"{module}:whole", "-i", "torch.ones(3)", "--json")
        assert code == 0
        assert json.loads(out)["summary"]["graphs"] == 1

    def test_a_module_class_is_made(self, capsys, module):
        code, out, _ = run(capsys, "explain", f"{module}:Net", "-i", "torch.ones(3)")
        assert (code, "1 graph" in out) == (0, True)

    def test_saved(self, capsys, module, tmp_path):
        target = tmp_path / "r.html"
        run(capsys, "explain", f"{module}:whole", "-i", "torch.ones(3)", "--save", target)
        assert target.read_text().startswith("<!doctype html>")

    def test_a_call_that_raises_is_exit_code_1(self, capsys, module):
        code, out, _ = run(capsys, "explain", f"{module}:whole", "-i", "'text'")
        assert code == 1
        assert "AttributeError" in out

    @pytest.mark.parametrize(
        ("target", "more", "said"),
        [
            ("{m}:stepp", (), "did you mean step"),
            ("{m}:SCALE", (), "which cannot be called"),
            ("{m}:Sized", (), "made with arguments"),
            ("{m}x.py:step", (), "there is no file"),
            ("no_such_module_at_all:f", (), "there is no module"),
            ("jsn:loads", (), "did you mean"),
            ("nonsense", (), "neither module:function nor a script"),
            ("{m}:step", ("-i", "torch.one(3)"), "--input 'torch.one(3)': AttributeError"),
            ("{m}:step", ("-i", "torch.ones("), "SyntaxError"),
            ("{m}:step", ("-i", "torch.ones(2)", "--calls", "0"), "from 1 on"),
            ("{m}:step", ("-i", "torch.ones(2)", "--save", "x.pdf"), ".html or .json"),
        ],
    )
    def test_bad_input(self, capsys, module, target, more, said):
        code, _, err = run(capsys, "explain", target.format(m=module), *more)
        assert code == 2
        assert said in err


class TestRun:
    SCRIPT = """\
import sys, torch

@torch.compile
def f(x):
    if x.sum() > 0:
        return x + 1
    return x

def g():
    raise ValueError("boom")

print(f(torch.ones(2)).tolist(), sys.argv[1:], __name__)
if "raise" in sys.argv:
    g()
if "leave" in sys.argv:
    sys.exit("a last word")
sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
"""

    @pytest.fixture
    def script(self, tmp_path):
        path = tmp_path / "script.py"
        path.write_text(self.SCRIPT)
        return path

    def test_output_exit_code_and_report(self, script, tmp_path):
        done = outside("run", "--backend", "eager", "--json", tmp_path / "r.json", script, "7")
        assert done.returncode == 7
        assert done.stdout == "[2.0, 2.0] ['7'] __main__\n"
        assert "GB0170" in done.stderr
        assert json.loads((tmp_path / "r.json").read_text())["summary"]["graphs"] == 2

    def test_tracebacks_are_the_scripts_own(self, script):
        ours = outside("run", "-q", "--backend", "eager", script, "raise")
        script.write_text(self.SCRIPT.replace("@torch.compile", ""))
        plain = subprocess.run(
            [sys.executable, str(script), "raise"], capture_output=True, text=True
        )
        assert ours.returncode == 1
        assert "suture/tools/cli" not in ours.stderr
        assert ours.stderr == plain.stderr

    def test_a_last_word(self, capsys, script):
        code, _, err = run(capsys, "run", "-q", "--backend", "eager", script, "leave")
        assert code == 1
        assert err == "a last word\n"

    @pytest.mark.parametrize(
        ("last", "code", "said"),
        [
            ("raise ValueError('boom')", 1, "raised  ValueError: boom"),
            ("sys.exit(3)", 3, "exited  with code 3"),
            ("sys.exit('no')", 1, "exited  with code 1"),
            ("os.kill(os.getpid(), signal.SIGINT); time.sleep(60)", 130, "interrupted  at "),
            ("os.kill(os.getpid(), signal.SIGTERM); time.sleep(60)", 143, "exited  with code 143"),
        ],
    )
    def test_a_script_that_ends_early_tells_what_was_compiled(self, tmp_path, last, code, said):
        path = tmp_path / "early.py"
        path.write_text(
            "import os, signal, sys, time, torch\n"
            "torch.compile(lambda x: x + 1, backend='eager')(torch.ones(2))\n"
            f"{last}\n"
        )
        done = outside("run", "--json", tmp_path / "r.json", path)
        assert done.returncode == code
        assert "1 graph" in done.stderr and said in done.stderr
        record = json.loads((tmp_path / "r.json").read_text())
        assert record["summary"]["graphs"] == 1
        assert record["error"]

    def test_a_script_that_raises_at_once_is_told_apart(self, capsys, tmp_path):
        path = tmp_path / "early.py"
        path.write_text("raise ValueError('boom')\n")
        code, _, err = run(capsys, "run", path)
        assert code == 1 and "Nothing was compiled before that." in err

    @pytest.mark.parametrize("option", ["--html", "--json"])
    def test_a_report_that_cannot_be_written_is_refused_first(self, capsys, tmp_path, option):
        path = tmp_path / "script.py"
        path.write_text("print('ran')\n")
        code, out, err = run(capsys, "run", option, tmp_path / "none" / "r.html", path)
        assert code == 2 and "cannot be written" in err
        assert "ran" not in out
        target = tmp_path / "kept.html"
        target.write_text("kept")
        run(capsys, "run", "-q", option, target, path)
        assert target.read_text() != "kept"

    def test_a_script_that_compiles_nothing(self, capsys, tmp_path):
        path = tmp_path / "plain.py"
        path.write_text("print('hello')\n")
        code, out, err = run(capsys, "run", path)
        assert (code, out) == (0, "hello\n")
        assert "Nothing was compiled" in err

    def test_a_syntax_error_is_pythons(self, capsys, tmp_path):
        path = tmp_path / "bad.py"
        path.write_text("def f(:\n")
        code, _, err = run(capsys, "run", "-q", path)
        assert code == 1
        assert "SyntaxError" in err

    def test_a_module(self, tmp_path):
        (tmp_path / "package").mkdir()
        (tmp_path / "package" / "__init__.py").write_text("")
        (tmp_path / "package" / "__main__.py").write_text("print(__package__, __name__)\n")
        done = outside("run", "-q", "-m", "package", PYTHONPATH=f"{ROOT}:{tmp_path}")
        assert done.stdout == "package __main__\n"

    @pytest.mark.parametrize("name", ["scrpt.py", "no/such/folder/x.py"])
    def test_no_such_script(self, capsys, script, monkeypatch, name):
        monkeypatch.chdir(script.parent)
        code, _, err = run(capsys, "run", name)
        assert code == 2
        assert "there is no file" in err
        assert ("did you mean script.py" in err) == (name == "scrpt.py")

    def test_a_file_that_is_no_text(self, capsys, tmp_path):
        path = tmp_path / "binary.py"
        path.write_bytes(b"\xff\xfe\x00")
        code, _, err = run(capsys, "run", path)
        assert (code, "cannot be read" in err) == (2, True)

    def test_torch_compile_is_torchs_again_afterwards(self, capsys, script):
        import torch

        before = torch.compile
        run(capsys, "run", "-q", "--backend", "eager", script)
        assert torch.compile is before


class TestRegistry:
    @pytest.mark.parametrize("number", ["GB0170", "gb0170", "170"])
    def test_a_page(self, capsys, number):
        code, out, _ = run(capsys, "break", number)
        assert code == 0
        assert "Data-dependent branching" in out
        assert "When to leave it" in out

    def test_a_page_as_json(self, capsys):
        _, out, _ = run(capsys, "break", "GB0170", "--json")
        assert json.loads(out)["status"] == "break"

    @pytest.mark.parametrize("number", ["GB9999", "GB01700", ""])
    def test_an_unknown_number(self, capsys, number):
        code, _, err = run(capsys, "break", number)
        assert code == 2
        assert "no break has the number" in err
        if number:
            assert "did you mean GB" in err

    def test_search(self, capsys):
        code, out, _ = run(capsys, "registry", "branch", "value", "--status", "break")
        assert code == 0
        assert "GB0170" in out
        code, out, _ = run(capsys, "registry", "nothinghasthisword")
        assert (code, out) == (1, "no break matches\n")

    def test_json(self, capsys):
        _, out, _ = run(capsys, "registry", "--json")
        assert len(json.loads(out)) >= 222

    @pytest.mark.parametrize(
        ("words", "first"),
        [
            (["gb170"], "GB0170"),
            (["GB 170"], "GB0170"),
            (["print"], "GB0059"),
            (["nonzero", "loop"], "GB2010"),
            (["perf_counter"], "GB0177"),
            (["bransh"], "GB0170"),
            (["data-dependent branching"], "GB0170"),
            (["bakward()"], "GB0123"),
        ],
    )
    def test_a_break_is_found_by_number_word_and_near_miss(self, capsys, words, first):
        code, out, _ = run(capsys, "break", *words)
        assert code == 0
        assert re.search(r"GB\d{4}", out).group() == first

    def test_a_near_miss_is_said(self, capsys):
        _, _, err = run(capsys, "break", "bransh")
        assert "no break speaks of 'bransh'; shown is 'branch'" in err

    def test_words_that_nothing_is_near_to(self, capsys):
        code, _, err = run(capsys, "break", "xyzzyqqq")
        assert code == 2 and "no break speaks of 'xyzzyqqq'" in err

    def test_export_for_tools_that_read_torchs(self, capsys, tmp_path):
        target = tmp_path / "registry.json"
        code, _, _ = run(capsys, "registry", "export", "--format", "dynamo", "-o", target)
        (record,) = json.loads(target.read_text())["GB0025"]
        assert code == 0
        assert set(record) == {"Gb_type", "Context", "Explanation", "Hints"}

    def test_check(self, capsys, monkeypatch):
        from suture.breaks import audit

        monkeypatch.setattr(audit, "check", lambda: ["GB0001: something"])
        assert run(capsys, "registry", "check")[:2] == (1, "GB0001: something\n")
        monkeypatch.setattr(audit, "check", lambda: [])
        assert run(capsys, "registry", "check")[0] == 0


class TestOthers:
    def test_rules_of_one_name(self, capsys):
        code, out, _ = run(capsys, "rules", "torch.manual_seed")
        assert code == 0
        assert "run" in out
        assert "named objects" in out
        _, out, _ = run(capsys, "rules", "torch.sin", "--json")
        assert json.loads(out)["kind"] == "in graph"

    def test_rules_of_a_module(self, capsys):
        _, out, _ = run(capsys, "rules", "math", "--json")
        assert {"name", "kind", "reason"} <= set(json.loads(out)[0])

    @pytest.mark.parametrize("name", ["torch.manual_sed", "nosuchpackage.f", "torch.pi", "a b"])
    def test_rules_of_what_is_not_there(self, capsys, name):
        code, _, err = run(capsys, "rules", name)
        assert code == 2
        assert err

    def test_diff(self, capsys, module, tmp_path):
        a, b = tmp_path / "a.json", tmp_path / "b.json"
        run(capsys, "explain", f"{module}:whole", "-i", "torch.ones(3)", "--save", a)
        run(capsys, "explain", f"{module}:step", "-i", "torch.ones(3)", "--save", b)
        code, out, _ = run(capsys, "diff", a, b)
        assert code == 1
        assert "+ breaks: GB0170" in out
        assert run(capsys, "diff", b, a)[0] == 0
        assert json.loads(run(capsys, "diff", a, b, "--json")[1])["worse"] is True
        assert "no difference" in run(capsys, "diff", a, a)[1]

    @pytest.mark.parametrize("text", [None, "{", "[]", '{"schema": 7, "regions": []}'])
    def test_diff_of_what_is_no_report(self, capsys, tmp_path, text):
        path = tmp_path / "bad.json"
        if text is not None:
            path.write_text(text)
        code, _, err = run(capsys, "diff", path, path)
        assert code == 2
        assert "bad.json" in err

    def test_check_formats_and_exit_codes(self, capsys, module, tmp_path):
        module.write_text(MODULE.replace("def step", "@torch.compile\ndef step"))
        code, out, _ = run(capsys, "check", module)
        assert code == 1
        assert f"{module.name}:8:8: GB0170" in out
        assert "^^^" in out
        assert json.loads(run(capsys, "check", module, "--json")[1])[0]["line"] == 8
        target = tmp_path / "x.sarif"
        assert run(capsys, "check", module, "--format", "sarif", "-o", target)[0] == 1
        assert json.loads(target.read_text())["version"] == "2.1.0"
        assert run(capsys, "check", module, "--exit-zero")[0] == 0
        assert run(capsys, "check", tmp_path / "none")[0] == 2
        (tmp_path / "bad.py").write_text("def (")
        assert run(capsys, "check", tmp_path / "bad.py")[0] == 2

    def test_doctor(self, capsys, monkeypatch):
        from suture.tools.cli import doctor
        from suture.torch_private import thread_state
        from suture.torch_private.table import absent

        quick = tuple(one for one in doctor.CHECKS if one[0] != "inductor")
        monkeypatch.setattr(doctor, "CHECKS", quick)
        code, out, _ = run(capsys, "doctor")
        assert code == 0
        assert "FAIL" not in out
        gone = absent("torch._C._set_grad_enabled")
        monkeypatch.setattr(thread_state, "set_grad_enabled", gone)
        monkeypatch.setattr(doctor, "CHECKS", (("private names", doctor._private_names),))
        code, out, _ = run(capsys, "doctor")
        assert code == 1
        assert "torch._C._set_grad_enabled" in out
        assert "modes and settings of torch" in " ".join(out.split())
        monkeypatch.setattr(doctor, "CHECKS", (("broken", lambda: 1 / 0),))
        code, out, _ = run(capsys, "doctor", "--json")
        assert code == 1
        assert "ZeroDivisionError" in json.loads(out)[0]["detail"]

    def test_the_version_is_one(self):
        program = "from suture.tools.cli import main; main(['--version'])"
        for command in (["-m", "suture", "--version"], ["-c", program]):
            done = subprocess.run(
                [sys.executable, *command], capture_output=True, text=True, check=True
            )
            assert done.stdout == f"suture {suture.__version__}\n"

    def test_a_misspelt_command(self, capsys):
        with pytest.raises(SystemExit) as caught:
            main(["explian"])
        assert caught.value.code == 2
        assert "did you mean explain" in capsys.readouterr().err

    def test_a_reader_that_goes_away(self):
        command = f"{sys.executable} -m suture registry | head -1"
        done = subprocess.run(
            command, shell=True, capture_output=True, text=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert done.stdout.startswith("GB0000")
        assert done.stderr == ""


COMPARED = """\
import sys
import torch

@torch.compile
def step(x, n):
    y = x * n
    if {breaks}:
        torch._dynamo.graph_break()
    return y + 1

for n in range(4):
    print(step(torch.ones(2), n).tolist())
{end}
"""


class TestCompare:
    def compare(self, tmp_path, **parts):
        path = tmp_path / "compared.py"
        path.write_text(COMPARED.format(**parts))
        done = outside("compare", "--json", path)
        return done.returncode, json.loads(done.stdout)

    def test_three_ways_of_one_script_that_agree(self, tmp_path):
        code, rows = self.compare(tmp_path, breaks="False", end="sys.exit(3)")
        assert code == 0
        assert [row["way"] for row in rows] == ["eager", "suture", "torch.compile"]
        assert all(row["same"] and row["code"] == 3 for row in rows)
        assert {row["printed"].count("[") for row in rows} == {4}
        assert rows[0]["counts"] is None
        ours, torchs = (row["counts"] for row in rows[1:])
        assert 1 <= ours["compilations"] <= torchs["compilations"]
        assert ours["graphs"] == ours["compilations"] and ours["breaks"] == 0

    def test_the_command_fails_where_suture_is_the_odd_one_out(self, tmp_path):
        end = "import suture\nprint(suture.stats().variants > 0)"
        code, rows = self.compare(tmp_path, breaks="n == 2", end=end)
        assert code == 1
        assert [row["same"] for row in rows] == [True, False, True]
        assert rows[1]["counts"]["breaks"] >= 1
