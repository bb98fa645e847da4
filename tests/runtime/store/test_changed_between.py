"""One thing of the program is another in the second process: what the first one kept of it is not
used, and the results are eager's."""

from __future__ import annotations

import pytest
import torch

X = torch.arange(6.0).reshape(2, 3)

ENUM = "import enum\nclass E(enum.Enum):\n    A = 1\n    B = 2\n"
TEXT = "import enum\nclass E(str, enum.Enum):\n    A = 'sin'\n    B = 'cos'\nname = 'cos'\n"
OTHER = (
    "import sys, types\n"
    "def made():\n"
    "    return types.ModuleType('kept_other')\n"
    "other = sys.modules['kept_other'] = made()\n"
    "other.K = 2\n"
    "exec('def scaled(x): return x * K', vars(other))\n"
)
CELLS = (
    "def made():\n"
    "    k = [2]\n"
    "    class Kept:\n"
    "        @property\n"
    "        def size(self): return k[0]\n"
    "        def method(self): return k[0]\n"
    "    def change(): k[0] = 5\n"
    "    def size(): return k[0]\n"
    "    return Kept(), size, change\n"
    "kept, size, change = made()\n"
    "def fn(x):\n    change()\n    return x * "
)
BOUND = (
    "class Kept:\n    k = 2\n    def size(self): return self.k\n"
    "kept = Kept()\nsize = kept.size\n"
    "def fn(x):\n    kept.k = 5\n    x = x * size()\n    kept.k = 2\n    return x\n"
)
APART = ("kept, size, change = made()", "kept, size, _ = made(); _, _, change = made()")

# (program, what is replaced, by what)
CHANGES = {
    "the value of a member": (ENUM + "def fn(x): return x * E.A.value\n", "A = 1", "A = 5"),
    "a member among items": (
        ENUM + "L = [E.A, E.B]\ndef fn(x): return x * sum(e.value for e in L)\n", "B = 2", "B = 6"
    ),
    "what a member's class sets": (
        ENUM + "    def __init__(self, k): self.k = k\ndef fn(x): return x * E.A.k\n",
        "self.k = k", "self.k = k + 3",
    ),
    "what is set at a member": (
        ENUM + "E.A.extra = 5\ndef fn(x): return x * E.A.extra\n", "extra = 5", "extra = 6"
    ),
    "what a property of members reads": (
        "K = 2\n" + ENUM + "    @property\n    def k(self): return self.value * K\n"
        "def fn(x): return x * E.A.k\n", "K = 2", "K = 3",
    ),
    "the number of members": (
        ENUM + "def fn(x): return x * len(E)\n", "    B = 2\n", "    B = 2\n    C = 3\n"
    ),
    "the order of members": (
        ENUM + "def fn(x):\n    for e in E: x = x * e.value + 1\n    return x\n",
        "    A = 1\n    B = 2\n", "    B = 2\n    A = 1\n",
    ),
    "a member that is an alias": (
        ENUM + "def fn(x): return x * (2 if E.B is E.A else 3)\n", "B = 2", "B = 1"
    ),
    "which member a value finds": (
        TEXT + "def fn(x): return x * (2 if E(name) is E.A else 3)\n",
        "A = 'sin'\n    B = 'cos'", "A = 'cos'\n    B = 'sin'",
    ),
    "the text that a member is": (
        TEXT + "def fn(x): return x * len(E.A)\n", "A = 'sin'", "A = 'cosine'"
    ),
    "a pattern": (
        "import re\nP = re.compile('a+')\ndef fn(x): return x * (2 if P.match('aa') else 3)\n",
        "'a+'", "'b+'",
    ),
    "flags of a pattern": (
        "import re\nP = re.compile('a', re.I)\ndef fn(x): return x * (2 if P.match('A') else 3)\n",
        ", re.I", "",
    ),
    "a struct": (
        "import struct\nS = struct.Struct('<i')\ndef fn(x): return x * S.size\n", "'<i'", "'<q'"
    ),
    "what an itemgetter gets": (
        "import operator\ng = operator.itemgetter(0)\nT = (2, 3)\ndef fn(x): return x * g(T)\n",
        "itemgetter(0)", "itemgetter(1)",
    ),
    "limits of a dtype of NumPy": (
        "import numpy as np\nF = np.finfo(np.float32)\ndef fn(x): return x * F.bits\n",
        "float32", "float64",
    ),
    "globals of a function of the same name": (
        OTHER + "scaled = other.scaled\ndef fn(x): return scaled(x)\n",
        "scaled = other",
        "again = made(); again.K = 5; exec('def scaled(x): return x * K', vars(again)); "
        "scaled = again",
    ),
    "globals of the function that is compiled": (
        OTHER + "exec('def fn(x): return x * K', vars(other))\nfn = other.fn\n",
        "fn = other",
        "again = made(); again.K = 5; exec('def fn(x): return x * K', vars(again)); fn = again",
    ),
    "a module that is not the one of its name": (
        OTHER + "def fn(x): return x * other.K\n", "def fn", "other = made(); other.K = 5\ndef fn"
    ),
    "hints of a class": (
        "import typing\nclass A:\n    k: 'int'\n"
        "def fn(x): return x * (2 if typing.get_type_hints(A)['k'] is int else 3)\n",
        "'int'", "'str'",
    ),
    "hints of a function": (
        "import typing\ndef h(k: 'int'): pass\n"
        "def fn(x): return x * (2 if typing.get_type_hints(h)['k'] is int else 3)\n",
        "'int'", "'str'",
    ),
    "a cell of two functions": (CELLS + "size()\n", *APART),
    "a cell of a method": (CELLS + "kept.method()\n", *APART),
    "a cell of a property": (CELLS + "kept.size\n", *APART),
    "to what a method is bound": (BOUND, "size = kept.size", "size = Kept().size"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_what_was_kept_is_not_used(cache, name):
    program, before, after = CHANGES[name]
    assert before in program
    used, kept = cache.run(program, (X,))
    assert (used, kept > 0) == (0, True), cache.lines
    assert cache.run(program, (X,)) == (kept, 0), cache.lines
    used, _ = cache.run(program.replace(before, after), (X,))
    assert used < kept, cache.lines
