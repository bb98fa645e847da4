"""`suture minify`: a script that fails, made smaller while it fails in the same way.

The scripts are those of `config.repro_dir`: of a graph that a backend could not compile, or of a
function that suture itself failed on. A step is kept if the script then raises an error of the same
class with the same words, numbers aside.
"""

from __future__ import annotations

import runpy
from pathlib import Path

from suture.errors import UserError
from suture.minify import graphs, programs
from suture.minify.found import Minified


def minify(path: Path) -> Minified:
    """Reduce a script; UserError if it has nothing to reduce or does not fail."""
    names = runpy.run_path(str(path), run_name="suture_repro")
    if {"Region", "inputs", "BACKEND"} <= names.keys():
        return graphs.minified(names, path)
    if {"FUNCTION", "arguments"} <= names.keys():
        return programs.minified(path)
    raise UserError(
        f"{path} has no graph to reduce and no function: suture minify takes the graph_*.py and"
        " function_*.py that suture.config.repro_dir collects"
    )


__all__ = ["Minified", "minify"]
