"""`suture.save` and `suture.load`: what was compiled of a model, as one file to ship with it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from suture.api import compile
from suture.errors import UserError
from suture.look import unit_of
from suture.runtime.points import PointData
from suture.runtime.store import files, graph_forms, pending_writes, shipped
from suture.runtime.store.environment import key_of, place_key
from suture.runtime.store.literals import Unstorable
from suture.runtime.unit import Unit


def save(
    compiled: Callable[..., Any], path: str | os.PathLike[str], *, partial: bool = False
) -> None:
    """Write what was compiled of a function or module to one file, for `load`.

    It takes what the cache has of it: `config.cache_dir` must be set when it is compiled. UserError
    with the reasons if the cache has not all of it; with `partial`, what it has is written, and the
    rest is compiled where the file is loaded.
    """
    unit = unit_of(compiled)
    pending_writes.finish()
    root = files.folder()
    if root is None:
        raise UserError("nothing is kept to be saved: set suture.config.cache_dir before the calls")
    entries: dict[str, list[Any]] = {}
    blobs: dict[str, bytes] = {}
    reasons: list[str] = []
    for name, data in [(p.name, p.data) for p in list(unit.points.values())]:
        reasons += [f"{name}: {reason}" for reason in data.unkept]
        try:
            for key, file, artefact in _kept(unit, data, root):
                blobs |= _blobs(root, artefact)
                entries.setdefault(key, []).append([file, artefact])
        except (Unstorable, files.Unreadable) as error:
            reasons.append(f"{name}: {error}")
    if not entries:
        reasons.append("nothing was compiled, or nothing of it is in the cache")
    if reasons and not (partial and entries):
        raise UserError("not all that was compiled can be saved:\n  " + "\n  ".join(reasons))
    shipped.write(Path(path), _options(unit), entries, blobs)


def _kept(unit: Unit, data: PointData, root: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """(key, file, artefact) of each variant of a point that the cache has."""
    if not data.stored:
        if data.variants and not data.unkept:
            raise Unstorable("its variants were compiled without a cache")
        return
    key = key_of(unit.options, data.chain)
    for name in sorted(data.stored):
        path = files.find(root, key, name)
        if not path.exists():
            raise Unstorable("settings are others than when it was compiled, or the cache was cut")
        yield place_key(unit.options, data.chain), name, files.read(path, key)


def _blobs(root: Path, artefact: dict[str, Any]) -> dict[str, bytes]:
    """The files that a variant needs."""
    graph = artefact["variant"]["graph"]
    names = () if graph is None else sorted(graph_forms.decode(graph).files())
    return {name: files.blob(root, name).read_bytes() for name in names}


def _options(unit: Unit) -> dict[str, Any]:
    asked = unit.options
    backend = asked.backend
    mode, options = backend.compiler.asked() if backend.is_inductor() else (None, [])
    return {
        "backend": backend.name,
        "mode": mode if mode != "default" else None,
        "options": dict(options) or None,
        "fullgraph": asked.fullgraph,
        "dynamic": asked.dynamic,
    }


def load(model: Any, path: str | os.PathLike[str]) -> Any:
    """`model`, compiled as it was when the file was saved, and running what the file has.

    UserError with the reasons if the file is not whole, or was made on another kind of machine or
    with other versions. What is in it is used where it is proven to fit, as with the cache;
    anything else is compiled. The file holds code that is run: load what you would import.
    """
    try:
        found = shipped.read(Path(path))
    except files.Unreadable as error:
        raise UserError(f"{os.fspath(path)} is not used: {error}") from error
    names = ("backend", "mode", "options", "fullgraph", "dynamic")
    compiled = compile(model, **{name: found.options[name] for name in names})
    unit_of(compiled).shipped = found
    return compiled
