"""Files that are cut short, altered, foreign or not to be written: no wrong result, no crash."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import tempfile

import pytest
import torch

import suture
from suture.runtime.store import files
from suture.runtime.store.environment import FORMAT
from tests.runtime.store.test_keys import MODULE, PLAIN, X


def only(cache):
    (path,) = cache.files()
    return path


@pytest.mark.parametrize("part", [0, 1, 10, 50, 0.3, 0.9, 0.999])
def test_a_file_that_was_cut_short(cache, part):
    cache.run(PLAIN, (X,))
    data = only(cache).read_bytes()
    only(cache).write_bytes(data[: int(part * len(data)) if part < 1 else int(part)])
    used, kept = cache.run(PLAIN, (X,))
    assert (used, kept) == (0, 1)
    assert any("is not used" in line for line in cache.lines)
    assert cache.run(PLAIN, (X,)) == (1, 0)  # it was written anew


def test_single_bytes_that_changed(cache):
    cache.run(PLAIN, (X,))
    path, chance = only(cache), random.Random(0)
    data = path.read_bytes()
    for _ in range(40):
        at = chance.randrange(len(data))
        path.write_bytes(
            data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]
        )
        assert cache.run(PLAIN, (X,))[0] == 0
    path.write_bytes(data)
    assert cache.run(PLAIN, (X,)) == (1, 0)


@pytest.mark.parametrize(
    "content", [b"", b"\n", b"\x80\x04K\x01.", b"suture-variant 1\n{}", b"suture-variant 1 a b c\n"]
)
def test_a_foreign_file(cache, content):
    cache.run(PLAIN, (X,))
    only(cache).write_bytes(content)
    assert cache.run(PLAIN, (X,))[0] == 0


def rewritten(path, change):
    """The file with its content changed and its checksum right."""
    head, _, body = path.read_bytes().partition(b"\n")
    data = json.loads(body)
    data = change(data) or data
    body = json.dumps(data).encode()
    parts = head.split(b" ")
    parts[2] = hashlib.sha256(body).hexdigest().encode()
    path.write_bytes(b" ".join(parts) + b"\n" + body)


def test_a_file_of_a_newer_format(cache):
    cache.run(PLAIN, (X,))
    path = only(cache)
    head, _, body = path.read_bytes().partition(b"\n")
    newer = head.replace(b"variant %d " % FORMAT, b"variant %d " % (FORMAT + 1))
    path.write_bytes(newer + b"\n" + body)
    assert cache.run(PLAIN, (X,))[0] == 0
    assert any("of another format" in line for line in cache.lines)


def test_a_file_of_another_entry(cache):
    cache.run(MODULE, (X,))
    other = only(cache).read_bytes()
    cache.run(PLAIN, (X,))
    for path in cache.files():
        path.write_bytes(other)
    assert cache.run(PLAIN, (X,))[0] == 0
    assert any("of another entry" in line for line in cache.lines)


def spots(data, path=()):
    """Every place in JSON data."""
    yield path
    if isinstance(data, dict):
        for key, value in data.items():
            yield from spots(value, (*path, key))
    elif isinstance(data, list):
        for i, value in enumerate(data):
            yield from spots(value, (*path, i))


def test_content_that_is_not_well_formed_raises_nothing(cache):
    """With a right checksum: what guards, sources, references and graphs say is nonsense."""
    cache.run(MODULE, (X,))
    path, chance = only(cache), random.Random(1)
    whole = path.read_bytes()
    every = [p for p in spots(json.loads(whole.partition(b"\n")[2])) if p and p[0] != "about"]
    # what is computed is said by these alone; nonsense there could be a program
    every = [p for p in every if p[-1] not in ("source", "code", "where") and "stands" not in p]
    every = [p for p in every if not (p[0] == "guards" and len(p) > 2 and p[2] == 3)]
    for spot in chance.sample(every, 120):
        junk = chance.choice([None, -1, 10**6, "x", [], {}, {"float": "x"}, ["name", ["os", "x"]]])

        def change(data, spot=spot, junk=junk):
            at = data
            for step in spot[:-1]:
                at = at[step]
            at[spot[-1]] = junk

        path.write_bytes(whole)
        rewritten(path, change)
        cache.run(MODULE, (X,))  # compares with eager
        for other in cache.files():
            if other != path:
                other.unlink()


def test_a_disk_that_is_full(cache, monkeypatch):
    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(tempfile, "mkstemp", full)
    used, kept = cache.run(PLAIN, (X,))
    assert (used, kept) == (0, 0)
    assert any("cannot be written: [Errno 28]" in line for line in cache.lines)


def test_a_write_that_fails_leaves_nothing_behind(cache, monkeypatch):
    def broken(*args):
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(os, "replace", broken)
    cache.run(PLAIN, (X,))
    assert not [p for p in cache.folder.rglob("*") if p.is_file()]


def test_a_cache_that_is_a_file(cache):
    cache.folder.write_text("not a folder")
    assert cache.run(PLAIN, (X,)) == (0, 0)


@pytest.mark.parametrize("level", ["file", "entry", "root"])
def test_what_others_may_write_to_is_not_read(cache, level):
    cache.run(PLAIN, (X,))
    path = {"file": only(cache), "entry": only(cache).parent, "root": cache.folder}[level]
    path.chmod(0o777 if path.is_dir() else 0o666)
    assert cache.run(PLAIN, (X,))[0] == 0
    assert any("may write to" in line for line in cache.lines)


def test_what_belongs_to_another_user_is_not_read(cache, monkeypatch):
    cache.run(PLAIN, (X,))
    own = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: own + 1)
    assert cache.run(PLAIN, (X,)) == (0, 0)
    assert any("belongs to another user" in line for line in cache.lines)


def test_a_link_is_not_followed(cache, tmp_path):
    cache.run(PLAIN, (X,))
    path = only(cache)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    assert cache.run(PLAIN, (X,))[0] == 0


def test_files_are_the_user_s_own(cache):
    cache.run(PLAIN, (X,))
    assert only(cache).stat().st_mode & 0o777 == 0o600
    assert only(cache).parent.stat().st_mode & 0o777 == 0o700


def test_what_was_not_used_for_longest_goes_first(cache):
    for k in range(6):
        cache.run(PLAIN.replace("SCALE = 2", f"SCALE = {k}") + f"# {k}\n", (X,))
    found = cache.files()
    assert len(found) == 6
    for age, path in enumerate(found):
        os.utime(path, (1000 + age, 1000 + age))
    size = found[0].stat().st_size
    assert files.trim(cache.folder, 3 * size + size // 2) == 3
    assert cache.files() == found[3:]


def test_no_file_is_there_without_the_option(cache, tmp_path):
    suture.reset()
    fn = suture.compile(cache.load(PLAIN).fn, backend="eager")
    fn(X)
    assert not cache.folder.exists()
    torch.testing.assert_close(fn(X), cache.load(PLAIN).fn(X))
