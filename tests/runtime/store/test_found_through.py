"""Objects without a name of their own that are found again through those that hold them, and what
must not be used when they hold others."""

from __future__ import annotations

import pytest
import torch

X = torch.arange(6.0).reshape(2, 3)

PROGRAMS = {
    "variables of the environment": (
        "import os\n"
        "def fn(x):\n    return x * 2 if os.environ.get('KEPT_PROGRAM_FAST') else x * 3\n"
    ),
    "a property made when another function ran": (
        "def scaled(by):\n    return property(lambda self: by * self.size)\n"
        "class Config:\n    size = 3\n    twice = scaled(2)\n    thrice = scaled(3)\n"
        "config = Config()\n"
        "def fn(x):\n    return x * config.twice + config.thrice\n"
    ),
    "parametrized weights": (
        "torch.manual_seed(0)\n"
        "from torch.nn.utils.parametrizations import weight_norm\n"
        "net = weight_norm(nn.Linear(3, 2)).requires_grad_(False)\n"
        "def fn(x):\n    return net(x)\n"
    ),
    "recurrent layers": (
        "torch.manual_seed(0)\n"
        "net = nn.LSTM(3, 4, 2, bidirectional=True).requires_grad_(False)\n"
        "def fn(x):\n    return net(x)[0]\n"
    ),
    "a weak reference to what is held elsewhere": (
        "import weakref\n"
        "class Box:\n    def __init__(self, size):\n        self.size = size\n"
        "box, other = Box(2), Box(3)\n"
        "seen = weakref.ref(box)\n"
        "def fn(x):\n    return x * box.size + (seen() is box)\n"
    ),
    "fields of a dataclass, and their annotations": (
        "import dataclasses, typing\n"
        "@dataclasses.dataclass\nclass Config:\n"
        "    size: int | None = 3\n    name: typing.Optional[str] = None\n"
        "    kind: typing.Literal['a', 'b'] = dataclasses.field(default='a', metadata={'n': 1})\n"
        "def checked(field):\n"
        "    def check(value):\n"
        "        return field.default == value and len(field.metadata) < 2\n    return check\n"
        "checks = [checked(field) for field in dataclasses.fields(Config)]\n"
        "config = Config()\n"
        "def fn(x):\n    return x + checks[0](config.size) + checks[2](config.kind)\n"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_was_compiled_is_used_again(cache, name):
    cache.assert_used_again(PROGRAMS[name], (X,))


CHANGES = {
    "a property made when another function ran": ("by * self", "by + self"),
    "a weak reference to what is held elsewhere": ("weakref.ref(box)", "weakref.ref(other)"),
    "fields of a dataclass, and their annotations": ("size: int | None = 3", "size: int = 3"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_has_changed_is_compiled_again(cache, name):
    _, kept = cache.run(PROGRAMS[name], (X,))
    changed = PROGRAMS[name].replace(*CHANGES[name])
    assert changed != PROGRAMS[name]
    assert cache.run(changed, (X,))[0] < kept, cache.lines


def test_a_field_that_says_what_can_change_is_not_kept(cache):
    name = "fields of a dataclass, and their annotations"
    changed = PROGRAMS[name].replace("{'n': 1}", "{'n': [1]}")
    assert changed != PROGRAMS[name]
    assert cache.run(changed, (X,)) == (0, 0), cache.lines
    assert any("which can change" in line for line in cache.lines)


def test_another_environment_is_another_program(cache, monkeypatch):
    program = PROGRAMS["variables of the environment"]
    monkeypatch.delenv("KEPT_PROGRAM_FAST", raising=False)
    assert cache.run(program, (X,)) == (0, 1), cache.lines
    monkeypatch.setenv("KEPT_PROGRAM_FAST", "1")
    assert cache.run(program, (X,))[0] == 0, cache.lines
