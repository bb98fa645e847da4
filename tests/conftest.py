"""The same tests meet in the same process in every run.

With pytest-xdist, files are dealt out to the workers like cards, and a worker runs its files in
their order: a test that fails because of one before it fails in every run of the same tree.
"""

from __future__ import annotations

import functools
import logging
import signal
import sys

import pytest


def pytest_configure(config):
    """Ctrl-C means the same in every run: a shell ignores it in what it runs in the background, and
    so would every process that a test starts."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call():
    """torch writes its structured trace where a handler waits for it, and pytest puts one at every
    logger. Without those, tracing goes the way that it goes in a program."""
    log = logging.getLogger("torch.__trace")
    log.handlers = [h for h in log.handlers if type(h).__module__ != "_pytest.logging"]
    return (yield)


@pytest.fixture(autouse=True, scope="module")
def nothing_compiled_before():
    """What the files before it compiled and counted is no part of a file."""
    if "suture" in sys.modules and "torch" in sys.modules:
        sys.modules["suture"].reset()


@pytest.fixture
def often_switching():
    """Threads take turns as often as Python can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadScopeScheduling

    class Dealt(LoadScopeScheduling):
        @functools.cached_property
        def _dealt(self):
            files = dict.fromkeys(_file(nodeid) for nodeid in self.collection)
            return {file: f"worker {n % self.numnodes}" for n, file in enumerate(files)}

        def _split_scope(self, nodeid):
            return self._dealt[_file(nodeid)]

        def remove_node(self, node):
            """A test that ended its worker is not run again: it would end the next one too."""
            units = self.assigned_work[node].values()
            left = [(unit, test) for unit in units for test, done in unit.items() if not done]
            if left:
                unit, test = left[0]
                unit[test] = True
            super().remove_node(node)
            return left[0][1] if left else None

    return Dealt(config, log)


def _file(nodeid):
    return nodeid.split("::", 1)[0]
