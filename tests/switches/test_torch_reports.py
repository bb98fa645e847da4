"""What torch reports of a compilation, reported by suture: counters, explain, the trace."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch._dynamo
from torch._dynamo.utils import counters

import suture
from tests.switches.running import run


def breaking(x):
    x = x.sin().tan()
    torch._dynamo.graph_break()
    return x.cos()


def test_counters():
    counters.clear()
    fn = torch.compile(breaking, backend="eager", dynamic=False)
    fn(torch.ones(2))
    assert counters["stats"] == {"unique_graphs": 2, "calls_captured": 3}
    assert counters["frames"] == {"total": 2, "ok": 2}
    assert sum(counters["graph_break"].values()) == 1
    fn(torch.ones(3))
    assert sum(counters["recompiles"].values()) == 2


def test_counters_stay_torchs_without_install():
    suture.uninstall()
    counters.clear()
    suture.compile(breaking, backend="eager")(torch.ones(2))
    assert not counters["stats"]
    suture.install()


def test_callbacks_hear_of_each_compilation():
    from torch._dynamo.callback import callback_handler

    heard = []
    begin = torch._dynamo.on_compile_start(lambda args: heard.append("start"))
    end = torch._dynamo.on_compile_end(lambda args: heard.append("end"))
    try:
        fn = torch.compile(lambda x: x + 1, backend="eager")
        fn(torch.ones(2))
        fn(torch.ones(2))
    finally:
        callback_handler.remove_start_callback(begin)
        callback_handler.remove_end_callback(end)
    assert heard == ["start", "end"]


def test_explain_of_dynamo():
    told = torch._dynamo.explain(breaking)(torch.ones(2))
    assert (told.graph_count, told.graph_break_count, told.op_count) == (2, 1, 3)
    assert told.break_reasons[0].user_stack[-1].name == "breaking"
    assert "Graph Count: 2" in str(told)


PROGRAM = """
import torch, suture
suture.install()

@torch.compile(backend="eager", dynamic=False)
def stepping(x):
    x = x.sin()
    torch._dynamo.graph_break()
    return x.cos()

stepping(torch.ones(2))
stepping(torch.ones(3))
"""


def traced():
    (text,) = run(PROGRAM, traced=True).traces
    return text


def test_torch_trace_has_each_compilation():
    lines = traced().splitlines()
    records = [json.loads(line[line.index("{") :]) for line in lines if line.startswith("V")]
    of = {}
    for record in records:
        for name in ("dynamo_start", "dynamo_output_graph", "dynamo_guards", "compilation_metrics"):
            if name in record:
                of.setdefault(name, set()).add((record["frame_id"], record["frame_compile_id"]))
    everything = {(0, 0), (0, 1), (1, 0), (1, 1)}
    assert of == dict.fromkeys(of, everything) and len(of) == 4
    names = [r["artifact"]["name"] for r in records if "artifact" in r]
    assert names.count("dynamo_graph_break_reason") == 2
    assert names.count("recompile_reasons") == 2
    assert any("chromium_event" in r for r in records)


def test_tlparse_reads_a_run(tmp_path):
    tool = shutil.which("tlparse", path=str(Path(sys.executable).parent)) or shutil.which("tlparse")
    if not tool:
        pytest.skip("tlparse is not installed (pip install tlparse): its pages are not looked at")
    out, log = tmp_path / "pages", tmp_path / "trace.log"
    log.write_text(traced())
    subprocess.run([tool, str(log), "-o", str(out), "--no-browser"], check=True)
    pages = [p for p in out.rglob("*") if p.is_file()]
    index = (out / "index.html").read_text()
    assert "stepping" in index
    assert all(f"[{point}/{variant}]" in index for point in (0, 1) for variant in (0, 1))
    texts = {p.name: p.read_text(errors="replace") for p in pages}

    def some(part):
        return [text for name, text in texts.items() if part in name]

    assert any("sin" in text for text in some("dynamo_output_graph"))
    assert any("size(0) == 2" in text or "[2]" in text for text in some("dynamo_guards"))
    assert any("GB" in text and "script.py" in text for text in some("dynamo_graph_break_reason"))
    assert any("was 2, is 3" in text for text in some("recompile_reasons"))
    assert "stepping" in next(iter(some("compilation_metrics")))


def test_the_profiler_shows_regions_while_it_runs():
    fn = torch.compile(breaking, backend="eager")
    fn(torch.ones(2))
    # acc_events: without it some releases warn, once in a process
    with torch.profiler.profile(acc_events=True) as seen:
        fn(torch.ones(2))
        fn(torch.ones(2))
    regions = [e.name for e in seen.events() if e.name.startswith("Torch-Compiled Region: ")]
    assert len(regions) == 4 and all("breaking" in name for name in regions)
    profile = torch.profiler.profile(acc_events=True)
    with pytest.raises(ValueError, match="from the program"), profile:
        torch.compile(raising, backend="eager")(torch.ones(2))


def raising(x):
    x = x + 1
    raise ValueError("from the program")


LOGGING = PROGRAM.replace("suture.install()\n", "suture.install()\n{}\n")


@pytest.mark.parametrize(
    ("topics", "wanted"),
    [
        ("graph_breaks", "suture.breaks"),
        ("recompiles", "suture.recompiles"),
        ("guards", "suture.guards"),
        ("graph_code", "suture.graphs"),
        ("graph_sizes", "suture.graphs"),
        ("bytecode", "suture.code"),
        ("trace_source", "suture.trace"),
        ("+dynamo", "suture.recompiles"),
    ],
)
def test_torch_logs_mean_ours(topics, wanted):
    told = logged("", TORCH_LOGS=topics)
    assert f"[{wanted}]" in told
    others = {"suture.breaks", "suture.guards", "suture.graphs", "suture.code"} - {wanted}
    if topics != "+dynamo":
        assert not [name for name in others if f"[{name}]" in told]


def test_the_log_of_recompilations_says_what_changed():
    told = logged("", TORCH_LOGS="recompiles")
    assert "in stepping: recompiling, 1 variant did not fit\n" in told
    assert "was 2, is 3" in told


def test_the_file_of_torchs_logs_has_ours(tmp_path):
    path = tmp_path / "log"
    told = logged("", TORCH_LOGS="graph_breaks", TORCH_LOGS_OUT=str(path))
    assert "GB0025" in told and path.read_text().startswith("[suture.breaks] GB0025")


SIZES = """
import torch, suture
suture.install()

def doubled(x):
    return x * 2 if x.size(0) > 2 else x

torch.compile(doubled, backend="eager", dynamic=True)(torch.ones(3))
"""


def test_the_log_of_sizes_has_the_programs_lines():
    told = run(SIZES, ("TORCH_LOGS", "dynamic")).stderr
    (decided,) = [line for line in told.splitlines() if "[guard added]" in line]
    assert "return x * 2 if x.size(0) > 2 else x  # " in decided and "script.py:6" in decided


@pytest.mark.parametrize(
    ("topic", "backend"), [("output_code", "inductor"), ("aot_graphs", "aot_eager")]
)
def test_topics_about_what_works_below_capture_are_torchs_own(topic, backend):
    program = SIZES.replace("eager", backend)
    told = run(program, ("TORCH_LOGS", topic)).stderr
    assert f"[__{topic}]" in told and "[suture" not in told


def test_set_logs_of_torch_means_ours():
    assert "[suture.breaks]" in logged("torch._logging.set_logs(graph_breaks=True)")
    assert "[suture" not in logged("")


def logged(line, **environment):
    return run(LOGGING.format(line), *environment.items()).stderr
