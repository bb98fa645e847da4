"""Reports as files: JSON in and out, HTML that is well-formed and inert, differences."""

from __future__ import annotations

import html.parser
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import suture
from suture.tools.report import ReportError, load
from suture.tools.report.diff import diff, steady
from tests.tools.report.programs import broken, whole


@pytest.fixture(autouse=True)
def fresh():
    suture.reset()


class Reader(html.parser.HTMLParser):
    """Checks that tags are closed in order, and collects what is in the page."""

    VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.attributes, self.text = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in self.VOID and tag not in ("path", "rect", "line"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        if tag in ("path", "rect", "line"):
            if self.open and self.open[-1] == tag:
                self.open.pop()
            return
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(page):
    reader = Reader()
    reader.feed(re.sub(r"<rect([^>]*[^/])>", r"<rect\1></rect>", page))
    reader.close()
    return reader


def page_of(report, tmp_path):
    return report.save(tmp_path / "report.html").read_text()


def test_the_page_is_one_file_that_asks_for_nothing(tmp_path):
    page = page_of(suture.explain(broken)(torch.ones(3)), tmp_path)
    reader = read(page)
    links = [value for name, value in reader.attributes if name in ("src", "href")]
    assert all(link.startswith(("#", "data:")) for link in links)
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "https://" not in page
    assert "Content-Security-Policy" in page


def test_the_page_has_source_bars_cards_graphs_and_times(tmp_path):
    page = page_of(suture.explain(broken)(torch.ones(3)), tmp_path)
    reader = read(page)
    text = " ".join(reader.text)
    assert "GB0170" in text
    assert reader.tags.count("article") == 3
    assert reader.tags.count("svg") >= 3
    assert 'class="mark g0 solid"' in page
    assert "Compiling" in text
    assert "Running" in text


def test_breaks_come_before_the_source(tmp_path):
    page = page_of(suture.explain(broken)(torch.ones(3)), tmp_path)
    assert page.index('id="breaks"') < page.index('class="card') < page.index('id="source"')
    assert page.index('id="source"') < page.index('class="to-card" href="#break-1"')
    assert "if y.sum() &gt; 0:\n   ^^^^^^^^^^^" in page
    assert "called from" in page


def test_hostile_source_stays_inert(tmp_path):
    path = tmp_path / "hostile.py"
    path.write_text(
        "def f(x):\n"
        '    """</script><script>alert(1)</script>"""\n'
        f"    y = x + 1  # {'A' * 20_000}\n"
        "    print('<img src=x onerror=alert(2)>', '\\x1b[31m', y)  # \x1b[31m {{ 7 * 7 }}\n"
        "    return y\n"
    )
    space = {}
    exec(compile(path.read_text(), str(path), "exec"), space)
    report = suture.explain(space["f"])(torch.ones(2))
    page = page_of(report, tmp_path)
    reader = read(page)
    assert reader.tags.count("script") == 1
    assert "img" not in reader.tags
    assert "\x1b" not in page
    assert "{{ 7 * 7 }}" in "".join(reader.text)
    assert max(len(line) for line in page.splitlines()) < 5_000
    assert "\x1b" not in str(report)
    assert "<script>alert" not in report._repr_html_()


def test_reports_without_graphs_or_source_have_pages_too(tmp_path):
    def nothing():
        return 1

    space = {}
    exec("def made(x):\n    print(x)\n    return x\n", space)
    for fn, args in ((nothing, ()), (space["made"], (torch.ones(1),))):
        assert read(page_of(suture.explain(fn)(*args), tmp_path)).open == []


def test_saving_needs_a_known_kind_of_file(tmp_path):
    report = suture.explain(whole)(torch.ones(2))
    with pytest.raises(ValueError, match=r"\.html or \.json"):
        report.save(tmp_path / "report.pdf")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "is no JSON"),
        ("{", "is no JSON"),
        ("[1, 2]", "is no report"),
        ('{"a": 1}', "is no report"),
        ('{"schema": 99, "regions": []}', "schema 99"),
        ('{"schema": 1, "regions": [{}], "breaks": []}', "is damaged"),
        ('{"schema": 1, "regions": 3}', "is damaged"),
    ],
)
def test_what_is_no_report_is_said_to_be_none(text, complaint):
    with pytest.raises(ReportError, match=complaint):
        load(text, "given.json")


def test_a_diff_names_what_is_gone_and_new():
    before = suture.explain(broken)(torch.ones(3))
    after = suture.explain(whole)(torch.ones(3))
    better = diff(before, after)
    assert not better.worse()
    assert any("GB0170" in line for line in better.gone["breaks"])
    assert ("graphs", before.graphs, 1) in better.numbers
    worse = diff(after, before)
    assert worse.worse()
    assert len(worse.new["breaks"]) == 3
    assert not diff(before, load(before.to_json()))
    json.dumps(worse.as_dict())


def test_lines_that_moved_are_no_difference():
    def version(lines):
        space = {}
        source = (
            "\n" * lines + "def f(x):\n    if x.sum() > 0:\n        return x + 1\n    return x\n"
        )
        import linecache

        name = f"<version {lines}>"
        linecache.cache[name] = (len(source), None, source.splitlines(True), name)
        exec(compile(source, name, "exec"), space)
        return suture.explain(space["f"])(torch.ones(2))

    assert not diff(version(0), version(40))


def test_a_model_of_a_library_shows_the_librarys_source(tmp_path):
    report = suture.explain(torch.nn.ReLU())(torch.ones(2))
    assert any(file.endswith("activation.py") for file in report.sources)
    assert "F.relu" in "".join(read(page_of(report, tmp_path)).text)


UNSTABLE = """\
import random, time, torch
KEYS = {"a", "b", "c", "zz", "last"}
class Holder: pass
held = Holder()
held.when, held.address, held.keys = time.time(), id(held), KEYS
@torch.compile(backend="eager")
def f(x, other):
    y = x * 2
    start = time.perf_counter()
    if "a" in held.keys and held.when > 0 and held.address > 0:
        y = y + random.random()
    for key in KEYS:
        y = y + len(key)
    print(y, other)
    return y * start
for n in range(4):
    f(torch.ones(n + 2), object())
"""


def test_two_equal_runs_do_not_differ(tmp_path):
    path = tmp_path / "unstable.py"
    path.write_text(UNSTABLE)
    root = Path(__file__).parents[3]
    for seed, name in enumerate(("a.json", "b.json")):
        done = subprocess.run(
            [sys.executable, "-m", "suture", "run", "-q", "--json", tmp_path / name, path],
            env={**os.environ, "PYTHONPATH": str(root), "PYTHONHASHSEED": str(seed)},
            capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    before, after = (load((tmp_path / name).read_text()) for name in ("a.json", "b.json"))
    assert before.regions
    assert not diff(before, after), str(diff(before, after).as_dict())


def test_a_number_that_counts_is_a_difference():
    assert steady("k == 3") != steady("k == 4")
    assert steady("x.size(0) == 1024") != steady("x.size(0) == 2048")
    assert steady("t == 2754.883862055") == steady("t == 2768.651700142")
