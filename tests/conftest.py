"""The same tests meet in the same process in every run.

With pytest-xdist, a file belongs to one worker, by its name, and a worker runs its files in the
order of their names: a test that fails because of one before it fails in every run.
"""

from __future__ import annotations

import zlib

import pytest


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    from xdist.scheduler import LoadScopeScheduling

    class ByName(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.split("::", 1)[0]
            return f"worker {zlib.crc32(file.encode()) % self.numnodes}"

    return ByName(config, log)
