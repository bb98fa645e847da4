"""Mistakes on the command line: what is said, and how the command ends."""

from __future__ import annotations

import pytest

import suture
from suture.tools import cli
from suture.tools.cli import check, main
from suture.tools.cli.common import out

SCRIPT = """
import torch

@torch.compile(backend="eager")
def fn(x):
    return x.sin()

fn(torch.ones(2))
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "given_script.py"
    path.write_text(SCRIPT)
    suture.reset()
    yield path
    suture.uninstall()


def refused(capsys, *argv):
    """What a command says that is not carried out."""
    with pytest.raises(SystemExit) as left:
        main([str(one) for one in argv])
    assert left.value.code == 2
    return capsys.readouterr().err


def test_an_option_that_a_command_does_not_have(capsys):
    said = refused(capsys, "doctor", "--jsn")
    assert "usage: suture doctor" in said
    assert "unrecognized arguments: --jsn; did you mean --json?" in said
    assert "did you mean" not in refused(capsys, "doctor", "--zzzzzz")


@pytest.mark.parametrize(
    ("argv", "missing"), [(["run"], "script"), (["compare"], "script"), (["cache"], "action")]
)
def test_only_what_is_missing_is_asked_for(capsys, argv, missing):
    assert refused(capsys, *argv).endswith(f"are required: {missing}\n")


def test_explain_runs_a_script(capsys, script):
    assert main(["explain", str(script)]) == 0
    assert "1 graph" in capsys.readouterr().err
    assert main(["explain", str(script), "--json"]) == 0
    assert '"graphs"' in capsys.readouterr().out


def test_the_time_of_compiling_nothing_has_no_parts(capsys, tmp_path):
    path = tmp_path / "plain.py"
    path.write_text("import torch\n")
    assert main(["run", str(path)]) == 0
    assert "()" not in capsys.readouterr().err
    suture.uninstall()


@pytest.fixture
def ending(monkeypatch):
    """A command `check` that ends by raising what it is given."""

    def replace(error):
        def do(arguments):
            raise error

        def add(commands):
            commands.add_parser("check").set_defaults(do=do)

        monkeypatch.setattr(check, "add", add)
        monkeypatch.setattr(cli, "COMMANDS", (check,))

    return replace


def test_a_command_that_is_interrupted_says_so(capsys, ending):
    ending(KeyboardInterrupt())
    assert main(["check"]) == 130
    assert capsys.readouterr().err == "suture: interrupted\n"


def test_a_reader_that_leaves_is_no_failure(monkeypatch):
    class Gone:
        encoding = "utf-8"

        def write(self, text):
            raise BrokenPipeError

        def flush(self):
            pass

    monkeypatch.setattr("sys.stdout", Gone())
    with pytest.raises(BrokenPipeError):  # which main() takes for a good end
        out().print("a line")
