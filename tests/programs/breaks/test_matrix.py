"""A break at every place, by every cause: as in eager, and nothing left to the interpreter."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.programs.breaks.comparing import check_program, load
from tests.programs.breaks.matrix import CAUSES, PLACES, program


@pytest.mark.parametrize("cause", CAUSES)
@pytest.mark.parametrize("place", PLACES)
def test_break_at_any_place(place: str, cause: str, tmp_path: Path) -> None:
    name = f"{place}_{cause}"
    module = load(tmp_path / f"{name}.py", program(place, cause), name)
    check_program(
        module.fn,
        torch.tensor([1.0, 2.0]),
        log=module.LOG,
        more=[torch.tensor([3.0, 5.0])],
    )
