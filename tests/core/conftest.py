"""Every test of the core leaves the hook as it found it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from core_under_test import core  # noqa: E402


@pytest.fixture(autouse=True)
def hook_is_left_alone():
    """Tests begin without callbacks, leave the hook neither installed nor active, and give back
    the callbacks of whoever shares the process."""
    frames, generators = core.set_frame_callback(None), core.set_generator_callback(None)
    core.set_frame_permanent(False)
    yield
    active, installed, context = core.hook_active(), None, core.current_context()
    core.set_frame_permanent(False)
    installed = core.hook_installed()
    core.set_frame_callback(frames)
    core.set_generator_callback(generators)
    assert (active, installed, context) == (False, False, None)
