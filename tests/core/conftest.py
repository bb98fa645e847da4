"""Every test of the core leaves the hook as it found it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from core_under_test import core  # noqa: E402


@pytest.fixture(autouse=True)
def hook_is_left_alone():
    """No test leaves the hook installed, active, or with a callback."""
    yield
    assert not core.hook_active()
    core.set_frame_callback(None)
    core.set_generator_callback(None)
    core.set_frame_permanent(False)
    assert not core.hook_installed()
    assert core.current_context() is None
