"""Hashes of texts and of objects are others in another process: what a trace has seen of them is
not kept, unless PYTHONHASHSEED says what they are."""

from __future__ import annotations

import pytest
import torch

X = torch.arange(1.0, 7.0).reshape(2, 3)

WORDS = "A = ['sin', 'cos', 'exp', 'neg']\n"
CLASSES = "class A:\n    k = 2\nclass B:\n    k = 3\nclass C:\n    k = 5\n"
LOOP = "    for name in ASKED:\n        x = getattr(x, name)() + len(name)\n    return x\n"

OF_TEXTS = {
    "a set that the code spells": "def fn(x):\n" + LOOP.replace("ASKED", "{'sin', 'cos', 'exp'}"),
    "a set that is made": WORDS + "def fn(x):\n" + LOOP.replace("ASKED", "{n for n in A}"),
    "a set that is given to list": WORDS + "def fn(x):\n" + LOOP.replace("ASKED", "list(set(A))"),
    "a frozenset that is made a tuple": (
        "def fn(x):\n" + LOOP.replace("ASKED", "tuple(frozenset(('sin', 'cos', 'exp')))")
    ),
    "pop": WORDS + "def fn(x):\n    s = set(A)\n    return getattr(x, s.pop())()\n",
    "the text of a set": WORDS + "def fn(x):\n    return x * str(set(A)).index('sin')\n",
    "hash": "def fn(x):\n    return x * (hash('abc') % 7)\n",
    "__hash__": "def fn(x):\n    return x * ('abc'.__hash__() % 7)\n",
    "hash of a tuple": "T = (1, ('a', 2))\ndef fn(x):\n    return x * (hash(T) % 7)\n",
    "hash of a member": (
        "import enum\nclass E(enum.Enum):\n    A = 1\ndef fn(x):\n    return x * (hash(E.A) % 7)\n"
    ),
}  # fmt: skip
OF_OBJECTS = {
    "a set of classes": (
        CLASSES + "def fn(x):\n    for c in {A, B, C}:\n        x = x * c.k + 1\n    return x\n"
    ),
    "hash of a class": CLASSES + "def fn(x):\n    return x * (hash(A) % 7)\n",
    "hash of an object": CLASSES + "a = A()\ndef fn(x):\n    return x * (hash(a) % 7)\n",
}  # fmt: skip
OF_NEITHER = {
    "whether a set has a text": "def fn(x):\n    return x * (2 if 'a' in {'a', 'b', 'c'} else 3)\n",
    "how many members": WORDS + "def fn(x):\n    return x * len(set(A))\n",
    "sets that are compared": WORDS
    + "def fn(x):\n    return x * (2 if set(A) >= {'sin'} else 3)\n",
    "sorted": WORDS + "def fn(x):\n" + LOOP.replace("ASKED", "sorted(set(A))"),
    "numbers": "def fn(x):\n    for k in {3, 1, 2}:\n        x = x * k + k\n    return x\n",
    "one text": "def fn(x):\n" + LOOP.replace("ASKED", "{'sin'}"),
}


@pytest.mark.parametrize("name", [*OF_TEXTS, *OF_OBJECTS])
def test_what_depends_on_hashes_is_not_kept(cache, monkeypatch, name):
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    used, kept = cache.run((OF_TEXTS | OF_OBJECTS)[name], (X,))
    assert (used, kept) == (0, 0), cache.lines
    assert any("depends on hashes" in line for line in cache.lines)


@pytest.mark.parametrize("name", OF_TEXTS)
def test_a_seed_says_what_hashes_of_texts_are(cache, monkeypatch, name):
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    cache.assert_used_again(OF_TEXTS[name], (X,))


@pytest.mark.parametrize("name", OF_OBJECTS)
def test_no_seed_says_what_hashes_of_objects_are(cache, monkeypatch, name):
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    assert cache.run(OF_OBJECTS[name], (X,)) == (0, 0), cache.lines


@pytest.mark.parametrize("name", OF_NEITHER)
def test_what_does_not_depend_on_hashes_is_kept(cache, monkeypatch, name):
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    cache.assert_used_again(OF_NEITHER[name], (X,))
