"""suture site: build the pages, or look at them."""

from __future__ import annotations

import argparse
import functools
import http.server
import tempfile
from pathlib import Path
from typing import Any

from suture.tools.cli.common import OK, fail, out
from suture.tools.site import build


def add(commands: Any) -> None:
    made = commands.add_parser("site", help="build or serve the pages of breaks and the guide")
    actions = made.add_subparsers(title="actions", required=True, metavar="ACTION")
    building = actions.add_parser("build", help="write static HTML that works from file://")
    building.add_argument("out", help="the folder to write to")
    building.add_argument("--quick", action="store_true", help="do not run the examples")
    building.set_defaults(do=run_build)
    serving = actions.add_parser("serve", help="serve a folder, or a site built for it")
    serving.add_argument("out", nargs="?", help="a built site; without it one is built")
    serving.add_argument("--port", type=int, default=8000)
    serving.set_defaults(do=run_serve)


def run_build(arguments: argparse.Namespace) -> int:
    target = Path(arguments.out)
    if target.exists() and not target.is_dir():
        fail(f"{target} is a file, not a folder")
    if target.is_dir() and any(target.iterdir()) and not (target / "index.html").exists():
        fail(f"{target} holds something that is no site; name an empty or a new folder")
    pages = build(target, run_examples=not arguments.quick)
    out().print(f"{pages} pages in {target}; open {(target / 'index.html').resolve().as_uri()}")
    return OK


def run_serve(arguments: argparse.Namespace) -> int:
    folder = Path(arguments.out) if arguments.out else Path(tempfile.mkdtemp()) / "site"
    if arguments.out and not (folder / "index.html").exists():
        fail(f"there is no site in {folder}; suture site build {folder} makes one")
    if not arguments.out:
        build(folder, run_examples=False)
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", arguments.port), handler) as server:
        out().print(f"http://127.0.0.1:{server.server_port}/ (Ctrl-C ends it)")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            return OK
    return OK
