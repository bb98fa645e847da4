"""Every page is true: its program does under suture what the page says, and what eager does."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import inspect
import linecache
import sys
import types
import warnings

import pytest
import torch

from suture import config
from suture.breaks import catalog, page
from suture.breaks.registry import Status

ENTRIES = [pytest.param(entry, id=entry.number) for entry in catalog.entries()]
FIXED = [
    pytest.param(entry, id=entry.number)
    for entry in catalog.entries()
    if entry.status in (Status.BREAK, Status.ERROR)
]
HARNESS = importlib.util.find_spec("tests.harness") is not None


@pytest.fixture(autouse=True)
def process():
    """Warnings of torch and process groups of one page do not reach the next."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()


@functools.cache  # a program may register operators, which a process does only once
def load(source: str, name: str) -> types.ModuleType:
    """The program as a module, with source that `inspect` and tracebacks can find."""
    module = types.ModuleType(name)
    filename = f"<{name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    sys.modules[name] = module
    exec(compile(source, filename, "exec"), module.__dict__)
    return module


def skip_if_needs_more(found: page.Page) -> None:
    """Skip a page whose program this machine cannot run."""
    if found.needs == "cuda" and not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    if found.needs == "python3.12" and sys.version_info < (3, 12):
        pytest.skip("needs Python 3.12")


def run(module: types.ModuleType) -> object:
    """What the program gives in eager; a generator is consumed."""
    result = module.fn(*module.args())
    return list(result) if inspect.isgenerator(result) else result


@pytest.mark.parametrize("entry", ENTRIES)
def test_page_agrees_with_its_entry(entry):
    assert page.problems(entry) == []


@pytest.mark.parametrize("entry", ENTRIES)
def test_program_in_eager(entry):
    found = page.read(entry)
    skip_if_needs_more(found)
    module = load(found.program, f"page_{entry.number}")
    expected = contextlib.nullcontext()
    if entry.status is Status.ERROR:
        expected = pytest.raises(Exception)  # noqa: PT011, B017
    with expected as caught:
        run(module)
    if caught is not None:
        assert caught.type.__qualname__ == found.raises.rpartition(".")[2]


@pytest.mark.parametrize("entry", FIXED)
def test_fixed_program_in_eager(entry):
    found = page.read(entry)
    skip_if_needs_more(found)
    run(load(found.fixed_program, f"page_{entry.number}_fixed"))


def expectations(found: page.Page) -> dict[str, object]:
    """The arguments of the harness that a page's header stands for."""
    wanted: dict[str, object] = {"graphs": found.graphs, "recompiles": found.recompiles}
    if found.in_order:
        return wanted | {"breaks": found.breaks}
    return wanted | {"breaks": None, "interpreted": None}


@pytest.mark.skipif(not HARNESS, reason="the harness compiles; without it only eager is run")
@pytest.mark.parametrize("entry", ENTRIES)
def test_program_under_suture(entry):
    from tests.harness import check

    found = page.read(entry)
    skip_if_needs_more(found)
    if not found.runs:
        pytest.skip("cannot be brought about on purpose")
    module = load(found.program, f"page_{entry.number}")
    extra = {"backend": module.backend} if hasattr(module, "backend") else {}
    with config.patch(**found.config):
        seen = check(module.fn, make=module.args, **expectations(found), **extra).numbers
    assert set(found.breaks) <= set(seen)


@pytest.mark.skipif(not HARNESS, reason="the harness compiles; without it only eager is run")
@pytest.mark.parametrize("entry", FIXED)
def test_fixed_program_is_captured(entry):
    from tests.harness import check

    found = page.read(entry)
    skip_if_needs_more(found)
    module = load(found.fixed_program, f"page_{entry.number}_fixed")
    check(module.fn, make=module.args, graphs=found.fixed, breaks=())


HEADER = "---\nnumber: GB0001\nstatus: captured\nkind: none\nbreaks:\ngraphs: 1\n---\n"


class TestParse:
    def test_header_and_sections(self):
        body = "# GB0001 Title\n\n## Why\n\ntext\n\n```python\n# no heading\n## none\n```\n"
        found = page.parse(HEADER + body)
        assert (found.number, found.title, found.graphs) == ("GB0001", "GB0001 Title", 1)
        assert list(found.sections) == ["Why"]
        assert "## none" in found.sections["Why"]

    def test_options_and_counts(self):
        header = HEADER.replace("graphs: 1", "graphs: any\nconfig: unroll_limit=8, strict=True")
        found = page.parse(header.replace("breaks:", "breaks: any GB0002, GB0003") + "## Why\nx\n")
        assert found.graphs is None
        assert found.config == {"unroll_limit": 8, "strict": True}
        assert (found.breaks, found.in_order) == (("GB0002", "GB0003"), False)

    @pytest.mark.parametrize(
        ("text", "complaint"),
        [
            ("", "begins with a header"),
            ("---\nnumber\n---\n", "not a line of a header"),
            ("---\nnumber: GB0001\n---\n", "lacks 'status'"),
            (HEADER + "## Why\n\n## Why\nx\n", "is there twice"),
            (HEADER + "## Why\n\n", "nothing below"),
            (HEADER.replace("graphs: 1", "graphs: 1\nneeds: luck"), "may need"),
            (HEADER.replace("graphs: 1", "graphs: 1\nconfig: f()"), "sets no option"),
        ],
    )
    def test_what_is_no_page(self, text, complaint):
        with pytest.raises(page.PageError, match=complaint):
            page.parse(text)

    def test_a_page_without_a_program(self):
        with pytest.raises(page.PageError, match="no Python block"):
            page.parse(HEADER + "## Why\nx\n").program  # noqa: B018
