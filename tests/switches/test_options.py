"""Keys of `options=`: Inductor gets its own, others are refused as torch refuses them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch._inductor import config as inductor

X = torch.ones(2)


@pytest.fixture
def patches(monkeypatch):
    """What Inductor is asked for: one entry for each graph it gets."""
    seen: list[dict[str, Any]] = []

    def compile_fx(gm, inputs, config_patches=None, **kwargs):
        seen.append(dict(config_patches or {}))
        return gm.forward

    monkeypatch.setattr("torch._inductor.compile_fx.compile_fx", compile_fx)
    return seen


def outcome(make):
    try:
        make()
    except Exception as error:
        return type(error).__name__, str(error).split(",")[0]
    return None


def test_every_option_of_inductor_reaches_it_or_is_refused_as_torch_refuses_it(patches):
    accepted = {}
    for key, value in inductor.get_config_copy().items():
        options = {key: value}
        theirs = outcome(lambda: torch._TorchCompileInductorWrapper(None, options, None))
        assert outcome(lambda: torch.compile(lambda x: x + 1, options=dict(options))) == theirs
        if theirs is None:
            accepted[key] = value
    assert len(accepted) > 200
    torch.compile(lambda x: x + 1, options=accepted)(X)
    assert patches == [accepted]


@pytest.mark.parametrize("key", ["no_such_option", "triton.no_such_option", "max_autotun"])
def test_an_unknown_key_is_named(key):
    with pytest.raises(RuntimeError, match=f"option {key}"):
        torch.compile(lambda x: x + 1, options={key: True})


def test_a_value_of_another_type_is_named():
    with pytest.raises(RuntimeError, match="max_autotune, got str should be bool"):
        torch.compile(lambda x: x + 1, options={"max_autotune": "yes"})


def test_dashes_are_underscores(patches):
    torch.compile(lambda x: x + 1, options={"max-autotune": True})(X)
    assert patches == [{"max_autotune": True}]


@pytest.mark.parametrize("mode", torch._inductor.list_mode_options())
def test_a_mode_is_its_options(mode, patches):
    torch.compile(lambda x: x + 1, mode=mode)(X)
    assert patches == [torch._inductor.list_mode_options(mode)]


def test_options_of_one_call_are_not_those_of_the_next(patches):
    def fn(x):
        return x + 1

    held = []  # what was compiled ends with the last of its functions
    for size in (8, 16, 8):
        held.append(torch.compile(fn, options={"max_fusion_size": size}))
        held[-1](X)
    assert [one["max_fusion_size"] for one in patches] == [8, 16]


def test_the_options_that_are_no_backends_reach_no_backend(patches):
    torch.compile(
        lambda x: x + 1, options={"guard_filter_fn": lambda guards: [True] * len(guards)}
    )(X)
    assert patches == [{}]
    seen = []

    def backend(gm, inputs, **kwargs):
        seen.append(kwargs)
        return gm.forward

    torch.compile(lambda x: x + 1, backend=backend, options={"use_aoti": False, "mine": 1})(X)
    assert seen == [{"options": {"mine": 1}}]


def test_the_dict_of_the_program_stays_as_it_is():
    options = {"guard_filter_fn": lambda guards: [True] * len(guards), "max_autotune": False}
    torch.compile(lambda x: x + 1, options=options)
    assert len(options) == 2
