"""One file with all that was compiled of a model: written by `suture.save`, read by `suture.load`.

A header line (what it is, its format, the SHA-256 of the rest), a line of JSON, and the files that
variants need, one after the other. Variants are those of the cache; the machine and the versions
stand at the head, by name, so that whoever loads it is told what differs.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from suture.runtime.store import files
from suture.runtime.store.environment import FORMAT, described_machine

_MAGIC = b"suture-model"


class Shipped:
    """What a file holds. Libraries are loaded from a folder of this process's own, which goes when
    it ends."""

    def __init__(self, options: dict[str, Any], entries: dict[str, Any], root: Path) -> None:
        self.options = options
        self._entries = entries
        self.root = root

    def artefacts(self, key: str) -> list[tuple[str, dict[str, Any]]]:
        """(name, artefact) of the variants of a point."""
        return [(str(name), artefact) for name, artefact in self._entries.get(key, [])]


def write(
    path: Path, options: dict[str, Any], entries: dict[str, list[Any]], blobs: dict[str, bytes]
) -> None:
    """Write a file, whole or not at all; OSError if the disk does not take it."""
    index = {
        "machine": described_machine(),
        "options": options,
        "entries": entries,
        "blobs": [[name, len(data)] for name, data in blobs.items()],
    }
    head = json.dumps(index, separators=(",", ":"), allow_nan=False).encode()
    rest = b"".join([head, b"\n", *blobs.values()])
    first = b"%s %d %s\n" % (_MAGIC, FORMAT, hashlib.sha256(rest).hexdigest().encode())
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(first + rest)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read(path: Path) -> Shipped:
    """What a file holds; raises files.Unreadable, with the reasons, if it is not whole or was made
    for another machine or other versions."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise files.Unreadable(str(error)) from error
    head, _, rest = data.partition(b"\n")
    parts = head.split(b" ")
    if len(parts) != 3 or parts[0] != _MAGIC:
        raise files.Unreadable("not a file that suture.save wrote")
    if parts[1] != str(FORMAT).encode():
        raise files.Unreadable("of another format")
    if hashlib.sha256(rest).hexdigest().encode() != parts[2]:
        raise files.Unreadable("altered or cut short")
    line, _, blobs = rest.partition(b"\n")
    try:
        index = json.loads(line)
        _same_machine(index["machine"])
        root = _unpacked(index["blobs"], blobs)
        return Shipped(dict(index["options"]), dict(index["entries"]), root)
    except (ValueError, KeyError, TypeError) as error:
        raise files.Unreadable("not well formed") from error


def _same_machine(theirs: dict[str, Any]) -> None:
    ours = json.loads(json.dumps(described_machine()))
    other = [name for name in ours if theirs.get(name) != ours[name]]
    if other:
        raise files.Unreadable("made with another state of: " + ", ".join(other))


def _unpacked(names: list[Any], data: bytes) -> Path:
    """A folder with the files that variants need, laid out as the cache has them."""
    root = Path(tempfile.mkdtemp(prefix="suture-"))  # mode 0700
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    at = 0
    for name, size in names:
        content, at = data[at : at + size], at + size
        files.put_blob(root, name, content)
    return root
