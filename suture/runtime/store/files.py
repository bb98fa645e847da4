"""The cache on disk: one folder per point and environment, one file per variant.

A file is a header line (what it is, its format, the SHA-256 of the rest) and JSON. It is written
under another name and moved into place, so that a reader finds all of it or nothing, and belongs to
the user alone: a file or folder that another user owns or may write to is not read.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import os
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suture import config
from suture.runtime.store.environment import FORMAT

_log = logging.getLogger("suture.cache")
_MAGIC = b"suture-variant"
_SUFFIX = ".variant"
_BLOBS = "blobs"
_MOST = 64  # variants that one entry may have
_LARGEST = 256 << 20  # bytes of one file


class Unreadable(Exception):
    """Why a file of the cache is not used."""


@dataclass(frozen=True)
class Kept:
    """One file of the cache."""

    path: Path
    size: int
    used: float  # when it was last read or written


def folder() -> Path | None:
    """Where the cache is; None: there is none."""
    return Path(config.cache_dir).expanduser() if config.cache_dir else None


def write(
    root: Path, key: str, artefact: dict[str, Any], blobs: dict[str, bytes] | None = None
) -> Path | None:
    """Keep an artefact and the files it needs; None, with a line in the log, if the disk does not
    take them."""
    body = json.dumps(artefact, separators=(",", ":"), allow_nan=False).encode()
    check = hashlib.sha256(body).hexdigest()
    path = _entry(root, key) / (check[:32] + _SUFFIX)
    head = b"%s %d %s %s\n" % (_MAGIC, FORMAT, check.encode(), key.encode())
    try:
        _make_folder(root)
        _make_folder(path.parent.parent)
        _make_folder(path.parent)
        if len(list(path.parent.glob("*" + _SUFFIX))) >= _MOST:
            _log.info("%s: not kept, the entry has %d variants", key[:12], _MOST)
            return None
        for name, data in (blobs or {}).items():
            put_blob(root, name, data)
        _replace(path, head + body)
        trim(root, config.cache_size << 20)
    except (OSError, Unreadable) as error:
        _log.warning("the cache at %s cannot be written: %s", root, error)
        return None
    return path


LIBRARY, BINARY = ".so", ".cubin"  # kernels of processors, and of GPUs


def blob_name(data: bytes, suffix: str = LIBRARY) -> str:
    """The name of a file that variants need: what is in it."""
    return hashlib.sha256(data).hexdigest() + suffix


def put_blob(root: Path, name: str, data: bytes) -> None:
    """Write such a file, unless it is there."""
    path = _blob_path(root, name)
    _make_folder(path.parent)
    if not path.exists():
        _replace(path, data)


def _blob_path(root: Path, name: str) -> Path:
    stem, suffix = os.path.splitext(name)
    if suffix not in (LIBRARY, BINARY) or not stem.isalnum():
        raise Unreadable("not a file of the cache")
    return root / _BLOBS / name


def blob(root: Path, name: str) -> Path:
    """The path of such a file; raises Unreadable unless it is whole and the user's own."""
    path = _blob_path(root, name)
    if blob_name(_content(path), path.suffix) != name:
        raise Unreadable(f"{name} is altered or cut short")
    with contextlib.suppress(OSError):
        os.utime(path)
    return path


def _replace(path: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".writing-")  # mode 0600
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _make_folder(path: Path) -> None:
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check_owner(path, os.stat(path))


def find(root: Path, key: str, name: str) -> Path:
    """Where a variant of an entry is, or would be."""
    return _entry(root, key) / name


def _entry(root: Path, key: str) -> Path:
    return root / key[:2] / key


def names(root: Path, key: str) -> list[Path]:
    """The files of an entry, the newest first; none where there is no entry."""
    at = _entry(root, key)
    try:
        for path in (root, at.parent, at):
            _check_owner(path, os.stat(path))
        found = [(os.stat(p).st_mtime, p) for p in at.glob("*" + _SUFFIX)]
    except FileNotFoundError:
        return []
    except (OSError, Unreadable) as error:
        _log.warning("the cache at %s is not used: %s", root, error)
        return []
    return [path for _, path in sorted(found, reverse=True)]


def read(path: Path, key: str | None = None) -> dict[str, Any]:
    """The artefact in a file; raises Unreadable if it is not a whole one of this format."""
    data = _content(path)
    head, newline, body = data.partition(b"\n")
    parts = head.split(b" ")
    if len(parts) != 4 or parts[0] != _MAGIC or not newline:
        raise Unreadable("not a file of the cache")
    if parts[1] != str(FORMAT).encode():
        raise Unreadable("of another format")
    if hashlib.sha256(body).hexdigest().encode() != parts[2]:
        raise Unreadable("altered or cut short")
    if key is not None and parts[3] != key.encode():
        raise Unreadable("of another entry")
    try:
        found = json.loads(body)
    except ValueError as error:
        raise Unreadable("not JSON") from error
    if not isinstance(found, dict):
        raise Unreadable("not JSON of an artefact")
    with contextlib.suppress(OSError):
        os.utime(path)  # it was used just now
    return found


def _content(path: Path) -> bytes:
    """What is in a file of the user's own."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            about = os.fstat(file.fileno())
            _check_owner(path, about)
            if not stat.S_ISREG(about.st_mode) or about.st_size > _LARGEST:
                raise Unreadable("not a file of the cache")
            return file.read(_LARGEST + 1)
    except OSError as error:
        raise Unreadable(str(error)) from error


def _check_owner(path: Path, about: os.stat_result) -> None:
    if about.st_uid != os.geteuid():
        raise Unreadable(f"{path} belongs to another user")
    if about.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Unreadable(f"others may write to {path}")


def kept(root: Path, pattern: str = "??/*/*" + _SUFFIX) -> Iterator[Kept]:
    """All variants of the cache, or other files of it."""
    for path in root.glob(pattern):
        with contextlib.suppress(OSError):
            about = os.lstat(path)
            yield Kept(path, about.st_size, about.st_mtime)


def kept_blobs(root: Path) -> Iterator[Kept]:
    """All libraries and binaries of the cache."""
    for suffix in (LIBRARY, BINARY):
        yield from kept(root, f"{_BLOBS}/*{suffix}")


def trim(root: Path, most: int) -> int:
    """Remove what was not used for longest, until at most `most` bytes are kept; how many went."""
    found = sorted((*kept(root), *kept_blobs(root)), key=lambda one: one.used)
    size, gone = sum(one.size for one in found), 0
    for one in found:
        if size <= most:
            break
        size -= one.size
        gone += remove(one.path)
    return gone


def remove(path: Path) -> int:
    """Remove a file and the folders that are empty then; 1 if it was there."""
    try:
        os.unlink(path)
    except OSError:
        return 0
    with contextlib.suppress(OSError):
        os.rmdir(path.parent)
        os.rmdir(path.parent.parent)
    return 1
