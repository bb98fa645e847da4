"""What tests of backends share."""

from __future__ import annotations

import pytest
import torch.distributed as dist

import suture


@pytest.fixture
def fake_group():
    """A group of two ranks that sends nothing."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", rank=0, world_size=2, store=FakeStore())
    suture.reset()
    try:
        yield
    finally:
        suture.reset()
        dist.destroy_process_group()
