"""suture cache: what is kept on disk of what was compiled."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

from rich.table import Table

from suture import config
from suture.runtime.store import files, graph_forms
from suture.tools.cli.common import FOUND, OK, fail, out, print_json


def add(commands: Any) -> None:
    made = commands.add_parser(
        "cache",
        help="list, show, verify or clear what is kept of what was compiled",
        description="Looks at the cache that suture.config.cache_dir (SUTURE_CACHE) names.",
    )
    made.add_argument("action", choices=("list", "show", "verify", "clear"))
    made.add_argument("names", nargs="*", metavar="NAME", help="files, by the start of their names")
    made.add_argument("--dir", help="the folder of the cache, instead of the one configured")
    made.add_argument("--json", action="store_true")
    made.set_defaults(do=run)


def run(arguments: argparse.Namespace) -> int:
    """Carry out one action on the files that were named; all of them if none was."""
    root = Path(arguments.dir).expanduser() if arguments.dir else files.folder()
    if root is None:
        fail("there is no cache: set SUTURE_CACHE or give --dir")
    if not root.is_dir():
        fail(f"there is no cache at {root}")
    found = sorted(files.kept(root), key=lambda one: -one.used)
    for name in arguments.names:
        if not any(one.path.name.startswith(name) for one in found):
            fail(f"nothing in the cache is called {name}")
    if arguments.names:
        found = [one for one in found if one.path.name.startswith(tuple(arguments.names))]
    if arguments.action == "clear":
        return _clear(found, arguments, root)
    return int(_ACTIONS[arguments.action](found, arguments))


def _list(found: list[files.Kept], arguments: argparse.Namespace) -> int:
    rows = [
        {"name": one.path.stem, "size": one.size, "used": one.used, **_about(one)} for one in found
    ]
    if arguments.json:
        print_json(rows)
        return OK
    table = Table("name", "function", "bytes", "last used", box=None)
    for row in rows:
        used = time.strftime("%Y-%m-%d %H:%M", time.localtime(row["used"]))
        table.add_row(
            row["name"][:12], row.get("point", row.get("error", "")), str(row["size"]), used
        )
    out().print(table)
    total = sum(one.size for one in found)
    out().print(f"{len(found)} variants, {total} bytes of {config.cache_size} MB")
    return OK


def _about(one: files.Kept) -> dict[str, Any]:
    try:
        return dict(files.read(one.path).get("about", {}))
    except files.Unreadable as error:
        return {"error": str(error)}


def _show(found: list[files.Kept], arguments: argparse.Namespace) -> int:
    for one in found:
        try:
            artefact = files.read(one.path)
        except files.Unreadable as error:
            fail(f"{one.path}: {error}")
        if arguments.json:
            print_json(artefact)
            continue
        variant = artefact["variant"]
        about = ", ".join(f"{name} {value}" for name, value in artefact["about"].items())
        out().print(f"# {one.path.name}: {about}", markup=False)
        out().print(
            f"# {len(artefact['guards'])} guards, {variant['ops']} operations", markup=False
        )
        out().print(variant["source"], markup=False)
        if variant["graph"] is not None:
            for made in graph_forms.decode(variant["graph"]).codes():
                out().print(made.code, markup=False)
    return OK


def _verify(found: list[files.Kept], arguments: argparse.Namespace) -> int:
    bad = {str(one.path): about["error"] for one in found if "error" in (about := _about(one))}
    if arguments.json:
        print_json({"files": len(found), "bad": bad})
    else:
        for path, error in bad.items():
            out().print(f"{path}: {error}", markup=False, soft_wrap=True)
        out().print(f"{len(found) - len(bad)} of {len(found)} files are whole")
    return FOUND if bad else OK


def _clear(found: list[files.Kept], arguments: argparse.Namespace, root: Path) -> int:
    gone = sum(files.remove(one.path) for one in found)
    if not arguments.names:  # with the variants go the libraries that they need
        for one in list(files.kept_blobs(root)):
            files.remove(one.path)
    if arguments.json:
        print_json({"removed": gone})
    else:
        out().print(f"{gone} variants removed")
    return OK


_ACTIONS = {"list": _list, "show": _show, "verify": _verify}
