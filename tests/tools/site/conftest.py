"""Says loudly when the browser is missing: the pages were then not looked at."""

from tests.tools.site.browser import MISSING


def pytest_terminal_summary(terminalreporter):
    if MISSING:
        terminalreporter.section("the site was not tested in a browser", yellow=True)
        terminalreporter.write_line(MISSING)
