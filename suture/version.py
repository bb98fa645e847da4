"""Which suture this is, and whether its core was built for this Python."""

from __future__ import annotations

import importlib.util
import sysconfig
from pathlib import Path

VERSION = "0.1.0"


def require_core() -> None:
    """Raise an ImportError that says how to build the core, where there is none."""
    if importlib.util.find_spec("suture._core") is not None:
        return
    here = Path(__file__).parent
    others = sorted(path.name for path in here.glob("_core.*.so"))
    built = f" It is built for others: {', '.join(others)}." if others else ""
    if (here.parent / "setup.py").exists():
        way = f"Build it in {here.parent}: make build, or python -m pip install --editable ."
    else:
        way = "Install suture again, with this Python's pip."
    raise ImportError(
        f"suture's core (_core{sysconfig.get_config_var('EXT_SUFFIX')}) is not built.{built} {way}"
    )
