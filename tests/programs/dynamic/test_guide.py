"""The guide's pages on sizes and on recompilation: what they state is executed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import suture

GUIDE = Path(__file__).parents[3] / "docs" / "guide"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", ["dynamic_shapes.md", "recompilation.md"])
def test_examples_run(page, tmp_path):
    blocks = BLOCK.findall((GUIDE / page).read_text())
    assert blocks
    for number, source in enumerate(blocks):
        suture.reset()
        path = tmp_path / f"block_{number}.py"
        path.write_text(source)
        exec(compile(source, str(path), "exec"), {"__name__": f"block_{number}"})
