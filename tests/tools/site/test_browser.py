"""The site and a report in a real browser: search, filters, links, keys, and no request outside."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
import torch

import suture
from suture.breaks.search import search
from suture.tools.site import build
from suture.tools.site.build import guide_pages
from tests.tools.report.programs import broken
from tests.tools.site.browser import MISSING, browser

pytestmark = pytest.mark.skipif(bool(MISSING), reason=MISSING)

WIDTHS = {"phone": 390, "desktop": 1280}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    build(folder, run_examples=False)
    return folder


@pytest.fixture(scope="module")
def window():
    with browser() as made:
        yield made


@pytest.fixture
def page(window, site):
    """Opens a page of the site; afterwards nothing was logged and nothing left the folder."""
    window.console()
    window.requests()

    def go(name, query=""):
        window.open((site / name).as_uri() + query)
        return window

    yield go
    assert window.console() == []
    root = site.as_uri()
    outside = [url for url in window.requests() if not url.startswith((root, "data:"))]
    assert outside == []


SHOWN = """
return [...document.querySelectorAll("#entries li")]
    .filter((e) => !e.hidden).map((e) => e.dataset.number)
"""


def choose(window, field, value):
    window.run(
        "const e = document.getElementById(arguments[0]); e.value = arguments[1];"
        "e.dispatchEvent(new Event('input', {bubbles: true}))",
        field, value,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("gb0170", "GB0170"),
        ("Data-dependent branching", "GB0170"),
        ("branch real value each side", "GB0170"),
    ],
)
def test_search_finds_by_number_type_and_words(page, words, number):
    window = page("index.html")
    everything = len(window.run(SHOWN))
    window.type(words)  # the search field has the focus
    found = window.run(SHOWN)
    assert number in found
    assert len(found) < everything / 4
    assert window.run("return document.getElementById('count').textContent") == (
        f"{len(found)} of {everything}"
    )


@pytest.mark.parametrize(
    ("words", "number"),
    [("gb170", "GB0170"), ("170", "GB0170"), ("print", "GB0059"), ("bransh", "GB0170"),
     ("perf_counter", "GB0177"), ("backward()", "GB0123")],
)  # fmt: skip
def test_the_best_comes_first_as_on_the_command_line(page, words, number):
    window = page("index.html")
    choose(window, "q", words)
    assert window.run(SHOWN)[0] == number
    assert search(words).entries[0].number == number


def test_a_near_miss_is_said(page):
    window = page("index.html")
    choose(window, "q", "bransh")
    said = window.run("return document.getElementById('instead').textContent")
    assert "bransh" in said and "branch" in said
    choose(window, "q", "branch")
    assert window.run("return document.getElementById('instead').hidden") is True


def test_the_home_page_leads_into_the_guide(page, site):
    window = page("index.html")
    links = window.run("return [...document.querySelectorAll('.tiles a')].map((a) => a.href)")
    assert {f"{(site / 'guide').as_uri()}/{name}.html" for name in guide_pages()} == set(links)
    assert "suture " in window.run("return document.querySelector('footer').textContent")


def test_pictures_of_the_guide_are_there(page):
    window = page("guide/how-it-works.html")
    sizes = window.run("return [...document.images].map((i) => i.complete && i.naturalWidth)")
    assert sizes and all(sizes)


def test_a_search_without_result_says_so(page):
    window = page("index.html")
    choose(window, "q", "nothinghasthisword")
    assert window.run(SHOWN) == []
    assert window.run("return document.getElementById('none').hidden") is False


def test_filters_go_together_and_stay_in_the_address(page):
    window = page("index.html")
    choose(window, "status", "break")
    breaks = window.run(SHOWN)
    choose(window, "kind", "fundamental")
    both = window.run(SHOWN)
    assert "GB0170" in both
    assert len(both) < len(breaks)
    address = window.run("return location.href")
    assert "status=break" in address
    assert "kind=fundamental" in address
    window.open(address)
    assert window.run(SHOWN) == both


def test_deep_links(page):
    window = page("breaks/GB0170.html", "#after-the-fix")
    assert window.run("return document.querySelector(':target').textContent") == "After the fix"
    window = page("index.html", "?q=GB0025")
    assert window.run(SHOWN)[0] == "GB0025"
    window.run("document.querySelector('#entries li:not([hidden]) a').click()")
    assert "GB0025" in window.run("return document.title")


def test_every_link_leads_to_a_page(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 245
    for path in pages:
        for target in re.findall(r'(?:href|src)="([^"]+)"', path.read_text()):
            if not target.startswith(("#", "data:", "https://")):
                file = target.partition("#")[0].partition("?")[0]
                assert (path.parent / file).exists(), (path, target)


def test_the_home_page_opens_at_its_top(page):
    window = page("index.html")
    assert window.run("return [scrollY, document.querySelector('h1').textContent]") == [0, "suture"]


def test_the_slash_goes_to_the_search_field(page):
    window = page("index.html")
    window.run("document.activeElement.blur()")
    window.type("/")
    assert window.run("return document.activeElement.id") == "q"


def test_tables_can_be_searched(page):
    window = page("rules.html")
    window.run("document.getElementById('filter').focus()")
    window.type("manual_seed")
    rows = window.run(
        "return [...document.querySelectorAll('#table tbody tr')].filter(e => !e.hidden).length"
    )
    assert 0 < rows < 20


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
@pytest.mark.parametrize(
    "name", ["index.html", "breaks/GB0170.html", "guide/graph-breaks.html", "rules.html"]
)
def test_no_page_is_wider_than_the_screen(page, name, width):
    window = page(name)
    for dark in (False, True):
        window.size(width, 900, dark)
        assert window.run("return document.documentElement.scrollWidth") <= width
        if folder := os.environ.get("SUTURE_SCREENSHOTS"):
            shade = "dark" if dark else "light"
            window.screenshot(Path(folder) / f"{name.replace('/', '-')}-{width}-{shade}.png")


def test_the_table_of_torchs_names_is_not_cut_off(page):
    window = page("guide/migration.html")
    window.size(1100, 900)
    cut = "const t = document.querySelector('article table'); return t.scrollWidth - t.clientWidth"
    assert window.run(cut) <= 0


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    suture.reset()
    report = suture.explain(broken)(torch.ones(3))
    return report.save(tmp_path_factory.mktemp("report") / "report.html")


class TestReport:
    @pytest.fixture
    def opened(self, window, saved):
        window.console()
        window.requests()
        window.open(saved.as_uri())
        yield window
        assert window.console() == []
        urls = {url for url in window.requests() if not url.startswith("data:")}
        assert urls <= {saved.as_uri(), saved.as_uri() + "#region-2"}

    def test_the_first_break_is_on_the_first_screen(self, opened):
        opened.size(1280, 800)
        opened.run("scrollTo(0, 0)")
        top = opened.run("return document.querySelector('.card').getBoundingClientRect().top")
        assert 0 < top < 500

    def test_numbers_stand_beside_their_lines(self, opened):
        tops = opened.run(
            "return [...document.querySelectorAll('.code tr:first-child td.no')].map((e) =>"
            " [getComputedStyle(e).paddingTop,"
            " getComputedStyle(e.nextElementSibling).paddingTop])"
        )
        assert tops and all(number == text for number, text in tops)

    def test_keys_walk_over_the_breaks(self, opened):
        cards = opened.run("return [...document.querySelectorAll('.card')].map((e) => e.id)")
        assert sorted(cards) == ["break-1", "break-2", "break-3"]
        opened.type("n")
        assert opened.run("return document.activeElement.id") == cards[0]
        opened.type("n")
        opened.type("p")
        assert "card" in opened.run("return document.activeElement.className")

    def test_a_bar_opens_its_region(self, opened):
        opened.run("document.querySelector('a.mark[href=\"#region-2\"]').click()")
        assert opened.run("return document.getElementById('region-2').open") is True

    @pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
    def test_it_fits_the_screen(self, opened, width):
        opened.size(width, 900)
        assert opened.run("return document.documentElement.scrollWidth") <= width
        if folder := os.environ.get("SUTURE_SCREENSHOTS"):
            opened.screenshot(Path(folder) / f"report-{width}.png")

    @pytest.mark.parametrize("dark", [False, True])
    def test_text_can_be_read_in_light_and_dark(self, opened, dark):
        opened.size(1000, 900, dark)
        colours = opened.run(
            "const s = getComputedStyle(document.body);"
            "return [s.color, s.backgroundColor].map(c => c.match(/\\d+/g).slice(0, 3).map(Number))"
        )
        bright = [sum(colour) / 3 for colour in colours]
        assert abs(bright[0] - bright[1]) > 150
        assert (bright[1] < 60) == dark
