"""suture minify: from a failure to a script of its smallest graph, or of a small program."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

import suture
from suture.tools.cli import main

BACKEND = """
import torch
from suture.backends import register_backend

@register_backend("no_tan")
def no_tan(gm, inputs):
    for node in gm.graph.nodes:
        if node.op == "call_method" and node.target == "tan" or node.target is torch.tan:
            raise NotImplementedError(f"no kernel for tan ({len(gm.graph.nodes)} nodes)")
    return gm.forward
"""


def program(x, y):
    x = x.sin() + y
    x = x.relu().tan()
    return x.cos() * y.exp()


@pytest.fixture
def script(tmp_path):
    namespace = {}
    exec(BACKEND, namespace)
    with suture.config.patch(repro_dir=str(tmp_path), raise_backend_errors=True):
        with pytest.raises(suture.exc.BackendFailed):
            suture.compile(program, backend="no_tan")(torch.randn(8, 16), torch.randn(16))
    (found,) = tmp_path.glob("graph_*.py")
    return found


def test_the_script_gets_small_and_still_fails(script, capsys):
    assert main(["minify", str(script)]) == 0
    assert "1 of 7 operations, still NotImplementedError" in capsys.readouterr().out
    small = script.with_name(f"{script.stem}_min.py")
    text = small.read_text()
    assert text.count("tan") >= 1 and "sin" not in text and "exp" not in text
    assert "[1, 1]" in text
    run = subprocess.run(
        [sys.executable, "-c", BACKEND + f"\nimport runpy; runpy.run_path({str(small)!r}, "
         "run_name='__main__')"], capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 1 and "NotImplementedError: no kernel for tan" in run.stderr


def test_a_script_that_does_not_fail_is_said_to(script, capsys):
    text = script.read_text().replace("BACKEND = 'no_tan'", "BACKEND = 'eager'")
    script.write_text(text)
    assert main(["minify", str(script)]) == 2
    assert "does not fail" in capsys.readouterr().err


def test_other_files_are_refused(tmp_path, capsys):
    other = tmp_path / "other.py"
    other.write_text("x = 1\n")
    assert main(["minify", str(other)]) == 2
    assert "no graph to reduce" in capsys.readouterr().err
    assert main(["minify", str(tmp_path / "none.py")]) == 2


def faulty(x, options, *rest, scale=2.0):
    y = x.sin()
    for name in options["names"]:
        y = y + len(name)
    y = helper(y) * scale
    z = y.tan() + sum(rest)
    return z.cos()


def helper(x):
    return x.exp()


@pytest.fixture
def function_script(tmp_path, monkeypatch):
    """Of a fault in suture itself: here tracing fails where `tan` is met."""
    from suture.compiler.graph import builder

    plain = builder.GraphBuilder.call

    def call(self, op, target, args, kwargs):
        if target == "tan":
            raise LookupError(f"no {target} today, {len(self.graph.nodes)} nodes")
        return plain(self, op, target, args, kwargs)

    monkeypatch.setattr(builder.GraphBuilder, "call", call)
    options = {"names": ["a", "bb"], "other": torch.ones(2)}
    x = torch.randn(8, 16, requires_grad=True)
    with suture.config.patch(repro_dir=str(tmp_path)):
        suture.reset()
        suture.compile(faulty, backend="eager")(x, options, 1, torch.ones(16), scale=3.0)
    (found,) = tmp_path.glob("function_*.py")
    return found


def test_the_function_and_its_arguments_get_small_and_still_fail(function_script, capsys):
    assert main(["minify", str(function_script)]) == 0
    assert "of 6 statements, still InternalError" in capsys.readouterr().out
    text = function_script.with_name(f"{function_script.stem}_min.py").read_text()
    function = text[text.index("def faulty") : text.index("def arguments")]
    assert "tan" in function and "cos" not in function and "helper" not in function
    assert "for " not in function
    assert "[1]" in text or "[1, 1]" in text
    assert "16" not in text and "'bb'" not in text and "requires_grad" not in text
    with pytest.raises(suture.exc.InternalError, match="no tan today"):
        try:
            exec(compile(text, "min.py", "exec"), {"__name__": "__main__"})
        finally:
            suture.config.strict = False


def test_a_function_that_does_not_fail_is_said_to(function_script, capsys, monkeypatch):
    monkeypatch.undo()
    assert main(["minify", str(function_script)]) == 2
    assert "does not fail" in capsys.readouterr().err


PROGRAM = """
import torch
import suture

WORD = "tan"


def refuses(node):
    return node.op == "call_method" and node.target == WORD


@suture.backends.register_backend("mine")
def mine(gm, inputs):
    if any(refuses(node) for node in gm.graph.nodes):
        raise RuntimeError("no " + WORD)
    return gm.forward


class Object:
    def __call__(self, gm, inputs):
        return mine(gm, inputs)


def fn(x, y):
    return (x.sin() + y).tan() * 2


for backend in (mine, "mine", Object()):
    suture.reset()
    suture.compile(fn, backend=backend)(torch.ones(4, 4), torch.ones(4))
"""


def test_a_backend_of_the_program_goes_into_the_script(tmp_path, capsys):
    (tmp_path / "program.py").write_text(PROGRAM)
    repros = tmp_path / "repros"
    subprocess.run(
        [sys.executable, str(tmp_path / "program.py")], check=True, capture_output=True,
        env={**os.environ, "SUTURE_REPRO_DIR": str(repros)},
    )  # fmt: skip
    function, name, made = sorted(repros.glob("graph_*.py"))
    for script in (function, name):
        assert main(["minify", str(script)]) == 0
        assert "1 of 4 operations, still RuntimeError" in capsys.readouterr().out
        small = script.with_name(f"{script.stem}_min.py")
        run = subprocess.run([sys.executable, str(small)], capture_output=True, text=True)
        assert run.stderr.rstrip().endswith("RuntimeError: no tan")
    assert main(["minify", str(made)]) == 2
    assert "needs the backend 'Object', which only the program has" in capsys.readouterr().err
